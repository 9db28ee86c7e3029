"""FlexProp: averaging over hops in which users with less noise count for more (PPGNN)."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from graphveil.denoise.aggregators import KProp
from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.linear.polynomial import Polynomial
from graphveil.linear.propagation import weighted_mean_matrix

Weights = NDArray[np.float64]
# How a user counts: by the reported level, as PPGNN prints it, or by the inverse variance of the own report, the optimum.
Weighting = Literal["printed", "inverse-variance"]


class FlexPropDenoiser:
    """Π^K x, Π_ij = w_j / Σ_k w_k over the neighbours k of i and i itself.

    PPGNN prints w_j = τ'_j, the reported level, within 1..f. It derives w_j = 1/σ²_j, which makes the variance of a mean of
    independent reports smallest (its Eq. 11), and calls that infeasible; but σ² given τ' is known in public, so it is not.
    The optimum is that of one hop. ``hops`` is K.
    """

    def __init__(self, hops: int) -> None:
        self.last = KProp(hops)

    def operator(self, graph: Graph, weights: Weights, device: torch.device | str = "cpu") -> Polynomial:
        """The hops along a graph of n users with a weight each (n numbers), as one linear map of n x k to n x k."""
        return self.last.operator(weighted_mean_matrix(graph, weights, device=device))


def user_weights(levels: NDArray[np.int64], variances: Weights, weighting: Weighting) -> Weights:
    """How much each of n users counts, from the reported levels (n numbers in 1..f) and the f variances of a report given each.

    >>> user_weights(np.array([1, 2]), np.array([4.0, 1.0]), "inverse-variance").tolist()
    [0.25, 1.0]
    """
    if weighting == "printed":
        return levels.astype(np.float64)
    if not (np.isfinite(variances).all() and (variances > 0).all()):
        raise InputError("variances must be positive and finite, one a level")
    weights: Weights = 1 / variances[levels - 1]
    return weights
