"""From densities to tables of counts: the two ways in which a family's table is made.

``window_table`` is for densities with two levels, high in a window that moves with the input, low elsewhere. It works
in integers from the start: the low entry is chosen first and the high one is e^ε times it, rounded down, so that the
claim holds by construction. ``rounded_table`` takes any probabilities and rounds them; its caller checks the claim.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.channel import Channel, FiniteChannel, Values, verified
from graphveil.channels.exact import MARGIN, TOTAL, Claim, Counts
from graphveil.checks import check_whole
from graphveil.errors import ClaimError, InputError

# Input grids: enough points that rounding between them adds less than 0.4% to the variance of any family.
POINTS, FINE_POINTS, FINE_ABOVE = 65, 513, 4.0
# The finest grid. A table has up to two cells a point and some more, and all of them are verified and kept.
MAX_POINTS = FINE_POINTS
# Edges of cells are placed on a lattice of 2^-57 of the output range.
LATTICE_BITS = 57

P = ParamSpec("P")
C = TypeVar("C", bound=FiniteChannel)
T = TypeVar("T")


class SizedCache:
    """The values used last, with at most ``most`` numbers together; a larger value is never kept.

    What a server asks decides what a client builds: a cache that counts things would hold many large ones.

    >>> cache = SizedCache(10)
    >>> [cache.get(key, lambda: [0] * 6, len) is cache.get(key, lambda: [1] * 6, len) for key in "ab"]
    [True, True]
    >>> cache.size
    6
    """

    def __init__(self, most: int) -> None:
        self.most, self.size = most, 0
        self._held: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], T], measure: Callable[[T], int]) -> T:
        """Return the cached value of a key; make and keep it if it is missing.

        Parameters
        ----------
        make
            Computes the value. It runs outside the lock, so two threads may both compute it.
        measure
            Returns how many numbers a value holds. A value larger than ``most`` is returned but not kept.
        """
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                found: T = self._held[key][0]
                return found
        value = make()
        size = max(1, measure(value))
        with self._lock:
            if size <= self.most and key not in self._held:
                self._held[key] = value, size
                self.size += size
                while self.size > self.most:
                    self.size -= self._held.popitem(last=False)[1][1]
        return value

    def clear(self) -> None:
        """Remove everything."""
        with self._lock:
            self._held.clear()
            self.size = 0


# Channels that are kept for the next time they are asked for: so many entries of tables, which take up to 32 bytes each.
_channels = SizedCache(1 << 21)


def family(constructor: Callable[P, C]) -> Callable[P, C]:
    """Mark a constructor of channels: what it builds is verified exactly, and cached for the process."""

    def built(*args: P.args, **kwargs: P.kwargs) -> C:
        return verified(constructor(*args, **kwargs))

    @wraps(constructor)
    def checked(*args: P.args, **kwargs: P.kwargs) -> C:
        given = (*args, *sorted(kwargs.items()))
        # What cannot be a key cannot be a setting either: the constructor says why.
        if not all(isinstance(each, Hashable) for each in (*args, *kwargs.values())):
            return built(*args, **kwargs)
        # By type as well: True equals 1 but is no ε.
        key = (constructor, given, tuple(type(each) for each in (*args, *kwargs.values())))
        return _channels.get(key, lambda: built(*args, **kwargs), table_size)

    return checked


def table_size(channel: FiniteChannel) -> int:
    """Return the number of numbers that a channel holds."""
    return channel.table.size if isinstance(channel, Channel) else channel.output_count


def input_grid(epsilon: float, points: int | None) -> Values:
    """The input symbols on [-1, 1]: as many as asked for, or as the ε needs."""
    if points is None:
        points = POINTS if epsilon <= FINE_ABOVE else FINE_POINTS
    return np.linspace(-1.0, 1.0, check_whole(points, "points", least=2, most=MAX_POINTS))


def window_table(
    widths: Sequence[int], first: Sequence[int], last: Sequence[int], ratio: Fraction, total: int = TOTAL
) -> Counts:
    """Return counts of a density of two heights: ``ratio`` times as high inside a window as elsewhere.

    Cell j gets b_j = ⌈κ w_j⌉ outside the window and at most ⌊ratio·b_j⌋ inside it, with κ such that a row makes up
    the total or a little more. The excess (a few counts a cell) is taken from the window, which can only bring the two
    levels closer. So a column's largest entry is at most ``ratio`` times its smallest.

    Parameters
    ----------
    widths
        w_j, the width of each cell.
    first, last
        The window of row t is the cells first[t]..last[t]-1.
    ratio
        The ratio of the two heights.
    total
        The sum of each row.
    """
    ends = np.concatenate([[0], np.cumsum(np.array(widths, dtype=object))])
    narrowest = min(int(ends[stop] - ends[start]) for start, stop in zip(first, last, strict=True))
    scale = Fraction(total) / (int(ends[-1]) + (ratio - 1) * narrowest)
    low = [-(-width * scale.numerator // scale.denominator) for width in widths]
    high = [min(count * ratio.numerator // ratio.denominator, total) for count in low]
    low_row, high_row = np.array(low, dtype=np.int64), np.array(high, dtype=np.int64)
    table: Counts = np.tile(low_row, (len(first), 1))
    for row, (start, stop) in enumerate(zip(first, last, strict=True)):
        table[row, start:stop] = high_row[start:stop]
        missing = total - int(table[row].sum())
        inside = np.zeros(len(low), dtype=bool)
        inside[start:stop] = True
        # Rounding down inside may leave a row short by less than a count a cell: that goes outside.
        _spread(table[row], np.flatnonzero(inside if missing < 0 else ~inside), missing)
    return table


def rounded_table(probabilities: NDArray[np.float64], total: int = TOTAL) -> Counts:
    """Counts in proportion to the probabilities, each row with exactly this total."""
    shares = probabilities / np.array([math.fsum(row) for row in probabilities])[:, None]
    table: Counts = np.rint(shares * float(total)).astype(np.int64)
    everywhere = np.arange(table.shape[1])
    for row in table:
        _spread(row, everywhere, total - int(row.sum()))
    return table


def _spread(row: Counts, places: NDArray[np.intp], missing: int) -> None:
    """Add (or take) ``missing`` counts at these places, in proportion to what is there, to the count."""
    present = row[places]
    if missing and not present.sum():
        raise InputError("a row of counts has nowhere to put what it lacks")
    parts = np.trunc(present * (missing / max(float(present.sum()), 1.0))).astype(np.int64)
    row[places] += parts
    rest = missing - int(parts.sum())
    if not rest:
        return
    largest = places[np.argsort(-row[places], kind="stable")]
    step = 1 if rest > 0 else -1
    whole, odd = divmod(abs(rest), len(largest))
    row[largest] += step * whole
    row[largest[:odd]] += step


def lattice(edges: NDArray[np.float64]) -> list[int]:
    """Cell edges as integers: the outermost is about 2^57 away from 0."""
    _, exponent = math.frexp(float(np.abs(edges).max()))
    return [round(Fraction(edge) * Fraction(2) ** (LATTICE_BITS - exponent)) for edge in edges.tolist()]


def calibrated(name: str, table: Counts, outputs: Values, claim: Claim) -> Channel:
    """Build an unbiased channel on [-1, 1]: outputs scaled so that the end rows have means -1 and 1.

    The input symbols in between stand for their rows' exact means. They differ from an even grid only by what cutting
    the output into cells has done to them, and rounding at random between them leaves no bias at all.

    Parameters
    ----------
    name
        The name of the family.
    table
        (inputs, outputs) counts.
    outputs
        (outputs,) float64: the decoded values before scaling.
    claim
        The claim of the channel.
    """
    draft = Channel(name, table, np.arange(len(table), dtype=np.float64), outputs, claim)
    start, stop = draft._exact_mean(0), draft._exact_mean(len(table) - 1)
    scale = 2 / (stop - start)
    offset = -1 - scale * start
    decoded = np.array([float(scale * Fraction(value) + offset) for value in outputs.tolist()])
    inputs = Channel(name, table, np.arange(len(table), dtype=np.float64), decoded, claim).means.copy()
    inputs[0], inputs[-1] = -1.0, 1.0
    return Channel(name, table, inputs, decoded, claim)


def fitted(
    build: Callable[[Fraction], Channel], claim: Claim, draft: Callable[[Fraction], Channel] | None = None
) -> Channel:
    """Return the channel that ``build`` makes from the largest ε at which the rounded table keeps the claim.

    Rounding moves ε by about 2^-50; the aim starts 2^-40 of ε below the claim and gives way by a little more
    each time.

    Parameters
    ----------
    build
        Makes the channel from an ε.
    claim
        The claim to keep.
    draft
        Makes a smaller channel that is quicker to check: where that fails already, the whole is not built.
    """
    allowance = Fraction(0)
    for attempt in range(44):
        aim = Fraction(claim.epsilon) * (1 - Fraction(MARGIN)) - allowance
        if draft is None or draft(aim).holds:
            channel = build(aim)
            if channel.holds:
                return channel
        allowance = Fraction(1, 1 << (56 - attempt))
    raise ClaimError(f"no table keeps {claim}: the constructor is wrong")
