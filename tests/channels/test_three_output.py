"""The three-output mechanism."""

from __future__ import annotations

import math

import numpy as np
import pytest

from graphveil.channels import TOTAL, onebit, three_output
from graphveil.channels.onebit import CAPPED_ABOVE, SILENT_BELOW, zero_share
from tests.channels.families import best_zero_share, worst_three_output_variance
from tests.together import together

EPSILONS = together("epsilon", [0.1, 0.69, 0.7, 0.8, 1.0, 1.3, 1.6, 1.7, 1.72, 2.0, 4.0, 10.0])
THREE = together("epsilon", [0.7, 1.0, 1.6, 1.72, 4.0, 10.0])


@EPSILONS
def test_the_zero_share_has_the_smallest_worst_variance(epsilon: float) -> None:
    found = worst_three_output_variance(epsilon, best_zero_share(epsilon))
    assert worst_three_output_variance(epsilon, zero_share(epsilon)) <= found * (1 + 1e-12)


@EPSILONS
def test_the_zero_share_is_the_one_that_a_search_finds(epsilon: float) -> None:
    assert zero_share(epsilon) == pytest.approx(best_zero_share(epsilon), abs=1e-6)


@pytest.mark.parametrize("edge", [SILENT_BELOW, CAPPED_ABOVE])
def test_the_zero_share_does_not_jump_between_its_formulas(edge: float) -> None:
    assert zero_share(edge - 1e-9) == pytest.approx(zero_share(edge + 1e-9), abs=1e-7)


def test_at_small_budgets_it_is_one_bit() -> None:
    assert np.allclose(three_output(0.5).table, onebit(0.5).table, rtol=1e-12)


@THREE
def test_zero_is_answered_less_often_the_farther_the_value(epsilon: float) -> None:
    zero = three_output(epsilon).table[:, 1] / TOTAL
    at_zero = zero_share(epsilon)
    assert np.allclose(zero, [at_zero * math.exp(-epsilon), at_zero, at_zero * math.exp(-epsilon)], rtol=1e-9)


@THREE
def test_the_right_end_is_e_to_the_epsilon_times_as_likely_as_the_wrong_one(epsilon: float) -> None:
    against, _, toward = three_output(epsilon).table[2].tolist()
    assert toward / against == pytest.approx(math.exp(epsilon), rel=1e-9)


@THREE
def test_the_ends_are_equally_likely_for_zero(epsilon: float) -> None:
    low, _, high = three_output(epsilon).table[1].tolist()
    assert low == high


@THREE
def test_decodes_to_minus_c_zero_and_c(epsilon: float) -> None:
    power, zero = math.exp(epsilon), zero_share(epsilon)
    bound = (power + 1) / ((power - 1) * (1 - zero / power))
    assert np.allclose(three_output(epsilon).outputs, [-bound, 0, bound], rtol=1e-9, atol=1e-12)
