"""Sparse matrices, polynomials of them, and the matrices by which messages pass along edges."""

from graphveil.linear.composition import Composition
from graphveil.linear.polynomial import Polynomial
from graphveil.linear.propagation import gcn_matrix, mean_matrix, sum_matrix
from graphveil.linear.sparse import SparseMatrix

__all__ = ["Composition", "Polynomial", "SparseMatrix", "gcn_matrix", "mean_matrix", "sum_matrix"]
