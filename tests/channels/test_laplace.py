"""Laplace noise in cells."""

from __future__ import annotations

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


def tail_edges(scale: float, reach: float, tails: int) -> np.ndarray:
    """Where the right tail is cut into cells of equal mass."""
    return reach - scale * np.log1p(-np.arange(tails) / tails)


@together("epsilon", BUDGETS)
def test_every_cell_holds_2_to_the_40_counts(epsilon: float) -> None:
    assert laplace(epsilon).table.min() >= 1 << 40


@settings(max_examples=20)
@given(st.floats(0.01, 10.0), st.integers(2, 9))
def test_every_cell_holds_2_to_the_40_counts_at_any_epsilon(epsilon: float, points: int) -> None:
    assert laplace(epsilon, points).table.min() >= 1 << 40


@together("epsilon", [1e-8, 1e-4, 15.0, 20.0])
def test_no_cell_is_empty_even_beyond(epsilon: float) -> None:
    assert laplace(epsilon, 3).table.min() > 0


@SCALES
def test_inner_cells_have_the_mass_of_the_noise(scale: float) -> None:
    inner, tails = laplace_cells(scale)
    grid = np.linspace(-1, 1, 5)
    masses = laplace_masses(grid, scale, inner, tails)[:, tails:-tails]
    noise = laplace_law(scale=scale)
    assert np.allclose(masses, np.diff(noise.cdf(inner - grid[:, None]), axis=1), rtol=1e-9, atol=1e-15)


@SCALES
def test_tail_cells_have_equal_parts_of_the_tail(scale: float) -> None:
    inner, tails = laplace_cells(scale)
    masses = laplace_masses(np.array([0.5]), scale, inner, tails)[0, -tails:]
    assert np.allclose(masses, laplace_law(scale=scale).sf(inner[-1] - 0.5) / tails, rtol=1e-12, atol=0)


@SCALES
def test_the_masses_of_a_row_sum_to_one(scale: float) -> None:
    masses = laplace_masses(np.linspace(-1, 1, 9), scale, *laplace_cells(scale))
    assert np.allclose(masses.sum(axis=1), 1, rtol=0, atol=1e-13)


@SCALES
@together("place", [0, 1, -2])
def test_tail_cells_decode_to_their_mean(scale: float, place: int) -> None:
    inner, tails = laplace_cells(scale)
    edges = tail_edges(scale, inner[-1], tails)
    low, high = edges[place], edges[place + 1]
    mean = (
        quad(lambda y: y * math.exp(-y / scale), low, high)[0]
        / quad(lambda y: math.exp(-y / scale), low, high)[0]
    )
    assert laplace_centres(scale, inner, tails)[len(inner) - 1 + tails :][place] == pytest.approx(
        mean, rel=1e-9
    )


@SCALES
def test_the_open_end_cell_decodes_to_its_edge_plus_the_scale(scale: float) -> None:
    inner, tails = laplace_cells(scale)
    edge = tail_edges(scale, inner[-1], tails)[-1]
    assert laplace_centres(scale, inner, tails)[-1] == pytest.approx(edge + scale, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_the_table_is_symmetric_up_to_rounding(epsilon: float) -> None:
    table = laplace(epsilon).table / TOTAL
    assert np.allclose(table, table[::-1, ::-1], rtol=1e-9, atol=0)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_only_the_ends_of_the_range_are_an_epsilon_apart(epsilon: float) -> None:
    worst = laplace(epsilon).worst
    assert {worst.likelier, worst.rarer} == {0, len(laplace(epsilon).inputs) - 1}
