"""The square wave mechanism, and the extended one on levels."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.integrate import quad

from graphveil.channels import TOTAL, esw, square_wave
from graphveil.channels.square_wave import SERIES_BELOW, half_width
from graphveil.errors import InputError
from tests.channels import families
from tests.channels.reference import PRECISE
from tests.together import together

EPSILONS = together("epsilon", [0.1, 1.0, 4.0, 8.0])


def precise_half_width(epsilon: float) -> float:
    """b = (εe^ε-e^ε+1)/(e^ε(e^ε-ε-1)) with 200 digits, none of which is missed."""
    exponent = Decimal(epsilon)
    power = PRECISE.exp(exponent)
    top = PRECISE.add(PRECISE.subtract(PRECISE.multiply(exponent, power), power), 1)
    bottom = PRECISE.multiply(power, PRECISE.subtract(PRECISE.subtract(power, exponent), 1))
    return float(PRECISE.divide(top, bottom))


@given(st.floats(math.log(1e-8), math.log(20.0)).map(math.exp))
@example(SERIES_BELOW)
@example(math.nextafter(SERIES_BELOW, 1.0))
@example(1e-8)
@example(20.0)
def test_half_width_is_accurate_to_12_digits(epsilon: float) -> None:
    assert half_width(epsilon) == pytest.approx(precise_half_width(epsilon), rel=1e-12)


def integral(epsilon: float, x: float, degree: int) -> float:
    """A moment of the density e^ε/(2be^ε+2) on [x-b, x+b], 1/(2be^ε+2) on the rest of [-1-b, 1+b]."""
    width, power = families.half_width(epsilon), math.exp(epsilon)
    low = 1 / (2 * width * power + 2)
    edges, heights = [-1 - width, x - width, x + width, 1 + width], [low, low * power, low]
    parts = zip(edges[:-1], edges[1:], heights, strict=True)
    return sum(quad(lambda y, h=height: h * y**degree, start, stop)[0] for start, stop, height in parts)


@EPSILONS
@together("x", [-1.0, -0.3, 0.0, 0.8, 1.0])
def test_the_closed_forms_are_the_moments_of_the_density(epsilon, x):
    whole, mean, square = (integral(epsilon, x, degree) for degree in (0, 1, 2))
    assert whole == pytest.approx(1, rel=1e-9)
    assert mean == pytest.approx(families.raw_square_wave_mean(epsilon)(x), abs=1e-9)
    assert families.raw_square_wave_variance(epsilon)(x) == pytest.approx(square - mean**2, rel=1e-7)


@EPSILONS
@together("place", [0, 3, 8])
def test_cells_have_the_mass_of_the_density(epsilon: float, place: int) -> None:
    channel, width, power = square_wave(epsilon, 9), families.half_width(epsilon), math.exp(epsilon)
    grid = np.linspace(-1, 1, 9)
    every = np.unique(np.round([-1 - width, *(grid - width), *(grid + width), 1 + width], 9))
    edges = [-1 - width, grid[place] - width, grid[place] + width, 1 + width]
    heights = np.array([1, power, 1]) / (2 * width * power + 2)
    cumulated = np.interp(every, edges, np.cumsum([0, *np.diff(edges) * heights]))
    assert np.allclose(channel.table[place] / TOTAL, np.diff(cumulated), rtol=1e-6, atol=1e-7)


@EPSILONS
def test_unbiased_reports_are_the_raw_ones_divided_by_the_slope(epsilon):
    raw, unbiased = square_wave(epsilon, raw=True), square_wave(epsilon)
    assert np.array_equal(raw.table, unbiased.table)
    divided = raw.outputs / families.square_wave_slope(epsilon)
    assert np.allclose(unbiased.outputs, divided, rtol=1e-8, atol=1e-8)
    assert np.abs(raw.outputs).max() < 1 + families.half_width(epsilon)
    assert epsilon != 1 or 0 < raw.moments(1.0)[0] < 0.4  # biased towards zero


# The extended square wave on levels.


def reach(epsilon: float, levels: int) -> int:
    """b = ⌊f(εe^ε-e^ε+1)/(2e^ε(e^ε-1-ε))⌋."""
    return math.floor(levels * families.half_width(epsilon) / 2)


@together(("epsilon", "levels"), [(0.1, 6), (0.5, 6), (1.0, 6), (1.0, 13), (3.0, 6), (6.0, 2)])
def test_probabilities_are_p_within_b_of_the_level_and_q_elsewhere(epsilon, levels):
    channel, beyond, power = esw(epsilon, levels), reach(epsilon, levels), math.exp(epsilon)
    assert channel.inputs.tolist() == list(range(1, levels + 1))
    assert channel.outputs.tolist() == list(range(1 - beyond, levels + beyond + 1))
    other = 1 / ((2 * beyond + 1) * power + levels - 1)
    near = np.abs(channel.outputs - channel.inputs[:, None]) <= beyond
    assert np.allclose(channel.table / TOTAL, np.where(near, power * other, other), rtol=1e-10, atol=0)


@given(st.floats(1e-8, 20.0), st.integers(2, 60))
def test_any_number_of_levels_keeps_its_claim(epsilon: float, levels: int) -> None:
    assert epsilon * (1 - (1e-9 if epsilon >= 0.01 else 1e-6)) <= esw(epsilon, levels).epsilon <= epsilon


@together("levels", [0, 1, 513, 6.0, True, "6", [6]])
def test_refuses_levels(levels: object) -> None:
    with pytest.raises(InputError, match="levels must be an integer from 2 to 512"):
        esw(1.0, levels)
