"""Sparse matrices, polynomials of them, and the matrices by which messages pass along edges.

A module is loaded when one of its names is first used.
"""

# ruff: noqa: F401
from typing import TYPE_CHECKING

from graphveil.lazy import lazy_names

if TYPE_CHECKING:
    from graphveil.linear.kernels import Push, weighted_products, weights_gradient
    from graphveil.linear.pairs import LearnedMatrix, PairPattern, PairProducts
    from graphveil.linear.propagation import (
        gcn_matrix,
        mean_matrix,
        pagerank_matrix,
        scaled_matrix,
        weighted_mean_matrix,
    )
    from graphveil.linear.sparse import (
        Chebyshev,
        Composition,
        Input,
        Polynomial,
        Scaled,
        SparseMatrix,
        scaled,
    )
else:
    __getattr__, __dir__ = lazy_names(__name__, __file__)
