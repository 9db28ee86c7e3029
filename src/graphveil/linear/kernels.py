"""Compiled loops: weighted products of long rows, and backward push.

Backward push is personalized PageRank of a few entries, without touching those that hardly change:

    Z = Σ_{l≥0} α(1-α)^l P^l X,   P = D^(r-1) A D^-r

Since D^-r P D^r = D^-1 A, the series for Q = D^-r Z has D^-1 A and starts from the residue R = D^-r X. A user v whose
residue is above a threshold adds αR(v) to Q(v) and gives (1-α)R(v)/deg(u) to every neighbour u (Andersen et al. 2007; LDP-GE's
Algorithm 3 divides by deg(v) there, which sums up another series). What is left when nobody is above the threshold is
missing in Q: Σ_l α(1-α)^l (D^-1 A)^l R, a weighted mean of residues, so |Q - Q̂| ≤ r_max everywhere. Each push takes more than
α·deg(v)·r_max off Σ_v deg(v)|R(v)|, so a column visits at most Σ_v deg(v)|R_0(v)| / (α·r_max) edges.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numba
import numpy as np
import torch
from numpy.typing import NDArray

from graphveil.graphs.graph import Graph
from graphveil.linear.sparse import Columns

QUEUED, TOUCHED = 1, 2


class Push:
    """Backward push along the edges of a graph: ``push(columns)`` gives Ẑ with |Z - Ẑ| ≤ deg^r · r_max.

    ``columns`` are k columns of X, n users long, and k columns of Ẑ come out. ``alpha`` is the chance that a walk stops, in
    (0, 1), ``r`` says how much degrees count, in [0, 1].

    A user without neighbours keeps their row, exactly. Residues are in double precision. Columns are shared out among
    ``threads`` (as many as torch uses); each is pushed alone and in order, so the result does not depend on how many.
    """

    def __init__(
        self, graph: Graph, alpha: float, r: float, r_max: float, *, threads: int | None = None
    ) -> None:
        degree = np.maximum(graph.degrees, 1).astype(np.float64)
        self.indptr, self.indices = graph.indptr, graph.indices
        self.inverse, self.scale = 1 / degree, degree**r
        self.alpha, self.r_max = float(alpha), float(r_max)
        self.threads = torch.get_num_threads() if threads is None else threads

    def __call__(self, columns: Columns) -> Columns:
        count = len(columns.pointers) - 1
        shares = np.linspace(0, count, min(self.threads, max(count, 1)) + 1).astype(np.int64)
        if len(shares) == 2:
            parts = [self._part(columns, 0, count)]
        else:
            with ThreadPoolExecutor(len(shares) - 1) as pool:
                parts = list(pool.map(lambda ends: self._part(columns, *ends), pairwise(shares)))
        counts, owners, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return Columns(np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)]), owners, values)

    def _part(self, columns: Columns, first: int, last: int) -> Any:
        graph = self.indptr, self.indices, self.inverse, self.scale
        return _push(graph, tuple(columns), (first, last), self.alpha, self.r_max)


@numba.njit(cache=True, nogil=True)
def _push(graph: Any, columns: Any, span: tuple[int, int], alpha: float, r_max: float) -> Any:
    """Push the columns from ``first`` to before ``last``: how many entries each has left, whose they are, and their values."""
    (indptr, indices, inverse, scale), (pointers, owners, values), (first, last) = graph, columns, span
    nodes = len(indptr) - 1
    residue, total = np.zeros(nodes), np.zeros(nodes)
    state = np.zeros(nodes, dtype=np.uint8)
    queue, touched = np.empty(nodes, dtype=np.int32), np.empty(nodes, dtype=np.int32)
    counts = np.zeros(last - first, dtype=np.int64)
    users = np.empty(1024, dtype=np.int32)
    masses = np.empty(1024)
    used = 0
    for column in range(first, last):
        head, waiting, reached = 0, 0, 0
        for place in range(pointers[column], pointers[column + 1]):
            user = owners[place]
            touched[reached] = user
            reached += 1
            state[user] = TOUCHED
            start = values[place] / scale[user]
            if indptr[user] == indptr[user + 1]:
                total[user] = start
            else:
                residue[user] = start
                if abs(start) > r_max:
                    state[user] |= QUEUED
                    queue[waiting] = user
                    waiting += 1
        # First in, first out; the queue is a ring, in which nobody stands twice.
        while waiting:
            user = queue[head]
            head = head + 1 if head + 1 < nodes else 0
            waiting -= 1
            state[user] = TOUCHED
            mass = residue[user]
            # What came in since may have cancelled what was there.
            if abs(mass) <= r_max:
                continue
            residue[user] = 0.0
            total[user] += alpha * mass
            passed = (1 - alpha) * mass
            for place in range(indptr[user], indptr[user + 1]):
                other = indices[place]
                # The receiver's degree.
                here = residue[other] + passed * inverse[other]
                residue[other] = here
                if state[other] == 0:
                    touched[reached] = other
                    reached += 1
                    state[other] = TOUCHED
                if abs(here) > r_max and not state[other] & QUEUED:
                    state[other] |= QUEUED
                    tail = head + waiting
                    queue[tail if tail < nodes else tail - nodes] = other
                    waiting += 1
        if used + reached > len(users):
            room = max(2 * len(users), used + reached)
            more_users, more_masses = np.empty(room, dtype=np.int32), np.empty(room)
            more_users[:used], more_masses[:used] = users[:used], masses[:used]
            users, masses = more_users, more_masses
        before = used
        # Rising users: by a look at everybody where many were reached, else by sorting.
        if 16 * reached > nodes:
            reached = 0
            for user in range(nodes):
                if state[user]:
                    touched[reached] = user
                    reached += 1
        else:
            touched[:reached].sort()
        for place in range(reached):
            user = touched[place]
            if total[user] != 0.0:
                users[used], masses[used] = user, total[user] * scale[user]
                used += 1
            residue[user], total[user], state[user] = 0.0, 0.0, 0
        counts[column - first] = used - before
    return counts, users[:used].copy(), masses[:used].copy()


def weighted_products(
    rows: NDArray[np.float32], pairs: NDArray[np.int64], weights: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return Σ_j w_j H_uj H_vj for every pair (u, v): (m,) float32.

    Parameters
    ----------
    rows
        H: (n, k) float32.
    pairs
        The pairs (u, v): (m, 2) int64.
    weights
        w: (k,) float32.

    >>> rows = np.array([[1, 2], [3, 4]], dtype=np.float32)
    >>> weighted_products(rows, np.array([[0, 1]]), np.array([1, 10], dtype=np.float32)).tolist()
    [83.0]
    """
    out = np.empty(len(pairs), dtype=np.float32)
    _products(rows, np.ascontiguousarray(pairs), weights, out)
    return out


def weights_gradient(
    rows: NDArray[np.float32], pairs: NDArray[np.int64], slopes: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return Σ over pairs of slope · H_u ∘ H_v, the gradient of a sum over pairs by the weights: k numbers.

    Parameters
    ----------
    rows
        H: (n, k) float32.
    pairs
        The pairs (u, v): (m, 2) int64.
    slopes
        The derivative of the sum by each pair's product: (m,) float32.
    """
    out = np.zeros(rows.shape[1], dtype=np.float32)
    _gradient(rows, np.ascontiguousarray(pairs), slopes, out)
    return out


@numba.njit(fastmath=True, cache=True)
def _products(rows: Any, pairs: Any, weights: Any, out: Any) -> None:
    for place in range(len(pairs)):
        first, second = rows[pairs[place, 0]], rows[pairs[place, 1]]
        total = np.float32(0)
        for column in range(len(weights)):
            total += weights[column] * first[column] * second[column]
        out[place] = total


@numba.njit(fastmath=True, cache=True)
def _gradient(rows: Any, pairs: Any, slopes: Any, out: Any) -> None:
    for place in range(len(pairs)):
        first, second, slope = rows[pairs[place, 0]], rows[pairs[place, 1]], slopes[place]
        for column in range(len(out)):
            out[column] += slope * first[column] * second[column]
