"""The losses between levels of a personal mechanism."""

import math
from fractions import Fraction

import pytest

from graphveil.channels import onebit
from graphveil.mechanisms.ppm_answers import Way
from graphveil.mechanisms.ppm_losses import PairLosses


def losses(rows=((1, 3), (3, 1)), counts=(1, 1)):
    ways = tuple(tuple(Way(count, onebit(epsilon)) for count in counts) for epsilon in (1.0, 2.0))
    return PairLosses(rows, ways)


def test_equal_rows_of_one_level_are_never_told_apart():
    assert losses().between(0, 0, True).epsilon == 0.0


@pytest.mark.parametrize(("level", "epsilon"), [(0, 1.0), (1, 2.0)])
def test_rows_of_one_level_are_told_apart_by_their_answers_alone(level, epsilon):
    assert losses().between(level, level, False).epsilon == pytest.approx(epsilon, rel=1e-9)


def test_answers_add_up():
    assert losses(counts=(3, 3)).between(1, 1, False).epsilon == pytest.approx(6.0, rel=1e-9)


def test_two_levels_are_told_apart_by_the_level_s_answer_too():
    answer = max(
        Fraction(often, rarely) for often, rarely in zip(onebit(2.0).row(1), onebit(1.0).row(0), strict=True)
    )
    loss = losses().between(1, 0, False)
    assert loss.epsilon == pytest.approx(math.log(3 * answer), rel=1e-9)


def test_a_level_that_alone_gives_some_randomized_level_is_not_protected():
    assert losses(rows=((0, 4), (3, 1))).between(1, 0, True).terms is None
