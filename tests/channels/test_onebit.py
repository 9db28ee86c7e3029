"""One bit of one value."""

from __future__ import annotations

import math

import numpy as np
import pytest

from graphveil.channels import TOTAL, duchi, onebit
from graphveil.channels.onebit import onebit_table
from tests.together import together

BUDGETS = together("epsilon", [0.01, 0.5, 1.0, 3.0, 10.0])


@BUDGETS
@together("x", [-1.0, -0.3, 0.0, 0.7, 1.0])
def test_answers_plus_one_as_often_as_it_should(epsilon: float, x: float) -> None:
    low, high = onebit(epsilon).table[:, 1] / TOTAL
    share = (1 + x) / 2  # rounded to ±1 at random first
    expected = 0.5 + x * (math.exp(epsilon) - 1) / (2 * (math.exp(epsilon) + 1))
    assert (1 - share) * low + share * high == pytest.approx(expected, abs=1e-11)


@BUDGETS
def test_decodes_to_plus_or_minus_the_inverse_slope(epsilon: float) -> None:
    bound = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
    assert np.allclose(onebit(epsilon).outputs, [-bound, bound], rtol=1e-10, atol=0)


@BUDGETS
def test_its_two_symbols_are_mirror_images(epsilon: float) -> None:
    first, second = onebit(epsilon).table.tolist()
    assert first == second[::-1]


def test_a_table_may_have_another_total() -> None:
    assert onebit_table(1.0, 1 << 61).sum(axis=1).tolist() == [1 << 61] * 2


def test_duchi_is_onebit() -> None:
    assert duchi is onebit
