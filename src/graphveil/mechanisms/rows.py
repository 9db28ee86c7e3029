"""The private rows as a client holds them, and the symbols that their values are encoded to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.channel import Values
from graphveil.channels.sampling import RandomBits
from graphveil.checks import check_number, is_number
from graphveil.errors import InputError

# Dimensions of a block of users are ticked off on a board of at most this many fields.
BOARD = 1 << 22
# Up to so many, a new dimension is compared with those chosen before it, which is faster than a board.
FEW = 64


def round_at_random(values: Values, inputs: Values, random_bits: RandomBits) -> NDArray[np.int64]:
    """Round each value to one of its two neighbouring symbols, at random so that the mean is kept.

    It always takes one word per value, whatever the value is.

    Parameters
    ----------
    values
        float64, of any shape.
    inputs
        (symbols,) float64: the values that symbols stand for, ascending.
    random_bits
        The source of random words.
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
    chance = (random_bits.take(values.size) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    symbols: NDArray[np.int64] = cell + (chance < share.ravel()).reshape(values.shape)
    return symbols


def binary_symbols(values: Values) -> NDArray[np.int64]:
    """Return symbols 0 and 1 for values that count as -1 or 1, by their sign; 0 counts as -1."""
    return (values > 0).astype(np.int64)


def upper_bins(values: Values, bins: int) -> NDArray[np.int64]:
    """Return the bin of each value of [-1, 1].

    Bins have equal width and include their upper edge (HeteroRR, Algorithm 1).
    """
    return np.clip(np.ceil((values + 1) / 2 * bins).astype(np.int64) - 1, 0, bins - 1)


def choose_dimensions(users: int, dimensions: int, count: int, random_bits: RandomBits) -> NDArray[np.int32]:
    """Choose ``count`` dimensions for every user, all subsets equally likely: (users, count), ascending.

    Floyd's algorithm, for all users of a block at once: for j = d-m..d-1 draw t from 0..j and take t, or j if t has
    been taken. What is chosen depends on random words alone.

    Parameters
    ----------
    users
        The number of users.
    dimensions
        d, the number of dimensions.
    count
        m, the number of dimensions for each user.
    random_bits
        The source of random words.
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
            drawn = random_bits.below(bound + 1, size).astype(np.int32)
            taken = (picks[:step] == drawn).any(axis=0) if few else board[everyone, drawn]
            drawn[taken] = bound
            picks[step] = drawn
            if not few:
                board[everyone, drawn] = True
        chosen[start : start + size] = picks.T
    chosen.sort(axis=1)
    return chosen


def choose_some(counts: NDArray[np.int64], size: int, random_bits: RandomBits) -> NDArray[np.bool_]:
    """Choose some of ``size`` places for every user, all choices equally likely: (users, size) bool.

    The places are shuffled (Fisher and Yates) and the first taken; the words used do not depend on the counts.

    Parameters
    ----------
    counts
        (users,) int64: the number of places for each user.
    size
        The number of places to choose from.
    random_bits
        The source of random words.
    """
    users = np.arange(len(counts))
    order = np.tile(np.arange(size), (len(counts), 1))
    for step in range(size - 1):
        other = step + random_bits.below(size - step, len(counts))
        order[users, step], order[users, other] = order[users, other], order[users, step]
    chosen = np.zeros((len(counts), size), dtype=bool)
    chosen[users[:, None], order] = np.arange(size) < counts[:, None]
    return chosen


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PublicRange:
    """The range that values are known to lie in, agreed in public before anything is collected."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low < self.high):
            raise InputError(f"--range must be two finite numbers LOW < HIGH, got ({self.low}, {self.high})")
        if not (self.low < self.centre < self.high and 0 < self.half_width < np.inf):
            raise InputError(
                f"range ({self.low!r}, {self.high!r}) cannot be computed with: its ends are too close together or too "
                "large; scale or shift the values"
            )

    @classmethod
    def of(cls, pair: Any) -> PublicRange:
        """Read a range from any pair of numbers."""
        if isinstance(pair, PublicRange):
            return pair
        try:
            low, high = pair
            return cls(float(low), float(high))
        except (TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"--range must be two numbers LOW, HIGH known in public, got {pair!r}") from None

    @property
    def centre(self) -> float:
        """The middle, which is what an unasked value is estimated as."""
        return (self.low + self.high) / 2

    @property
    def half_width(self) -> float:
        """Half the width: a channel's unit."""
        return (self.high - self.low) / 2

    def to_unit(self, values: Floats) -> Floats:
        """Map values to [-1, 1], the two ends exactly.

        Those outside are clipped, and NaN becomes the middle.
        """
        with np.errstate(all="ignore"):
            unit = np.clip((values - self.centre) / self.half_width, -1.0, 1.0)
        unit[values <= self.low] = -1.0
        unit[values >= self.high] = 1.0
        unit[np.isnan(values)] = 0.0
        return unit


# A row counts as outside a ball only beyond what rounding to single precision may do to its length.
BALL_SLACK = 2.0**-20
# What infinity is computed with.
ENDLESS = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class PublicBall:
    """The ball that rows are known to lie in: ``centre`` is each coordinate of its middle; agreed in public."""

    radius: float
    centre: float = 0.0

    def __post_init__(self) -> None:
        check_number(self.radius, "radius", least=1e-100, most=1e100)
        check_number(self.centre, "centre", least=-1e100, most=1e100)

    @classmethod
    def around(cls, public: PublicRange, dimensions: int) -> PublicBall:
        """Return the smallest ball that holds all rows whose values lie in a range."""
        return cls(public.half_width * float(np.sqrt(dimensions)), public.centre)

    def polar(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return each row's distance from the centre in radii, and its direction: a unit vector.

        The centre itself has the direction (1, …, 1)/√d. Whatever the magnitudes, nothing over- or underflows: NaN counts as
        the centre, and infinity as larger than any other number.
        """
        with np.errstate(all="ignore"):
            moved = np.nan_to_num(rows - self.centre, nan=0.0, posinf=ENDLESS, neginf=-ENDLESS)
        top = np.abs(moved).max(axis=1)
        moved[top == 0] = 1.0
        moved /= np.where(top == 0, 1.0, top)[:, None]
        length = np.sqrt(np.einsum("ij,ij->i", moved, moved))
        moved /= length[:, None]
        with np.errstate(over="ignore"):
            return top / self.radius * length, moved


class Rows:
    """One row a user: values can be looked up or taken out in dense blocks, always as floats."""

    def __init__(self, data: Any, dimensions: int) -> None:
        if hasattr(data, "tocsr"):
            data = _canonical(data)
            self._sparse, self._dense = data, None
            shape = tuple(data.shape)
        else:
            self._sparse, self._dense = None, rectangle(data)
            shape = self._dense.shape
        if len(shape) != 2 or shape[1] != dimensions:
            raise InputError(f"rows must be users x {dimensions} values, got the shape {shape}")
        self.users, self.dimensions = int(shape[0]), dimensions

    def outside(self, public: PublicRange, binary: bool = False) -> NDArray[np.bool_]:
        """Return which rows hold a value that is not a number or outside the range.

        With ``binary``, values other than the ends of the range count as outside.
        """
        if self._sparse is not None:
            entries, counts = _floats(self._sparse.data), np.diff(self._sparse.indptr)
            altered = np.zeros(self.users, dtype=bool)
            altered[np.repeat(np.arange(self.users), counts)[_misfits(entries, public, binary)]] = True
            # Entries that a sparse matrix leaves out are 0.
            if _misfits(np.zeros(1), public, binary)[0]:
                altered |= counts < self.dimensions
            return altered
        altered = np.zeros(self.users, dtype=bool)
        for start, stop in self.blocks():
            altered[start:stop] = _misfits(self.dense(start, stop), public, binary).any(axis=1)
        return altered

    def outside_ball(self, ball: PublicBall) -> NDArray[np.bool_]:
        """Return which rows hold a value that is not a number, or lie outside the ball."""
        altered = np.zeros(self.users, dtype=bool)
        for start, stop in self.blocks():
            block = self.dense(start, stop)
            far = ball.polar(block)[0] > 1 + BALL_SLACK
            altered[start:stop] = far | ~np.isfinite(block).all(axis=1)
        return altered

    def blocks(self, size: int = 1 << 18) -> list[tuple[int, int]]:
        """Return ranges of users whose dense rows have about ``size`` values together."""
        step = max(1, size // max(self.dimensions, 1))
        return [(start, min(start + step, self.users)) for start in range(0, self.users, step)]

    def dense(self, start: int, stop: int) -> Floats:
        """Return the rows of these users, dense."""
        if self._dense is not None:
            return _floats(self._dense[start:stop])
        matrix = self._sparse
        first, last = int(matrix.indptr[start]), int(matrix.indptr[stop])
        block = np.zeros((stop - start, self.dimensions))
        owners = np.repeat(np.arange(stop - start), np.diff(matrix.indptr[start : stop + 1]))
        block[owners, matrix.indices[first:last]] = _floats(matrix.data[first:last])
        return block

    def take(self, dimensions: NDArray[np.int32]) -> Floats:
        """Return the values of every user at their own dimensions (users x m)."""
        users = np.arange(self.users)[:, None]
        if self._dense is not None:
            return _floats(self._dense[users, dimensions])
        matrix = self._sparse
        owners = np.repeat(np.arange(self.users, dtype=np.int64), np.diff(matrix.indptr))
        held = owners * self.dimensions + matrix.indices
        asked = (users * self.dimensions + dimensions).ravel()
        place = np.minimum(np.searchsorted(held, asked), max(len(held) - 1, 0))
        values = np.zeros(asked.size)
        if len(held):
            present = held[place] == asked
            values[present] = _floats(matrix.data[place[present]])
        return values.reshape(dimensions.shape)

    def norms(self) -> Floats:
        """Return the Euclidean length of every row, as users x 1."""
        if self._sparse is not None:
            owners = np.repeat(np.arange(self.users), np.diff(self._sparse.indptr))
            with np.errstate(all="ignore"):
                squares = _floats(self._sparse.data) ** 2
                lengths = np.sqrt(np.bincount(owners, squares, minlength=self.users))
            return lengths.reshape(-1, 1)
        lengths = np.empty((self.users, 1))
        for start, stop in self.blocks():
            with np.errstate(all="ignore"):
                lengths[start:stop, 0] = np.linalg.norm(self.dense(start, stop), axis=1)
        return lengths

    def nonzero(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return users and dimensions of all entries above 0, in order: the items of rows seen as sets."""
        if self._sparse is not None:
            owners = np.repeat(np.arange(self.users), np.diff(self._sparse.indptr))
            held = np.asarray(self._sparse.indices, dtype=np.int64)
            some = np.asarray(self._sparse.data) > 0
            return owners[some], held[some]
        owners, held = np.nonzero(np.asarray(self._dense) > 0)
        return owners.astype(np.int64), held.astype(np.int64)


def row_norms(data: Any) -> Floats:
    """Return the Euclidean length of every row of a dense array or a sparse matrix, as users x 1."""
    held = data if hasattr(data, "tocsr") else rectangle(data)
    if len(held.shape) != 2:
        raise InputError(f"rows must be users x values, got the shape {tuple(held.shape)}")
    return Rows(held, int(held.shape[1])).norms()


def rectangle(data: Any) -> NDArray[Any]:
    """Return rows as an array of numbers; no value affects how another one is read."""
    if isinstance(data, np.ndarray):
        return _numeric(data)
    try:
        lengths = {len(row) for row in _no_word(data)}
    except TypeError:
        raise InputError("rows must form a rectangle, users x values: got no list of lists") from None
    if len(lengths) > 1:
        raise InputError("rows must form a rectangle: every row needs the same number of values")
    array = np.empty((len(data), *lengths), dtype=object)
    for place, row in enumerate(data):
        _fill(array[place], row)
    return numbers_of(array)


def listed(private: Any, what: str) -> NDArray[Any]:
    """Return one number per user from a list of anything; only its shape can be refused."""
    if not isinstance(private, np.ndarray):
        try:
            array = np.empty(len(_no_word(private)), dtype=object)
        except TypeError:
            raise InputError(f"{what} must be a list, one a user, got {type(private).__name__}") from None
        _fill(array, private)
        return numbers_of(array)
    if private.ndim != 1:
        raise InputError(f"{what} must be a list, one a user, got an array of shape {private.shape}")
    return _numeric(private)


def _no_word(data: Any) -> Any:
    """Return the data, unless it is a string, which numpy and Python would both take for a list."""
    if isinstance(data, (str, bytes)):
        raise TypeError
    return data


def _fill(places: NDArray[np.object_], values: Any) -> None:
    """Store one object per place: numpy would look into lists and strings to find a common type."""
    for place, value in enumerate(values):
        places[place] = value


def _numeric(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of numbers as it is, any other with NaN for what is not a number.

    Masked places become NaN too.
    """
    if isinstance(array, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(array)
        return np.where(hidden, math.nan, _numeric(np.asarray(array.data)))
    if array.dtype.kind == "b":
        return array.astype(np.uint8)
    return array if array.dtype.kind in "iuf" else numbers_of(np.asarray(array, dtype=object))


def numbers_of(array: NDArray[Any]) -> Floats:
    """Return an array of anything as numbers.

    What is not one, like a string or a missing value, becomes NaN.
    """
    values = np.empty(array.shape)
    flat = values.reshape(-1)
    for place, value in enumerate(array.reshape(-1).tolist()):
        flat[place] = _number(value)
    return values


def _number(value: Any) -> float:
    try:
        return float(value) if is_number(value) or isinstance(value, (bool, np.bool_)) else math.nan
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _floats(values: NDArray[Any]) -> Floats:
    """Return values in double precision; a number beyond it is infinite."""
    with np.errstate(all="ignore"):
        return np.asarray(values, dtype=np.float64)


def _misfits(values: Floats, public: PublicRange, binary: bool) -> NDArray[np.bool_]:
    """Return which values are answered as something else."""
    if binary:
        fit = (values == public.low) | (values == public.high)
    else:
        fit = (values >= public.low) & (values <= public.high)
    return np.asarray(~fit)


def _canonical(data: Any) -> Any:
    matrix = data.tocsr()
    if matrix.dtype.kind not in "biuf":
        raise InputError(f"rows must hold numbers, got a sparse matrix of {matrix.dtype}")
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix if _well_formed(matrix) else _mended(matrix)


def _well_formed(matrix: Any) -> bool:
    """Return whether all columns exist."""
    held = matrix.indices
    return len(matrix.shape) != 2 or not held.size or bool(held.min() >= 0 and held.max() < matrix.shape[1])


def _mended(matrix: Any) -> Any:
    """Return the same rows without the entries of columns that do not exist."""
    there = (matrix.indices >= 0) & (matrix.indices < matrix.shape[1])
    owners = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))[there]
    counts = np.bincount(owners, minlength=matrix.shape[0])
    pointers = np.concatenate([[0], np.cumsum(counts)])
    return type(matrix)((matrix.data[there], matrix.indices[there], pointers), shape=matrix.shape)
