"""The hybrid mechanism."""

from __future__ import annotations

import math

import numpy as np
import pytest

from graphveil.channels import TOTAL, hybrid, onebit, piecewise
from graphveil.channels.piecewise import ONE_BIT_BELOW, piecewise_share
from tests.channels.families import onebit_variance, piecewise_variance
from tests.together import together

GRID = np.linspace(0, 1, 201)


def worst_variance(epsilon: float, share: float) -> float:
    """The largest variance over all values, of piecewise with this probability and one bit otherwise."""
    wave, bit = piecewise_variance(epsilon), onebit_variance(epsilon)
    return max(share * wave(x) + (1 - share) * bit(x) for x in GRID.tolist())


@together("epsilon", [0.1, 0.5, 0.6, 0.609, 0.61, 0.65, 1.0, 3.0, 8.0])
def test_the_share_has_the_smallest_worst_variance(epsilon: float) -> None:
    chosen = worst_variance(epsilon, piecewise_share(epsilon))
    assert chosen <= min(worst_variance(epsilon, share) for share in GRID.tolist()) * (1 + 1e-9)


def test_one_bit_alone_is_used_up_to_about_0_61() -> None:
    assert pytest.approx(0.61, abs=0.005) == ONE_BIT_BELOW


@pytest.mark.parametrize(("epsilon", "outputs"), [(0.6, 2), (0.62, 131)])
def test_below_there_are_two_outputs(epsilon: float, outputs: int) -> None:
    assert hybrid(epsilon).output_count == outputs


def test_below_its_end_rows_are_those_of_one_bit() -> None:
    assert np.allclose(hybrid(0.5).table[[0, -1]], onebit(0.5).table, rtol=1e-14)


@pytest.mark.parametrize("epsilon", [0.7, 1.0, 4.0])
def test_above_piecewise_is_used_with_its_probability_whatever_the_value(epsilon: float) -> None:
    shares = hybrid(epsilon, 9).table[:, :-2].sum(axis=1) / TOTAL
    assert np.allclose(shares, 1 - math.exp(-epsilon / 2), rtol=1e-12)


@pytest.mark.parametrize("epsilon", [0.7, 1.0, 4.0])
def test_above_its_first_columns_are_piecewise_in_proportion(epsilon: float) -> None:
    mixed, alone = hybrid(epsilon, 9).table[:, :-2], piecewise(epsilon, 9).table
    assert np.allclose(mixed, alone * (1 - math.exp(-epsilon / 2)), rtol=1e-9)


@pytest.mark.parametrize("epsilon", [0.7, 1.0, 4.0])
def test_above_its_last_columns_are_one_bit_in_proportion(epsilon: float) -> None:
    mixed, alone = hybrid(epsilon, 9).table[[0, -1], -2:], onebit(epsilon).table
    assert np.allclose(mixed, alone * math.exp(-epsilon / 2), rtol=1e-9)


def test_one_bit_decodes_to_its_own_values() -> None:
    assert np.allclose(hybrid(2.0).outputs[-2:], onebit(2.0).outputs, rtol=1e-9)
