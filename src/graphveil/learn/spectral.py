"""Spectral embeddings: users as rows whose inner products come near the normalised links."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from graphveil.graphs.graph import Graph
from graphveil.learn.link_scores import PAIRS_AT_ONCE, Pairs, Scores, normalised_links

# τ in mean degrees: without it the directions are spent on small parts of the graph that hang together loosely.
TAU = 0.3
# How often the basis is made orthogonal, and how often it is multiplied in between.
ROUNDS, STEPS = 8, 4


@dataclass(frozen=True, eq=False)
class Spectrum:
    """V and λ with S ≈ V diag(λ) Vᵀ, the largest |λ| first: a truncated SVD of a symmetric matrix.

    ``rows`` is V, n users x k directions, ``values`` are the k numbers λ. Pairs are m x 2, their scores m numbers.
    """

    rows: NDArray[np.float32]
    values: NDArray[np.float32]

    def products(self, pairs: Pairs, rank: int, at_once: int = PAIRS_AT_ONCE) -> Scores:
        """Σ_j λ_j V_uj V_vj over the first directions."""
        scores = np.zeros(len(pairs))
        for start in range(0, len(pairs), at_once):
            part = pairs[start : start + at_once]
            both = self.rows[part[:, 0], :rank] * self.rows[part[:, 1], :rank]
            scores[start : start + at_once] = (both * self.values[:rank]).sum(axis=1)
        return scores

    def cosines(self, pairs: Pairs, rank: int) -> Scores:
        """The same divided by the lengths √(Σ_j |λ_j| V_uj²): 0 for users without links."""
        lengths = np.sqrt((self.rows[:, :rank] ** 2 * np.abs(self.values[:rank])).sum(axis=1))
        lengths = np.where(lengths > 0, lengths, 1.0)
        cosines: Scores = self.products(pairs, rank) / (lengths[pairs[:, 0]] * lengths[pairs[:, 1]])
        return cosines

    def embedding(self, rank: int) -> NDArray[np.float32]:
        """V diag(|λ|^½): a row a user, n x rank."""
        rows: NDArray[np.float32] = self.rows[:, :rank] * np.sqrt(np.abs(self.values[:rank]))
        return rows


def spectrum(graph: Graph, rank: int) -> Spectrum:
    """The largest eigenvalues of S = (D + τ)^-1/2 A (D + τ)^-1/2 and their vectors (τ: Qin and Rohe 2013).

    ``rank`` is how many, at most n. By subspace iteration from a fixed start, so that the result is the same each time
    (Halko et al. 2011). It takes graphs with many equal eigenvalues or few links, where Lanczos iterations are slow or
    fail.
    """
    # On one thread: more of them add up in another order.
    with threadpool_limits(1):
        return _spectrum(graph, min(rank, graph.node_count))


def _spectrum(graph: Graph, rank: int) -> Spectrum:
    users = graph.node_count
    matrix = normalised_links(graph, TAU * float(graph.degrees.mean()))
    width = min(rank + rank // 4 + 4, users)
    basis = np.random.default_rng(0).standard_normal((users, width)).astype(np.float32)
    # Users without links have no part in it.
    basis[graph.degrees == 0] = 0
    for _ in range(ROUNDS):
        for _ in range(STEPS):
            basis = matrix @ basis
        basis = np.linalg.qr(basis)[0]
    values, turn = np.linalg.eigh(basis.T @ (matrix @ basis))
    order = np.argsort(-np.abs(values), kind="stable")[:rank]
    return Spectrum(np.ascontiguousarray(basis @ turn[:, order]), values[order])
