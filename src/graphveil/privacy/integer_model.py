"""Float weights as the integers of a plan: what a server does before it asks for a class."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphveil.checks import check_whole
from graphveil.errors import InputError
from graphveil.mechanisms.classes import MAX_SHIFT, ClassModel, Integers
from graphveil.mechanisms.rows import Floats, PublicRange

# Bits of the largest weight, and of the largest score, so that offsets of the same size fit besides.
BITS, SCORE_BITS = 16, 50
# Points of the grid; one more where 0 is the middle of the range, so that it is one of them.
LEVELS = 256
# How far from a point of the grid 0 may be, in steps, where rows are divided by their length.
OFF_GRID = 1e-9


def integer_model(
    weights: Any,
    bias: Any,
    range: Any,
    *,
    first: Any = None,
    first_bias: Any = None,
    unit: bool = False,
    levels: int | None = None,
    bits: int = BITS,
) -> tuple[ClassModel, float]:
    """Return a model of floats as integers, and its scale; scores are ``weights``·x + ``bias`` for a row x.

    Scores of the integer model are those of the floats times the scale (and the row's length, where
    ``unit``), up to rounding: an offset of log q becomes round(scale·log q).

    Parameters
    ----------
    weights, bias
        The layer that gives the scores.
    range
        The public range (low, high) of values.
    first, first_bias
        A hidden layer: x is then max(0, first·x + first_bias).
    unit
        Whether a row is divided by its length before.
    levels
        The number of points that values are put on.
    bits
        The number of bits of the largest weight.

    Examples
    --------
    >>> model, scale = integer_model([[1.0, 0.0], [0.0, 0.5]], [0.0, 0.1], range=(0, 1), bits=8)
    >>> model.weights.tolist(), model.bias.tolist(), scale
    ([[255, 0], [0, 128]], [0, 6502], 65025.0)
    """
    bits = check_whole(bits, "bits", least=2, most=30)
    grid = _Grid.of(PublicRange.of(range), levels, unit)
    if first is None:
        whole, own, scale = grid.layer(weights, bias, bits)
        return ClassModel(whole, own, levels=grid.levels, zero=grid.zero, unit=unit), scale
    whole, own, scale = grid.layer(first, first_bias, bits)
    outer, last = _layer(weights, bias)
    if outer.shape[1] != whole.shape[0]:
        raise InputError(f"{whole.shape[0]} hidden units do not fit weights that take {outer.shape[1]}")
    reached = np.abs(whole.floats) @ grid.tops(whole.shape[1]) + np.abs(own.floats) * grid.longest(
        whole.shape[1]
    )
    outer_scale = _scale(outer, bits)
    # The least shift of hidden sums with which scores have SCORE_BITS bits.
    largest = (
        outer_scale * (np.abs(outer) @ reached + scale * np.abs(last) * grid.longest(whole.shape[1])).max()
    )
    shift = min(max(0, math.ceil(math.log2(max(largest, 1.0))) - SCORE_BITS), MAX_SHIFT)
    total = scale * outer_scale / 2.0**shift
    second, behind = _rounded(outer, outer_scale), _rounded(last, total)
    return ClassModel(second, behind, whole, own, shift, grid.levels, grid.zero, unit), total


@dataclass(frozen=True)
class _Grid:
    """The points that values are put on: value = step·v + rest, where v is the integer."""

    levels: int
    zero: int
    step: float
    rest: float
    unit: bool

    @classmethod
    def of(cls, public: PublicRange, levels: int | None, unit: bool) -> _Grid:
        """Return the points of a range.

        Parameters
        ----------
        public
            The public range.
        levels
            The number of points; None for the default.
        unit
            Whether rows are divided by their length, so that 0 must be a point.
        """
        if levels is None:
            levels = LEVELS + (public.low == -public.high)
        levels = check_whole(levels, "levels", least=2)
        step = (public.high - public.low) / (levels - 1)
        zero = min(max(round(-public.low / step), 0), levels - 1)
        # What the point that counts as 0 stands for: 0, unless it lies between two points or outside the range.
        rest = public.low + zero * step
        if unit and abs(rest) > OFF_GRID * step:
            raise InputError(
                f"rows are divided by their length, so 0 must be one of the {levels} points of the range "
                f"({public.low:g}, {public.high:g}): choose other levels or another range"
            )
        return cls(levels, zero, step, rest, unit)

    def layer(self, weights: Any, bias: Any, bits: int) -> tuple[Integers, Integers, float]:
        """Return a layer that takes values as one that takes the integers, and its scale.

        Parameters
        ----------
        weights
            (outputs, inputs) float64.
        bias
            (outputs,) float64.
        bits
            The number of bits of the largest weight.
        """
        matrix, added = _layer(weights, bias)
        if not self.unit:
            # A row that is divided by its length is the same on every scale.
            added = added + self.rest * matrix.sum(axis=1)
            matrix = matrix * self.step
        dims = matrix.shape[1]
        largest = float((np.abs(matrix) @ self.tops(dims) + np.abs(added) * self.longest(dims)).max())
        scale = min(_scale(matrix, bits), 2.0**SCORE_BITS / max(largest, 1e-300))
        return _rounded(matrix, scale), _rounded(added, scale), scale

    def tops(self, dims: int) -> Floats:
        """The largest magnitude of each integer of a row."""
        return np.full(dims, float(max(self.zero, self.levels - 1 - self.zero)))

    def longest(self, dims: int) -> float:
        """The most that biases are multiplied by."""
        return math.sqrt(float((self.tops(dims) ** 2).sum())) if self.unit else 1.0


def _layer(weights: Any, bias: Any) -> tuple[Floats, Floats]:
    matrix, added = (np.asarray(numbers, dtype=np.float64) for numbers in (weights, bias))
    if matrix.ndim != 2 or added.shape != matrix.shape[:1] or not matrix.size:
        raise InputError(
            f"weights must be outputs x inputs and biases one an output, got the shapes {matrix.shape} and {added.shape}"
        )
    if not (np.isfinite(matrix).all() and np.isfinite(added).all()):
        raise InputError("weights and biases must be finite numbers")
    return matrix, added


def _scale(matrix: Floats, bits: int) -> float:
    """Return the factor that gives the largest weight ``bits`` bits; where all are 0, the factor for 1."""
    largest = float(np.abs(matrix).max()) or 1.0
    return float(2**bits - 1) / largest


def _rounded(numbers: Floats, scale: float) -> Integers:
    return Integers.of(np.rint(numbers * scale).astype(np.int64), "weights", numbers.ndim)
