import pytest

from graphveil.audit.lower_bound import CodeContrast, more_than_claimed, opposites
from graphveil.channels import TOTAL, Channel, Claim, SeededWords
from graphveil.mechanisms import LevelMechanism, mechanism


@pytest.mark.statistical  # a false alarm in 10^10; the seed is fixed
@pytest.mark.parametrize("name", ["onebit", "laplace", "multibit", "privunit"])
def test_whole_reports_of_a_right_mechanism_tell_no_more_than_claimed(name):
    built = mechanism(name, epsilon=1.0, dims=300, range=(0, 1))
    assert more_than_claimed(built, getattr(built, "public", None), SeededWords(1)) == []


def test_halves_of_a_row_lie_at_opposite_ends():
    built = mechanism("onebit", epsilon=1.0, dims=10, range=(-1, 3))
    (low, high), (one, other) = opposites(built, built.public, SeededWords(1))
    assert set(low) == {-1.0} and set(high) == {3.0}
    assert (one + other == 2.0).all() and (one == 3.0).sum() == 5


def test_a_bound_comes_near_to_what_a_report_tells():
    built = mechanism("onebit", epsilon=3.0, dims=1, range=(0, 1))
    contrast = CodeContrast.of(built, [0.0], [1.0], 1000, SeededWords(1))
    assert 2.7 < contrast.bound(100_000, SeededWords(2)).epsilon < 3.0


def test_a_single_level_has_nothing_to_tell_it_from():
    channel = Channel("single", [[TOTAL]], [1.0], [1.0], Claim(1.0))
    single = LevelMechanism("single", Claim(1.0), channel, "level", first=1, unbiased=False)
    assert opposites(single, None, SeededWords(1)) == []
