"""The piecewise mechanism and PM-SUB."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from graphveil.channels import TOTAL, piecewise, pm_sub
from tests.channels.families import window_variance
from tests.together import together

EPSILONS = together("epsilon", [0.1, 1.0, 4.0, 8.0])
MECHANISMS = pytest.mark.parametrize("name", ["piecewise", "pm-sub"])

Density = tuple[list[float], list[float]]


def density(name: str, epsilon: float, x: float) -> Density:
    """Edges of three pieces and the heights over them, from the formulas of the two sources."""
    power = math.exp(epsilon)
    if name == "piecewise":
        root = math.exp(epsilon / 2)
        bound = (root + 1) / (root - 1)
        height = (power - root) / (2 * root + 2)
        start = (bound + 1) * x / 2 - (bound - 1) / 2
        stop = start + bound - 1
    else:
        shape = math.exp(epsilon / 3)
        slope = (power + shape) / (power - 1)
        bound = slope * (1 + 1 / shape)
        start, stop = slope * (x - 1 / shape), slope * (x + 1 / shape)
        height = power / (power + shape) / (stop - start)
    return [-bound, start, stop, bound], [height / power, height, height / power]


@EPSILONS
def test_pm_sub_is_within_5_percent_of_the_best_window(epsilon: float) -> None:
    # Zhao et al. (2020) choose t = e^{ε/3} for its simplicity: the best t has no closed form.
    best = minimize_scalar(
        lambda shape: window_variance(epsilon, shape)(1.0), bounds=(1.0, math.exp(epsilon)), method="bounded"
    )
    assert pm_sub(epsilon).variances[-1] < 1.05 * best.fun


@MECHANISMS
@EPSILONS
@together("place", [0, 3, 8])
def test_cells_have_the_mass_of_the_density(name: str, epsilon: float, place: int) -> None:
    channel = {"piecewise": piecewise, "pm-sub": pm_sub}[name](epsilon, 9)
    edges, heights = density(name, epsilon, np.linspace(-1, 1, 9)[place])
    every = sorted({round(edge, 9) for x in np.linspace(-1, 1, 9) for edge in density(name, epsilon, x)[0]})
    cumulated = np.interp(every, edges, np.cumsum([0, *np.diff(edges) * heights]))
    assert np.allclose(channel.table[place] / TOTAL, np.diff(cumulated), rtol=1e-6, atol=1e-7)


@EPSILONS
def test_reports_reach_to_the_last_cell_of_the_range(epsilon: float) -> None:
    channel, root = piecewise(epsilon, 9), math.exp(epsilon / 2)
    bound = (root + 1) / (root - 1)
    # The last cell begins where the last window does, or where the last window but one ends; it decodes to its middle.
    start = max(1.0, bound - (bound + 1) / 2 / 4)
    assert channel.outputs[-1] == pytest.approx((start + bound) / 2, rel=1e-9)


def test_the_printed_range_for_sampled_values_is_too_small() -> None:
    # UPGNET, Eq. 16 has e^{ε/2} where m values at ε/m each need e^{ε/2m}.
    epsilon, sampled = 4.0, 4
    printed = (math.exp(epsilon / 2) + 1) / (math.exp(epsilon / 2) - 1)
    assert piecewise(epsilon / sampled).outputs.max() > 2 * printed


@EPSILONS
def test_every_cell_has_one_of_two_levels(epsilon: float) -> None:
    table = piecewise(epsilon, 9).table.astype(float)
    ratio = table / table.min(axis=0)
    near_one, near_power = np.isclose(ratio, 1, rtol=1e-9), np.isclose(ratio, math.exp(epsilon), rtol=1e-9)
    assert (near_one | near_power).all()


@EPSILONS
def test_a_report_falls_into_the_window_with_its_probability(epsilon: float) -> None:
    root = math.exp(epsilon / 2)
    table = piecewise(epsilon, 9).table
    inside = table > 1.5 * table.min(axis=0) if epsilon > 0.5 else table > 1.01 * table.min(axis=0)
    shares = np.where(inside, table / TOTAL, 0).sum(axis=1)
    assert np.allclose(shares, root / (root + 1), rtol=1e-9)
