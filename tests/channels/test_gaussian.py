"""Gaussian noise in cells, and its two calibrations."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from graphveil.channels import TOTAL, Claim, analytic_gaussian, gaussian
from graphveil.channels.gaussian import (
    analytic_sigma,
    classical_sigma,
    gaussian_channel,
    gaussian_delta,
    upper_tail,
)
from graphveil.errors import InputError
from tests.channels import families
from tests.together import together

BOTH = pytest.mark.parametrize("family", [gaussian, analytic_gaussian])
DELTAS = together("delta", [1e-3, 1e-5, 1e-6])


@together("x", [-5.0, 0.0, 1.0, 5.0, 10.0, 20.0])
def test_upper_tail_is_accurate_far_out(x: float) -> None:
    assert upper_tail(np.array([x]))[0] == pytest.approx(norm.sf(x), rel=1e-12)


@together("epsilon", [0.01, 1.0, 5.0])
@together("sigma", [0.5, 1.0, 4.0])
def test_delta_is_the_divergence_of_two_densities(epsilon: float, sigma: float) -> None:
    # ∫ max(0, φ(y-1) - e^ε φ(y+1)): the first is larger from y = εσ²/2 on.
    start = epsilon * sigma**2 / 2
    exact = norm.sf((start - 1) / sigma) - math.exp(epsilon) * norm.sf((start + 1) / sigma)
    assert gaussian_delta(epsilon, sigma) == pytest.approx(exact, rel=1e-6, abs=1e-14)


@DELTAS
@together("epsilon", [1e-3, 0.01, 0.5, 1.0, 4.0, 10.0])
def test_analytic_sigma_is_the_root(epsilon: float, delta: float) -> None:
    assert analytic_sigma(epsilon, delta) == pytest.approx(families.analytic_sigma(epsilon, delta), rel=1e-7)


@DELTAS
def test_classical_sigma_counts_the_width_of_the_range_and_the_printed_one_does_not(delta):
    assert classical_sigma(0.5, delta) ** 2 == pytest.approx(8 * math.log(1.25 / delta) / 0.25, rel=1e-12)
    # PPGNN, Sec. III and TOGL, Eq. 36: σ² = 2 ln(1.25/δ)/ε², on a range of width 2.
    printed = math.sqrt(2 * math.log(1.25 / delta))
    assert gaussian_delta(1.0, printed) > 5 * delta
    assert printed < 0.8 * analytic_sigma(1.0, delta) < 0.8 * classical_sigma(1.0, delta)
    # The classical bound fails for a large ε with the right width, too: which is why it is refused above 1.
    assert gaussian_delta(10.0, classical_sigma(10.0, 1e-5)) > 2e-5


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_cells_have_the_mass_of_the_noise(epsilon: float) -> None:
    sigma = analytic_sigma(epsilon, 1e-5)
    grid = np.linspace(-1, 1, 3)
    channel = gaussian_channel("test", grid, sigma, Claim(epsilon, 1e-5))
    threshold = epsilon * sigma**2 / 2
    reach = max(1 + 6 * sigma, threshold + sigma)
    count = 2 * math.ceil(reach / (sigma / 10))
    edges = np.unique([*np.linspace(-reach, reach, count + 1), -threshold, threshold])
    masses = np.diff(norm.cdf([-np.inf, *edges, np.inf], grid[:, None], sigma), axis=1)
    assert np.allclose(channel.table / TOTAL, masses, rtol=1e-6, atol=1e-15)


@DELTAS
def test_the_table_has_the_delta_of_the_noise(delta: float) -> None:
    # The reports that favour one end by more than e^ε begin at an edge between two cells.
    channel = analytic_gaussian(1.0, delta)
    assert channel.delta == pytest.approx(delta, rel=1e-9)


@BOTH
@together(
    ("delta", "words"),
    [
        *(
            (delta, "delta must be a number strictly between 0 and 1")
            for delta in (0, 1, -1e-5, 2.0, math.nan, True, "0.1", None, [0.1])
        ),
        # What a table cannot resolve.
        *((delta, f"delta must be at least .*got {delta:g}") for delta in (1e-14, 1e-300)),
    ],
)
def test_refuses_a_delta(family, delta, words):
    assert family(0.5, 1e-5).claim == Claim(0.5, 1e-5)
    with pytest.raises(InputError, match=words):
        family(0.5, delta)


def test_a_large_epsilon_is_refused():
    for epsilon in (math.nextafter(1, 2), 1.5, 10.0):
        with pytest.raises(InputError, match="epsilon must be at most 1 .*use analytic-gaussian"):
            gaussian(epsilon, 1e-5)
    with pytest.raises(InputError, match="epsilon must be at most 10 .*use laplace"):
        analytic_gaussian(10.1, 1e-5)
