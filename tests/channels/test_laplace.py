"""Laplace noise in cells."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import laplace as laplace_law

from graphveil.channels import TOTAL, laplace
from graphveil.channels.laplace import laplace_cells, laplace_centres, laplace_masses
from tests.channels.families import BUDGETS
from tests.together import together

SCALES = together("scale", [0.2, 0.5, 2.0, 20.0, 200.0])


@settings(max_examples=20)
@given(st.floats(0.01, 10.0), st.integers(2, 9))
def test_every_cell_holds_2_to_the_40_counts_at_any_epsilon(epsilon, points):
    assert laplace(epsilon, points).table.min() >= 1 << 40


def test_every_cell_holds_2_to_the_40_counts_and_none_is_empty_even_beyond():
    for epsilon in BUDGETS:
        assert laplace(epsilon).table.min() >= 1 << 40, epsilon
    for epsilon in (1e-8, 1e-4, 15.0, 20.0):
        assert laplace(epsilon, 3).table.min() > 0, epsilon


@SCALES
def test_cells_have_the_mass_of_the_noise(scale):
    """Tail cells have equal parts of the tail."""
    (inner, tails), grid = laplace_cells(scale), np.linspace(-1, 1, 5)
    masses, noise = laplace_masses(grid, scale, inner, tails), laplace_law(scale=scale)
    expected = np.diff(noise.cdf(inner - grid[:, None]), axis=1)
    assert np.allclose(masses[:, tails:-tails], expected, rtol=1e-9, atol=1e-15)
    tail = noise.sf(inner[-1] - grid[:, None]) / tails
    assert np.allclose(masses[:, -tails:], tail, rtol=1e-12, atol=0)
    assert np.allclose(masses.sum(axis=1), 1, rtol=0, atol=1e-13)


@SCALES
def test_tail_cells_decode_to_their_mean(scale):
    inner, tails = laplace_cells(scale)
    # Where the right tail is cut into cells of equal mass.
    edges = inner[-1] - scale * np.log1p(-np.arange(tails) / tails)
    centres = laplace_centres(scale, inner, tails)[len(inner) - 1 + tails :]
    for place in (0, 1, -2):
        low, high = edges[place], edges[place + 1]
        moment = quad(lambda y: y * math.exp(-y / scale), low, high)[0]
        assert centres[place] == pytest.approx(
            moment / quad(lambda y: math.exp(-y / scale), low, high)[0], rel=1e-9
        )
    # The open end cell.
    assert centres[-1] == pytest.approx(edges[-1] + scale, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_the_table_is_symmetric_up_to_rounding_and_only_the_ends_are_an_epsilon_apart(epsilon):
    channel = laplace(epsilon)
    table = channel.table / TOTAL
    assert np.allclose(table, table[::-1, ::-1], rtol=1e-9, atol=0)
    assert {channel.worst.likelier, channel.worst.rarer} == {0, len(channel.inputs) - 1}
