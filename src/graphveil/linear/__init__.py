"""Sparse matrices, polynomials of them, and the matrices by which messages pass along edges.

A module is loaded when one of its names is first used.
"""

# ruff: noqa: I001 -- names that are exported stand with their modules
from typing import TYPE_CHECKING

from graphveil.lazy import lazy_names

if TYPE_CHECKING:
    from graphveil.linear.polynomial import Chebyshev as Chebyshev
    from graphveil.linear.polynomial import (
        Composition as Composition,
        Input as Input,
        Scaled as Scaled,
        scaled as scaled,
    )
    from graphveil.linear.pairs import LearnedMatrix as LearnedMatrix, PairPattern as PairPattern
    from graphveil.linear.polynomial import Polynomial as Polynomial
    from graphveil.linear.propagation import (
        gcn_matrix as gcn_matrix,
        mean_matrix as mean_matrix,
        pagerank_matrix as pagerank_matrix,
        scaled_matrix as scaled_matrix,
        sum_matrix as sum_matrix,
    )
    from graphveil.linear.push import Push as Push
    from graphveil.linear.polynomial import HopSeries as HopSeries
    from graphveil.linear.sparse import SparseMatrix as SparseMatrix
    from graphveil.linear.walks import walk_distances as walk_distances
    from graphveil.linear.wide_products import weighted_products as weighted_products
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
