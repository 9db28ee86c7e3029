"""One bit of one value, and three outputs."""

import math

import numpy as np
import pytest

from graphveil.channels import TOTAL, duchi, onebit, three_output
from graphveil.channels.onebit import CAPPED_ABOVE, SILENT_BELOW, onebit_table, zero_share
from tests.channels.families import best_zero_share, worst_three_output_variance
from tests.together import together

BUDGETS = together("epsilon", [0.01, 0.5, 1.0, 3.0, 10.0])


@BUDGETS
def test_answers_plus_one_as_often_as_it_should(epsilon):
    channel, power = onebit(epsilon), math.exp(epsilon)
    low, high = channel.table[:, 1] / TOTAL
    for x in (-1.0, -0.3, 0.0, 0.7, 1.0):
        share = (1 + x) / 2  # rounded to ±1 at random first
        expected = 0.5 + x * (power - 1) / (2 * (power + 1))
        assert (1 - share) * low + share * high == pytest.approx(expected, abs=1e-11)
    bound = (power + 1) / (power - 1)
    assert np.allclose(channel.outputs, [-bound, bound], rtol=1e-10, atol=0)
    # Its two symbols are mirror images.
    first, second = channel.table.tolist()
    assert first == second[::-1]


def test_small_cases_by_hand():
    assert duchi is onebit
    assert onebit_table(1.0, 1 << 61).sum(axis=1).tolist() == [1 << 61] * 2
    assert np.allclose(three_output(0.5).table, onebit(0.5).table, rtol=1e-12)


# Three outputs.


EPSILONS = together("epsilon", [0.1, 0.69, 0.7, 0.8, 1.0, 1.3, 1.6, 1.7, 1.72, 2.0, 4.0, 10.0])
THREE = together("epsilon", [0.7, 1.0, 1.6, 1.72, 4.0, 10.0])


@EPSILONS
def test_the_zero_share_has_the_smallest_worst_variance(epsilon):
    share, searched = zero_share(epsilon), best_zero_share(epsilon)
    assert share == pytest.approx(searched, abs=1e-6)
    found = worst_three_output_variance(epsilon, searched)
    assert worst_three_output_variance(epsilon, share) <= found * (1 + 1e-12)


@pytest.mark.parametrize("edge", [SILENT_BELOW, CAPPED_ABOVE])
def test_the_zero_share_does_not_jump_between_its_formulas(edge: float) -> None:
    assert zero_share(edge - 1e-9) == pytest.approx(zero_share(edge + 1e-9), abs=1e-7)


@THREE
def test_three_outputs_have_their_probabilities_and_values(epsilon):
    channel, power, at_zero = three_output(epsilon), math.exp(epsilon), zero_share(epsilon)
    # Zero is answered less often the farther the value.
    assert np.allclose(channel.table[:, 1] / TOTAL, [at_zero / power, at_zero, at_zero / power], rtol=1e-9)
    (low, _, high), (against, _, toward) = channel.table[1:].tolist()
    assert low == high
    assert toward / against == pytest.approx(power, rel=1e-9)
    bound = (power + 1) / ((power - 1) * (1 - at_zero / power))
    assert np.allclose(channel.outputs, [-bound, 0, bound], rtol=1e-9, atol=1e-12)
