"""Sparse matrices, polynomials of them, and the matrices by which messages pass along edges."""

from graphveil.linear.chebyshev import Chebyshev
from graphveil.linear.composition import Composition
from graphveil.linear.polynomial import Polynomial
from graphveil.linear.propagation import gcn_matrix, mean_matrix, pagerank_matrix, sum_matrix
from graphveil.linear.series import Series
from graphveil.linear.sparse import SparseMatrix

__all__ = [
    "Chebyshev",
    "Composition",
    "Polynomial",
    "Series",
    "SparseMatrix",
    "gcn_matrix",
    "mean_matrix",
    "pagerank_matrix",
    "sum_matrix",
]
