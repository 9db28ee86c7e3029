"""Sparse matrices, polynomials of them, and the matrices by which messages pass along edges.

A module is loaded when one of its names is first used.
"""

from typing import TYPE_CHECKING

from graphveil.lazy import load_later

if TYPE_CHECKING:
    from graphveil.linear.chebyshev import Chebyshev
    from graphveil.linear.composition import Composition, Input, Scaled, scaled
    from graphveil.linear.pairs import LearnedMatrix, PairPattern
    from graphveil.linear.polynomial import Polynomial
    from graphveil.linear.propagation import (
        gcn_matrix,
        mean_matrix,
        pagerank_matrix,
        scaled_matrix,
        sum_matrix,
    )
    from graphveil.linear.push import Push
    from graphveil.linear.series import Series
    from graphveil.linear.sight import other_ends
    from graphveil.linear.sparse import SparseMatrix
    from graphveil.linear.walks import walk_distances
    from graphveil.linear.wide_products import weighted_products
else:
    __getattr__, __dir__ = load_later(
        __name__,
        {
            "chebyshev": ("Chebyshev",),
            "composition": ("Composition", "Input", "Scaled", "scaled"),
            "pairs": ("LearnedMatrix", "PairPattern"),
            "polynomial": ("Polynomial",),
            "propagation": ("gcn_matrix", "mean_matrix", "pagerank_matrix", "scaled_matrix", "sum_matrix"),
            "push": ("Push",),
            "series": ("Series",),
            "sight": ("other_ends",),
            "sparse": ("SparseMatrix",),
            "walks": ("walk_distances",),
            "wide_products": ("weighted_products",),
        },
    )

__all__ = [
    "Chebyshev",
    "Composition",
    "Input",
    "LearnedMatrix",
    "PairPattern",
    "Polynomial",
    "Push",
    "Scaled",
    "Series",
    "SparseMatrix",
    "gcn_matrix",
    "mean_matrix",
    "other_ends",
    "pagerank_matrix",
    "scaled",
    "scaled_matrix",
    "sum_matrix",
    "walk_distances",
    "weighted_products",
]
