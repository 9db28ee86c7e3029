"""Compiled loops that training spends its time in: products of sparse matrices with narrow dense ones, and dropout."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic
from numpy.typing import NDArray

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

# A value takes 16 random bits, so four of them share a word.
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
