from dataclasses import replace

import numpy as np
import pytest

from graphveil.audit.enumeration import JointDistribution
from graphveil.audit.findings import LeakError, leaks_of
from graphveil.audit.independence import (
    AnswerBits,
    check_answers,
    check_halves,
    check_noise,
    check_pairs,
    check_repeated,
    check_triples,
    check_users,
    noise_period,
    repeated_string,
    window_hashes,
)
from graphveil.audit.reports import Version
from graphveil.channels import SeededBits
from graphveil.mechanisms import mechanism

CHANCE = np.random.default_rng(2)


BITS = CHANCE.integers(0, 2, (4000, 6)).astype(np.float32)


def _answers(bits):
    return AnswerBits(bits, None, np.arange(bits.shape[1]))


def test_independent_bits_are_left_alone():
    answers = _answers(BITS)
    for check in (check_pairs, check_triples, check_halves):
        check(answers, "rows")


def test_a_pair_is_named():
    bits = BITS.copy()
    bits[:, 5] = bits[:, 2]
    with pytest.raises(LeakError, match="value 2 and value 5"):
        check_pairs(_answers(bits), "rows")


def test_bits_that_were_all_asked_are_compared_alike():
    bits = BITS.copy()
    bits[:, 5] = bits[:, 2]
    asked = AnswerBits(bits, np.ones_like(bits), np.arange(6))
    assert leaks_of(check_pairs, asked, "rows") == leaks_of(check_pairs, _answers(bits), "rows") != []


def test_a_triple_is_named():
    bits = BITS.copy()
    bits[:, 4] = np.abs(bits[:, 0] - bits[:, 3])
    check_pairs(_answers(bits), "rows")
    with pytest.raises(LeakError, match="although any two of them do not"):
        check_triples(_answers(bits), "rows")


def test_halves_see_what_no_pair_shows():
    side = np.random.default_rng(3).random((4000, 1)) < 0.5
    chance = np.random.default_rng(4).random((4000, 200))
    bits = (chance < np.where(side, 0.53, 0.47)).astype(np.float32)
    with pytest.raises(LeakError, match="half of the values"):
        check_halves(_answers(bits), "rows")


@pytest.mark.statistical  # a false alarm in 10^8; the seed is fixed
@pytest.mark.parametrize("sampled", [2, 3])
def test_values_that_were_not_asked_do_not_matter(sampled):
    built = mechanism("multibit", epsilon=2.0, dims=6, range=(0, 1), sampled=sampled)
    check_answers(Version(built, built.public, SeededBits(5)), 1 << 14)


def test_reports_of_one_answer_have_nothing_to_compare():
    built = mechanism("multibit", epsilon=2.0, dims=6, range=(0, 1), sampled=1)
    check_answers(Version(replace(built), built.public, SeededBits(5)), 1 << 14)


@pytest.mark.statistical  # a false alarm in a million
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_independent_users_are_not_accused(epsilon):
    joint = JointDistribution.of(mechanism("multibit", epsilon=epsilon, dims=3, range=(0, 1), sampled=2))
    check_users(joint)


@pytest.mark.statistical  # 32 of 64 pairs of reports of 16 codes would have to agree by chance
def test_long_reports_differ():
    check_repeated(mechanism("privunit", epsilon=1.0, dims=16, range=(0, 1)))


def test_reports_that_are_nearly_certain_may_agree():
    built = mechanism("multibit", epsilon=20.0, dims=1, range=(0, 1), sampled=1)
    check_users(JointDistribution.of(built))
    check_repeated(built)


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
    assert noise_period(bits) is None
    assert noise_period(np.concatenate([bits, bits[:2000]]))[0] == 3000


def test_a_block_that_is_drawn_differently_is_no_period():
    assert noise_period(np.concatenate([DRAWN[:, 0], np.ones(1000)]).astype(float)) is None


@pytest.mark.statistical  # a false alarm in 10^9; the seed is fixed
@pytest.mark.parametrize("name", ["onebit", "multibit", "laplace", "privunit"])
def test_right_mechanisms_are_left_alone(name):
    built = mechanism(name, epsilon=1.0, dims=4, range=(0, 1))
    version = Version(built, random_bits=SeededBits(3))
    check_noise(version, np.zeros(4), built.randomize(np.zeros((20_000, 4)), version.random_bits))
