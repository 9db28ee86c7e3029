"""Graded responses: FEATURERR and condensed LDP."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphveil.channels import TOTAL, condensed, featurerr
from graphveil.channels.graded import graded_masses, unbiased_outputs
from graphveil.errors import InputError
from tests.together import together


def probabilities(epsilon: float, bins: int) -> np.ndarray:
    """FEATURERR as printed: in proportion to exp(-|u-t|/(kσ)), σ = (k-1)/(kε)."""
    sigma = (bins - 1) / (bins * epsilon)
    places = np.arange(1, bins + 1)
    weights = np.exp(-np.abs(places[:, None] - places) / (bins * sigma))
    return weights / weights.sum(axis=1, keepdims=True)


@together("epsilon", [0.1, 1.0, 5.0])
@together("bins", [2, 10, 33])
def test_featurerr_has_the_printed_probabilities(epsilon: float, bins: int) -> None:
    assert np.allclose(
        featurerr(epsilon, bins).table / TOTAL, probabilities(epsilon, bins), rtol=1e-10, atol=0
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_condensed_has_its_probabilities(epsilon: float) -> None:
    # exp(-α|u-t|/2) with α = 2ε/d_max = ε on [-1, 1].
    grid = np.linspace(-1, 1, 65)
    weights = np.exp(-epsilon * np.abs(grid[:, None] - grid) / 2)
    expected = weights / weights.sum(axis=1, keepdims=True)
    assert np.allclose(condensed(epsilon).table / TOTAL, expected, rtol=1e-10, atol=0)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_condensed_protects_close_values_better(epsilon: float) -> None:
    # Two values at distance c: at most α·c and what their normalisers differ by, together at most twice α·c/2.
    channel = condensed(epsilon, 9)
    near = channel.table[[3, 4]].astype(float)
    distance = channel.inputs[4] - channel.inputs[3]
    assert np.log(near.max(axis=0) / near.min(axis=0)).max() <= epsilon * distance * (1 + 1e-9)


def test_raw_featurerr_is_biased_by_36_hundredths_of_the_range():
    raw, unbiased = featurerr(1.0, 10, raw=True), featurerr(1.0, 10)
    # On [0, 1]; half as much of this range's width, which is 2.
    assert np.abs(raw.means - raw.inputs).max() / 2 == pytest.approx(0.36, abs=0.001)
    # It decodes to the upper edges of its bins.
    assert np.array_equal(raw.outputs, 2 * np.arange(1, 11) / 10 - 1)
    assert np.array_equal(raw.table, unbiased.table)
    assert (unbiased.variances > raw.variances).all()


@pytest.mark.parametrize("family", [featurerr, condensed])
@settings(max_examples=25)
@given(st.floats(0.01, 10.0), st.integers(2, 40))
def test_it_is_unbiased_for_any_number_of_bins(family, epsilon, bins):
    assert np.abs(family(epsilon, bins).means - np.linspace(-1, 1, bins)).max() < 2e-9


@settings(max_examples=25)
@given(st.floats(0.01, 20.0), st.integers(2, 60))
def test_the_worst_inputs_are_the_two_ends(epsilon, bins):
    # HeteroRR's Theorem 3 leaves the normalisers out: they are equal at the ends, and no other pair is worse.
    worst = featurerr(epsilon, bins).worst
    assert {worst.likelier, worst.rarer} == {0, bins - 1}
    sums = graded_masses(1.0, 10).sum(axis=1)
    assert sums[0] == pytest.approx(sums[-1]) and sums[4] > 1.1 * sums[0]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_unbiased_outputs_solve_the_system(epsilon: float) -> None:
    inputs = np.linspace(-1, 1, 12)
    assert np.allclose(
        probabilities(epsilon, 12) @ unbiased_outputs(epsilon, inputs), inputs, rtol=0, atol=1e-10
    )


@pytest.mark.parametrize("bins", [0, 1, 1025, 10.0, True, "10", [10]])
def test_refuses_bins(bins: object) -> None:
    with pytest.raises(InputError, match="bins must be an integer from 2 to 1024"):
        featurerr(1.0, bins)
