"""Reports of several rounds as one input: every answer counts, by how much noise it has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from graphveil.linear.sparse import SparseMatrix
from graphveil.mechanisms import Estimate, FeatureMechanism, PersonalMechanism, Reports

Floats = NDArray[np.float64]
# precision: an attribute's column is as large as it is precise. unbiased: all columns are estimates in the same unit.
Columns = Literal["precision", "unbiased"]
Targetable = FeatureMechanism | PersonalMechanism


def answer_square(mechanism: Targetable) -> float:
    """v: the mean square of an answer before it counts 1/π, in the units of a value; public."""
    asking = mechanism.asking
    if isinstance(mechanism, FeatureMechanism):
        square = (mechanism.spread / mechanism.scale) ** 2
    else:
        square = mechanism.spread**2 * mechanism.report_length * asking.count / asking.size**2
    return square / asking.mean_square_factor


def precisions(mechanisms: Sequence[Targetable]) -> list[Floats]:
    """For each round the inverse variance of every attribute's estimate, up to one factor: π_j/v."""
    return [mechanism.asking.inclusion / answer_square(mechanism) for mechanism in mechanisms]


def rounds_input(
    rounds: Sequence[Reports],
    share: float,
    columns: Columns = "precision",
    device: torch.device | str = "cpu",
) -> SparseMatrix:
    """Estimates of several rounds (each n users x d attributes), weighted by their inverse variances and added; sparse, n x d.

    x̂_j = Σ_r a_rj x̂_rj / Σ_r a_rj with a_rj = π_rj/v_r. An attribute that is hardly ever asked has an estimate with a large
    variance; as a column of an input it would be the loudest. With ``precision`` the columns stay multiplied by Σ_r a_rj: each
    answer then counts 1/v_r, however rarely it was asked for. Rows have the norm ``share``·√d in expectation, by public
    constants alone and as if rounds asked for different values: where they ask for the same ones, rows are a little longer.
    """
    mechanisms = [reports.mechanism for reports in rounds]
    targets = [
        mechanism for mechanism in mechanisms if isinstance(mechanism, (FeatureMechanism, PersonalMechanism))
    ]
    weights = precisions(targets)
    if columns == "unbiased":
        total = np.sum(weights, axis=0)
        weights = [weight / np.maximum(total, 1e-300) for weight in weights]
    expected = sum(
        _norm_square(mechanism, weight) for mechanism, weight in zip(targets, weights, strict=True)
    )
    scale = share * math.sqrt(targets[0].dimensions) / math.sqrt(expected)
    parts = [
        _weighed(reports.estimate(), scale * weight) for reports, weight in zip(rounds, weights, strict=True)
    ]
    whole = sum(parts[1:], start=parts[0])
    whole.sort_indices()
    return SparseMatrix.from_csr(whole.indptr, whole.indices, whole.data, whole.shape, device=device)


def _norm_square(mechanism: Targetable, weights: Floats) -> float:
    """The expected square of the norm of a row of estimates, whose attributes are multiplied by these weights."""
    asking = mechanism.asking
    squares = asking.inclusion * asking.factors**2
    expected = mechanism.spread**2 * mechanism.report_length
    return float(expected * (squares * weights**2).sum() / squares.sum())


def _weighed(estimate: Estimate, weights: Floats) -> Any:
    """The entries of an estimate multiplied by the weight of their attribute: a scipy matrix."""
    matrix = estimate.to_scipy()
    matrix.data = matrix.data * weights[matrix.indices]
    return matrix
