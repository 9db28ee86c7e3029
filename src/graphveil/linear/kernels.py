"""Compiled loops: products of sparse matrices with narrow dense ones, dropout, weighted products of long rows, and backward push.

Backward push is personalized PageRank of a few entries, without touching those that hardly change:

    Z = Σ_{l≥0} α(1-α)^l P^l X,   P = D^(r-1) A D^-r

Since D^-r P D^r = D^-1 A, the series for Q = D^-r Z has D^-1 A and starts from the residue R = D^-r X. A user v whose
residue is above a threshold adds αR(v) to Q(v) and gives (1-α)R(v)/deg(u) to every neighbour u (Andersen et al. 2007; LDP-GE's
Algorithm 3 divides by deg(v) there, which sums up another series). What is left when nobody is above the threshold is
missing in Q: Σ_l α(1-α)^l (D^-1 A)^l R, a weighted mean of residues, so |Q - Q̂| ≤ r_max everywhere. Each push takes more than
α·deg(v)·r_max off Σ_v deg(v)|R(v)|, so a column visits at most Σ_v deg(v)|R_0(v)| / (α·r_max) edges.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numba
import numpy as np
import torch
from llvmlite import ir
from numba.extending import intrinsic
from numpy.typing import NDArray

from graphveil.graphs.graph import Graph
from graphveil.linear.sparse import Columns

# --- Sparse times dense ---

# Columns that are summed up at once: as many as fit into the vector registers of every usual processor.
WIDEST = 32
INT32, INT64 = ir.IntType(32), ir.IntType(64)


def sparse_product(
    matrix: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    dense: NDArray[Any],
    out: NDArray[Any],
    added: NDArray[Any] | None = None,
    weight: float = 1.0,
    scale: float = 0.0,
) -> None:
    """Set out ← weight·(matrix @ dense) + scale·added.

    Each row is summed up by itself, so the result does not depend on what other rows there are.

    Parameters
    ----------
    matrix
        Pointers, columns and values of a CSR matrix (n x m).
    dense
        The factor: (m, k), its rows one after the other.
    out
        The result: (n, k), like that.
    added
        What is added (n, k), if anything; it may be ``out``.
    """
    columns = dense.shape[1]
    others = out if added is None else added
    factors = dense.dtype.type(weight), dense.dtype.type(scale)
    for first in range(0, columns, WIDEST):
        multiply = _rows_of(min(WIDEST, columns - first), int(added is not None))
        multiply(*matrix, dense.ravel(), first, columns, out.ravel(), others.ravel(), *factors)


@lru_cache
def _rows_of(width: int, combined: int) -> Callable[..., None]:
    """The loop over rows for so many columns, compiled when it is first called."""

    @numba.njit(cache=True, nogil=True)
    def multiply(
        indptr: Any,
        indices: Any,
        values: Any,
        dense: Any,
        first: int,
        columns: int,
        out: Any,
        added: Any,
        weight: Any,
        scale: Any,
    ) -> None:
        for row in range(len(indptr) - 1):
            begin, end, at = np.int64(indptr[row]), np.int64(indptr[row + 1]), row * columns + first
            _sum_row(  # type: ignore[call-arg]
                indices,
                values,
                begin,
                end,
                dense,
                first,
                columns,
                out,
                added,
                at,
                weight,
                scale,
                width,
                combined,
            )

    compiled: Callable[..., None] = multiply
    return compiled


@intrinsic(prefer_literal=True)
def _sum_row(
    typing: Any,
    indices: Any,
    values: Any,
    begin: Any,
    end: Any,
    dense: Any,
    first: Any,
    columns: Any,
    out: Any,
    added: Any,
    at: Any,
    weight: Any,
    scale: Any,
    width: Any,
    combined: Any,
) -> Any:
    """One row of the product, ``width`` of its columns, which stay in vector registers until they are written.

    In Python, with r = indices[p] · columns + first and p from begin to before end:

        total = Σ_p values[p] · dense[r : r + width]
        out[at : at + width] = weight · total + scale · added[at : at + width] if combined else total

    A compiler that is left to itself writes the sum to memory after each entry.
    """
    given = indices, values, begin, end, dense, first, columns, out, added, at, weight, scale, width, combined
    lanes, combines = width.literal_value, combined.literal_value
    number = ir.DoubleType() if dense.dtype == numba.float64 else ir.FloatType()
    vector = ir.VectorType(number, lanes)
    nobody = ir.Constant(vector, ir.Undefined)
    fused = ("contract",)

    def build(context: Any, builder: Any, signature: Any, words: Any) -> Any:
        def data(place: int) -> Any:
            return context.make_array(signature.args[place])(context, builder, words[place]).data

        places, factors, rows, target, others = (data(place) for place in (0, 1, 4, 7, 8))
        first_entry, after_last, offset, stride, start = (words[place] for place in (2, 3, 5, 6, 9))

        def read(source: Any, at: Any) -> Any:
            begins = builder.bitcast(builder.gep(source, [at]), vector.as_pointer())
            return builder.load(begins, align=number.get_abi_size(context.target_data))

        def everywhere(value: Any) -> Any:
            one = builder.insert_element(nobody, value, INT32(0))
            return builder.shuffle_vector(one, nobody, ir.Constant(ir.VectorType(INT32, lanes), [0] * lanes))

        def with_entry(total: Any, entry: Any) -> Any:
            column = builder.load(builder.gep(places, [entry]))
            if column.type != INT64:
                column = builder.zext(column, INT64)
            row = read(rows, builder.add(builder.mul(column, stride), offset))
            factor = everywhere(builder.load(builder.gep(factors, [entry])))
            return builder.fadd(total, builder.fmul(row, factor, flags=fused), flags=fused)

        # Two entries at a time, each with a sum of its own: the second need not wait for the first.
        before = builder.block
        loop, both, left, one, done = (
            builder.append_basic_block(name) for name in ("loop", "both", "left", "one", "done")
        )
        builder.branch(loop)
        builder.position_at_end(loop)
        entry, even, odd = builder.phi(INT64), builder.phi(vector), builder.phi(vector)
        entry.add_incoming(first_entry, before)
        for total in (even, odd):
            total.add_incoming(ir.Constant(vector, [0.0] * lanes), before)
        following = builder.add(entry, INT64(1))
        builder.cbranch(builder.icmp_signed("<", following, after_last), both, left)
        builder.position_at_end(both)
        even.add_incoming(with_entry(even, entry), both)
        odd.add_incoming(with_entry(odd, following), both)
        entry.add_incoming(builder.add(entry, INT64(2)), both)
        builder.branch(loop)
        builder.position_at_end(left)
        paired = builder.fadd(even, odd)
        builder.cbranch(builder.icmp_signed("<", entry, after_last), one, done)
        builder.position_at_end(one)
        alone = with_entry(paired, entry)
        builder.branch(done)
        builder.position_at_end(done)
        total = builder.phi(vector)
        total.add_incoming(paired, left)
        total.add_incoming(alone, one)
        if combines:
            mine, theirs = everywhere(words[10]), everywhere(words[11])
            total = builder.fadd(builder.fmul(total, mine), builder.fmul(read(others, start), theirs))
        ends = builder.bitcast(builder.gep(target, [start]), vector.as_pointer())
        builder.store(total, ends, align=number.get_abi_size(context.target_data))
        return context.get_dummy_value()

    return numba.void(*given), build


# --- Dropout ---

# A value takes 16 random bits, so four of them share a word; the share is rounded to a multiple of 2^-16.
VALUES_A_WORD, LEVELS = 4, 1 << 16


@numba.njit(cache=True, nogil=True)
def drop(values: Any, numbers: Any, key: Any, level: Any, out: Any) -> None:
    """Write each value, scaled up, with the chance 1 - level/2^16, and else 0.

    What is drawn for a row depends on the key and its number alone, so it need not be kept, and is the same wherever the row is.
    Words are those of SplitMix64 (Steele et al. 2014).

    Parameters
    ----------
    values, out
        (n, k) each.
    numbers
        The number of each row; where it is empty, rows are counted.
    key
        A random word.
    """
    columns = values.shape[1]
    words = (columns + VALUES_A_WORD - 1) // VALUES_A_WORD
    factor = values.dtype.type(LEVELS / (LEVELS - level))
    for row in range(len(values)):
        number = row if len(numbers) == 0 else numbers[row]
        for word in range(words):
            bits = key + np.uint64(number * words + word + 1) * np.uint64(0x9E3779B97F4A7C15)
            bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            bits = bits ^ (bits >> np.uint64(31))
            for column in range(VALUES_A_WORD * word, min(VALUES_A_WORD * (word + 1), columns)):
                kept = np.int64(bits & np.uint64(0xFFFF)) >= level
                out[row, column] = values[row, column] * factor if kept else values.dtype.type(0)
                bits = bits >> np.uint64(16)


# --- Backward push ---

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
