"""From values to input symbols, and which dimensions a user is asked for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.channel import Values
from graphveil.channels.words import Words

# Dimensions of a block of users are ticked off on a board of at most this many fields.
BOARD = 1 << 22
# Up to so many, a new dimension is compared with those chosen before it, which is faster than a board.
FEW = 64


def round_at_random(values: Values, inputs: Values, words: Words) -> NDArray[np.int64]:
    """Each value as one of its two neighbouring symbols, at random so that the mean is kept.

    Always one word a value, whatever the value is.
    """
    last = len(inputs) - 1
    low, step = inputs[0], (inputs[-1] - inputs[0]) / last
    if last == 1:
        cell = np.zeros(values.shape, dtype=np.int64)
    elif np.abs(inputs - np.linspace(inputs[0], inputs[-1], last + 1)).max() < step / 2:
        # A nearly even grid: guess the cell, then step to the right one.
        cell = np.clip(((values - low) / step).astype(np.int64), 0, last - 1)
        cell -= values < inputs[cell]
        np.maximum(cell, 0, out=cell)
        cell += values >= inputs[cell + 1]
    else:
        cell = np.searchsorted(inputs, values, side="right") - 1
    cell = np.clip(cell, 0, last - 1)
    share = (values - inputs[cell]) / (inputs[cell + 1] - inputs[cell])
    chance = (words.take(values.size) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    symbols: NDArray[np.int64] = cell + (chance < share.ravel()).reshape(values.shape)
    return symbols


def binary_symbols(values: Values) -> NDArray[np.int64]:
    """Values that count as -1 or 1, by their sign, as symbols 0 and 1; 0 counts as -1."""
    return (values > 0).astype(np.int64)


def upper_bins(values: Values, bins: int) -> NDArray[np.int64]:
    """The bin of each value of [-1, 1], of equal width, each with its upper edge (HeteroRR, Algorithm 1)."""
    return np.clip(np.ceil((values + 1) / 2 * bins).astype(np.int64) - 1, 0, bins - 1)


def choose_dimensions(users: int, dimensions: int, count: int, words: Words) -> NDArray[np.int32]:
    """For every user ``count`` of the dimensions, all subsets equally likely, in ascending order (users x count).

    Floyd's algorithm, for all users of a block at once: for j = d-m..d-1 draw t from 0..j and take t, or j if t has
    been taken. What is chosen depends on random words alone.
    """
    chosen = np.empty((users, count), dtype=np.int32)
    few = count <= FEW
    block = max(1, BOARD // (count if few else dimensions))
    for start in range(0, users, block):
        size = min(block, users - start)
        picks = np.empty((count, size), dtype=np.int32)
        board = np.zeros((0 if few else size, dimensions), dtype=bool)
        everyone = np.arange(size)
        for step, bound in enumerate(range(dimensions - count, dimensions)):
            drawn = words.below(bound + 1, size).astype(np.int32)
            taken = (picks[:step] == drawn).any(axis=0) if few else board[everyone, drawn]
            drawn[taken] = bound
            picks[step] = drawn
            if not few:
                board[everyone, drawn] = True
        chosen[start : start + size] = picks.T
    chosen.sort(axis=1)
    return chosen


def choose_some(counts: NDArray[np.int64], size: int, words: Words) -> NDArray[np.bool_]:
    """For every user so many of ``size`` places as ``counts`` says, all choices equally likely (users x size).

    The places are shuffled (Fisher and Yates) and the first taken; the words used do not depend on the counts.
    """
    users = np.arange(len(counts))
    order = np.tile(np.arange(size), (len(counts), 1))
    for step in range(size - 1):
        other = step + words.below(size - step, len(counts))
        order[users, step], order[users, other] = order[users, other], order[users, step]
    chosen = np.zeros((len(counts), size), dtype=bool)
    chosen[users[:, None], order] = np.arange(size) < counts[:, None]
    return chosen
