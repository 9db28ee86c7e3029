"""The extended square wave on levels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphveil.channels import TOTAL, esw
from graphveil.errors import InputError
from tests.channels.families import half_width

CASES = pytest.mark.parametrize(
    ("epsilon", "levels"), [(0.1, 6), (0.5, 6), (1.0, 6), (1.0, 13), (3.0, 6), (6.0, 2)]
)


def reach(epsilon: float, levels: int) -> int:
    """b = ⌊f(εe^ε-e^ε+1)/(2e^ε(e^ε-1-ε))⌋."""
    return math.floor(levels * half_width(epsilon) / 2)


@CASES
def test_outputs_run_from_1_minus_b_to_f_plus_b(epsilon: float, levels: int) -> None:
    beyond = reach(epsilon, levels)
    assert esw(epsilon, levels).outputs.tolist() == list(range(1 - beyond, levels + beyond + 1))


@CASES
def test_inputs_are_the_levels(epsilon: float, levels: int) -> None:
    assert esw(epsilon, levels).inputs.tolist() == list(range(1, levels + 1))


@CASES
def test_probabilities_are_p_within_b_of_the_level_and_q_elsewhere(epsilon: float, levels: int) -> None:
    channel, beyond, power = esw(epsilon, levels), reach(epsilon, levels), math.exp(epsilon)
    other = 1 / ((2 * beyond + 1) * power + levels - 1)
    near = np.abs(channel.outputs - channel.inputs[:, None]) <= beyond
    assert np.allclose(channel.table / TOTAL, np.where(near, power * other, other), rtol=1e-10, atol=0)


@given(st.floats(1e-8, 20.0), st.integers(2, 60))
def test_any_number_of_levels_keeps_its_claim(epsilon: float, levels: int) -> None:
    assert epsilon * (1 - (1e-9 if epsilon >= 0.01 else 1e-6)) <= esw(epsilon, levels).epsilon <= epsilon


@pytest.mark.parametrize("levels", [0, 1, 513, 6.0, True, "6", [6]])
def test_refuses_levels(levels: object) -> None:
    with pytest.raises(InputError, match="levels must be an integer from 2 to 512"):
        esw(1.0, levels)
