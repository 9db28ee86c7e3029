"""The square wave mechanism."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.integrate import quad

from graphveil.channels import TOTAL, square_wave
from graphveil.channels.square_wave import SERIES_BELOW, half_width
from tests.channels import families
from tests.channels.reference import PRECISE
from tests.together import together

EPSILONS = together("epsilon", [0.1, 1.0, 4.0, 8.0])
VALUES = together("x", [-1.0, -0.3, 0.0, 0.8, 1.0])


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
@VALUES
def test_the_density_integrates_to_one(epsilon: float, x: float) -> None:
    assert integral(epsilon, x, 0) == pytest.approx(1, rel=1e-9)


@EPSILONS
@VALUES
def test_the_closed_form_is_the_mean_of_the_density(epsilon: float, x: float) -> None:
    assert integral(epsilon, x, 1) == pytest.approx(families.raw_square_wave_mean(epsilon)(x), abs=1e-9)


@EPSILONS
@VALUES
def test_the_closed_form_is_the_variance_of_the_density(epsilon: float, x: float) -> None:
    variance = integral(epsilon, x, 2) - integral(epsilon, x, 1) ** 2
    assert families.raw_square_wave_variance(epsilon)(x) == pytest.approx(variance, rel=1e-7)


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
def test_raw_and_unbiased_channels_have_the_same_table(epsilon: float) -> None:
    assert np.array_equal(square_wave(epsilon, raw=True).table, square_wave(epsilon).table)


@EPSILONS
def test_unbiased_reports_are_the_raw_ones_divided_by_the_slope(epsilon: float) -> None:
    raw, unbiased = square_wave(epsilon, raw=True).outputs, square_wave(epsilon).outputs
    assert np.allclose(unbiased, raw / families.square_wave_slope(epsilon), rtol=1e-8, atol=1e-8)


@EPSILONS
def test_raw_reports_stay_within_the_range_and_half_a_window(epsilon: float) -> None:
    assert np.abs(square_wave(epsilon, raw=True).outputs).max() < 1 + families.half_width(epsilon)


def test_raw_reports_are_biased_towards_zero() -> None:
    assert 0 < square_wave(1.0, raw=True).moments(1.0)[0] < 0.4
