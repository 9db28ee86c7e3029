import numpy as np
import pytest

from graphveil.audit.independence import never_again, periods, repeated_string, window_hashes
from graphveil.channels import SeededWords
from graphveil.mechanisms import mechanism

DRAWN = np.random.default_rng(1).integers(0, 2, (3000, 4))


def test_equal_strings_have_equal_hashes_wherever_they_are():
    hashes = window_hashes(np.array([1, 2, 3, 0, 1, 2, 3, 2]), 3)
    assert hashes[0] == hashes[4]
    assert len(set(hashes.tolist())) == len(hashes) - 1


def test_noise_that_comes_again_is_found_with_its_distance():
    assert repeated_string(DRAWN) is None
    assert repeated_string(np.concatenate([DRAWN, DRAWN[:500]])) == DRAWN.size


def test_reports_that_never_vary_are_no_repeated_noise():
    assert repeated_string(np.concatenate([DRAWN, np.zeros((500, 4), dtype=int)])) is None


def test_a_distance_at_which_bits_vary_together_is_found():
    bits = DRAWN[:, 0].astype(float)
    assert periods(bits) is None
    assert periods(np.concatenate([bits, bits[:2000]]))[0] == 3000


def test_a_block_that_is_drawn_differently_is_no_period():
    assert periods(np.concatenate([DRAWN[:, 0], np.ones(1000)]).astype(float)) is None


@pytest.mark.statistical  # a false alarm in 10^9; the seed is fixed
@pytest.mark.parametrize("name", ["onebit", "multibit", "laplace", "privunit"])
def test_right_mechanisms_are_left_alone(name):
    built = mechanism(name, epsilon=1.0, dims=4, range=(0, 1))
    words = SeededWords(3)
    assert never_again(built, np.zeros(4), built.randomize(np.zeros((20_000, 4)), words), words) == []
