"""The piecewise mechanism, PM-SUB, and the hybrid mechanism."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from graphveil.channels import TOTAL, hybrid, onebit, piecewise, pm_sub
from graphveil.channels.piecewise import ONE_BIT_BELOW, piecewise_share
from tests.channels.families import onebit_variance, piecewise_variance, window_variance
from tests.together import together

EPSILONS = together("epsilon", [0.1, 1.0, 4.0, 8.0])
MECHANISMS = pytest.mark.parametrize("name", ["piecewise", "pm-sub"])


def density(name, epsilon, x):
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


# The hybrid mechanism.


GRID = np.linspace(0, 1, 201)


def worst_variance(epsilon: float, share: float) -> float:
    """The largest variance over all values, of piecewise with this probability and one bit otherwise."""
    wave, bit = piecewise_variance(epsilon), onebit_variance(epsilon)
    return max(share * wave(x) + (1 - share) * bit(x) for x in GRID.tolist())


@together("epsilon", [0.1, 0.5, 0.6, 0.609, 0.61, 0.65, 1.0, 3.0, 8.0])
def test_the_share_has_the_smallest_worst_variance(epsilon: float) -> None:
    chosen = worst_variance(epsilon, piecewise_share(epsilon))
    assert chosen <= min(worst_variance(epsilon, share) for share in GRID.tolist()) * (1 + 1e-9)


def test_one_bit_alone_is_used_up_to_about_0_61():
    assert pytest.approx(0.61, abs=0.005) == ONE_BIT_BELOW
    assert (hybrid(0.6).output_count, hybrid(0.62).output_count) == (2, 131)
    assert np.allclose(hybrid(0.5).table[[0, -1]], onebit(0.5).table, rtol=1e-14)


@pytest.mark.parametrize("epsilon", [0.7, 1.0, 2.0, 4.0])
def test_above_columns_are_piecewise_and_one_bit_with_their_probabilities(epsilon):
    mixed, wave, bit, share = (
        hybrid(epsilon, 9),
        piecewise(epsilon, 9),
        onebit(epsilon),
        math.exp(-epsilon / 2),
    )
    assert np.allclose(mixed.table[:, :-2].sum(axis=1) / TOTAL, 1 - share, rtol=1e-12)
    assert np.allclose(mixed.table[:, :-2], wave.table * (1 - share), rtol=1e-9)
    assert np.allclose(mixed.table[[0, -1], -2:], bit.table * share, rtol=1e-9)
    assert np.allclose(mixed.outputs[-2:], bit.outputs, rtol=1e-9)
