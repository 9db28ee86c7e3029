"""The class a public model predicts from a user's own row, among those left open, by k-ary response.

Whatever the model is, and whatever is left open, the answer is one symbol through one channel: its ε is the
channel's. The model travels in a plan. A row becomes integers on a stated grid, scores are sums of integers,
and no sum of magnitudes reaches 2^53, so computing with doubles, in any order, involves no rounding: every
client computes the same class. docs/wire-format.md specifies it for clients in other languages.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.channel import FiniteChannel, digest
from graphveil.channels.exact import Claim
from graphveil.channels.sampling import RandomBits
from graphveil.checks import check_whole, short
from graphveil.errors import InputError
from graphveil.mechanisms.base import Estimate, ReportShape, Subject
from graphveil.mechanisms.labels import LabelMechanism, SingleAnswerMechanism
from graphveil.mechanisms.limits import MAX_DIMS, MAX_MODEL
from graphveil.mechanisms.reports import Reports
from graphveil.mechanisms.rows import Floats, PublicRange, Rows

LITTLE_ENDIAN = np.dtype("<i8")


class Integers:
    """Read-only 64-bit integers in one or two dimensions, held as bytes and compared by value.

    >>> table = Integers.of([[3, 1], [0, 2]], "lists", 2)
    >>> table.shape, table.array[0].tolist()
    ((2, 2), [3, 1])
    """

    def __init__(self, shape: tuple[int, ...], data: bytes) -> None:
        self.shape, self.data = shape, data

    @classmethod
    def of(
        cls, numbers: Any, name: str, axes: int, most: int | None = None, *, rowless: bool = False
    ) -> Integers:
        """Build a table of whole numbers from a list, lists of lists or an array.

        Refuse strings and booleans.

        Parameters
        ----------
        numbers
            The numbers; an array must be of an integer type.
        name
            The name used in error messages.
        axes
            The number of dimensions, 1 or 2.
        most
            The largest number of entries; None sets no limit.
        rowless
            Whether an array without rows is allowed: it has one row per user, and there may be no users.
        """
        if type(numbers) is Integers:
            array = numbers.array
        elif isinstance(numbers, np.ndarray):
            array = numbers
        else:
            array = _array(numbers, name, axes, most)
        if array.ndim != axes or array.dtype.kind not in "iu" or 0 in array.shape[int(rowless) :]:
            raise _refusal(numbers, name, axes)
        if most is not None and array.size > most:
            raise _too_many(name, array.size, most)
        if type(numbers) is Integers:
            return numbers
        if array.dtype.kind == "u" and int(array.max(initial=0)) > np.iinfo(np.int64).max:
            raise _refusal(numbers, name, axes)
        return cls(tuple(array.shape), np.ascontiguousarray(array, dtype=LITTLE_ENDIAN).tobytes())

    def anew(self) -> Integers:
        """Return the same table rebuilt from its bytes, as results stored in this one may have been changed."""
        data, shape = bytes(self.data), tuple(int(length) for length in self.shape)
        if len(data) != LITTLE_ENDIAN.itemsize * math.prod(shape):
            raise InputError(f"a table of shape {shape} does not have {len(data)} bytes: somebody changed it")
        return Integers(shape, data)

    @cached_property
    def array(self) -> NDArray[np.int64]:
        """The numbers as an array; it cannot be made writeable, because bytes cannot."""
        return np.frombuffer(self.data, LITTLE_ENDIAN).reshape(self.shape)

    @cached_property
    def floats(self) -> NDArray[np.float64]:
        """The numbers as doubles, for products: exact up to 2^53."""
        held = self.array.astype(np.float64)
        held.setflags(write=False)
        return held

    @cached_property
    def sha256(self) -> str:
        """The digest of the numbers, row after row, little-endian."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def largest(self) -> int:
        """The largest magnitude."""
        return max(-int(self.array.min(initial=0)), int(self.array.max(initial=0)))

    def rows(self, places: Any) -> Integers:
        """Return some of the rows."""
        chosen = self.array[np.asarray(places, dtype=np.int64)]
        return Integers(tuple(chosen.shape), chosen.tobytes())

    def tolist(self) -> list[Any]:
        """Return the numbers as lists, as JSON has them."""
        return list(self.array.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Integers) and (self.shape, self.data) == (other.shape, other.data)

    def __hash__(self) -> int:
        return hash((self.shape, self.sha256))

    def __reduce__(self) -> tuple[Any, ...]:
        return Integers, (self.shape, self.data)

    def __repr__(self) -> str:
        return f"Integers({' x '.join(map(str, self.shape))})"


def _array(numbers: Any, name: str, axes: int, most: int | None) -> NDArray[Any]:
    """Return lists as an array, checked all at once; what is not an integer is refused, not converted."""
    if not isinstance(numbers, (list, tuple)) or not len(numbers):
        raise _refusal(numbers, name, axes)
    entries: Iterable[Any] = numbers
    if axes == 2:
        if not all(isinstance(row, (list, tuple)) for row in numbers) or len(set(map(len, numbers))) != 1:
            raise _refusal(numbers, name, axes)
        if most is not None and len(numbers) * len(numbers[0]) > most:
            raise _too_many(name, len(numbers) * len(numbers[0]), most)
        entries = chain.from_iterable(numbers)
    if not set(map(type, entries)) <= {int}:
        raise _refusal(numbers, name, axes)
    try:
        return np.array(numbers, dtype=np.int64)
    except OverflowError:
        raise _refusal(numbers, name, axes) from None


def _too_many(name: str, count: int, most: int) -> InputError:
    return InputError(f"{name} may hold at most {most} integers, got {count}")


def _refusal(numbers: Any, name: str, axes: int) -> InputError:
    what = "a list of integers" if axes == 1 else "lists of one length of integers"
    shown = (
        f"an array of shape {numbers.shape} of {numbers.dtype}"
        if isinstance(numbers, np.ndarray)
        else short(numbers)
    )
    return InputError(f"{name} must be {what} of at most 63 bits, got {shown}")


# Classes in all lists of a plan, as many as offsets.
MAX_OPEN = 1 << 24


@dataclass(frozen=True, eq=False, repr=False)
class ClassMechanism(SingleAnswerMechanism):
    """The class that ``model`` scores highest on a user's row, reported as its place in the user's list.

    ``lists`` has a row of different classes for each user, or one row for everybody; ``offsets`` are added to
    their scores. Of equal scores the first in the list counts. A report is a place, 0..K-1, through the
    channel of ``label``.
    """

    label: LabelMechanism
    public: PublicRange
    model: ClassModel
    lists: Integers
    offsets: Integers | None = None
    subject: Subject = "features"
    unbiased: bool = False

    def __post_init__(self) -> None:
        listed = self.lists.array
        if listed.ndim != 2 or listed.shape[1] != self.places_open:
            raise InputError(f"lists must have {self.places_open} classes a user, got {listed.shape[-1]}")
        if listed.size > MAX_OPEN:
            raise InputError(f"lists may hold at most {MAX_OPEN} classes, got {listed.size}: ask in parts")
        if int(listed.min(initial=0)) < 0 or int(listed.max(initial=0)) >= self.model.classes:
            raise InputError(f"lists must hold classes of the model, 0..{self.model.classes - 1}")
        ordered = np.sort(listed, axis=1)
        if (ordered[:, 1:] == ordered[:, :-1]).any():
            raise InputError("lists must not name a class twice for one user")
        if self.offsets is None:
            return
        if self.offsets.shape != self.lists.shape:
            raise InputError(
                f"offsets must be {self.lists.shape} integers as lists, got {self.offsets.shape}"
            )
        if self.offsets.largest > self.model.largest_offset:
            raise InputError(
                f"offsets must lie within ±{self.model.largest_offset} with this model, so that scores stay within 2^52, got "
                f"{self.offsets.largest}: take a smaller scale"
            )

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the channel's mechanism, which the plan asks for."""
        return self.label.name

    @property
    def claim(self) -> Claim:  # type: ignore[override]
        """The claim of the channel."""
        return self.label.claim

    @property
    def channel(self) -> FiniteChannel:  # type: ignore[override]
        """The channel that places are answered by."""
        return self.label.channel

    @property
    def places_open(self) -> int:
        """K: the number of classes left open for each user."""
        return self.channel.input_count

    @cached_property
    def shape(self) -> ReportShape:
        return replace(self.label.shape, dimensions=self.places_open, row_length=self.model.dims)

    def places_of(self, private: Any) -> NDArray[np.int64]:
        """Return the place of each user's class in their list: private, and the input of the channel."""
        rows = Rows(private, self.model.dims)
        lists = self._for(self.lists, rows.users)
        offsets = None if self.offsets is None else self._for(self.offsets, rows.users)
        places = np.empty(rows.users, dtype=np.int64)
        for start, stop in rows.blocks():
            scores, length = self.model.scores(self.model.integers(rows.dense(start, stop), self.public))
            own = np.take_along_axis(scores, lists[start:stop], axis=1)
            if offsets is not None:
                own += offsets[start:stop] * length
            places[start:stop] = own.argmax(axis=1)
        return places

    def encode(self, private: Any, random_bits: RandomBits) -> tuple[NDArray[np.int64], None]:
        return self.places_of(private), None

    def count(self, private: Any) -> int:
        return Rows(private, self.model.dims).users

    def altered(self, private: Any) -> int:
        return int(Rows(private, self.model.dims).outside(self.public).sum())

    def estimate(self, reports: Reports) -> Estimate:
        """Estimate the indicator of each place in the user's list; this is not an estimate of a row."""
        return self.label.estimate(reports)

    def blind(self) -> ClassMechanism:
        return replace(self, label=self.label.blind())

    def of_users(self, places: Any) -> ClassMechanism:
        """Return the same question for some of its users, given their places in the plan."""
        offsets = None if self.offsets is None else self.offsets.rows(places)
        return replace(self, lists=self.lists.rows(places), offsets=offsets)

    def extremes(self) -> list[Any]:
        """Return two rows that the first user reports as different places, if the model tells any apart."""
        rows = self._telling_rows()
        places = self.of_users([0]).places_of(rows)
        other = int(np.argmax(places != places[0]))
        return [rows[0], rows[other if other else 1]]

    def joint_counts(self, private: Any) -> tuple[NDArray[np.object_], int]:
        return self.counts_of(self.of_users([0]).places_of(np.asarray(private)[None]).tolist())

    def described(self) -> dict[str, Any]:
        return {
            "of": "class",
            "dims": self.model.dims,
            "range": [self.public.low, self.public.high],
            "model": self.model.digest,
            "lists": self.lists.array,
            "offsets": None if self.offsets is None else self.offsets.array,
        }

    def _for(self, table: Integers, users: int) -> NDArray[np.int64]:
        """A row of the table for each user; one row is everybody's."""
        if table.shape[0] not in (1, users):
            raise InputError(f"{users} rows were given for the lists of {table.shape[0]} users: give theirs")
        return np.broadcast_to(table.array, (users, table.shape[1]))

    def _telling_rows(self) -> Floats:
        """Rows at the ends of the range, and for each place one whose values speak for its class."""
        model, listed = self.model, self.lists.array[0]
        weights = model.weights.floats[listed]
        if model.first is not None:
            weights = weights @ model.first.floats
        spoken = np.where(weights > weights.mean(axis=0), self.public.high, self.public.low)
        ends = np.array([self.public.low, self.public.high])
        return np.concatenate([np.repeat(ends[:, None], model.dims, axis=1), spoken])

    def __repr__(self) -> str:
        asked = f"{self.places_open} of {self.model.classes} classes"
        return f"ClassMechanism({self.name}, epsilon={self.claim.epsilon:g}, {asked} by a {self.model.kind} model)"


# Points of the grid that values are put on.
MAX_LEVELS = 1 << 16
# The largest magnitude of a number in a model, and of a score. Magnitudes are added up as doubles, which are off by far
# less than the factor of two that is left to 2^53, below which doubles hold every integer.
MAX_SCORE = 1 << 52
MAX_SHIFT = 52
COMMON = ("kind", "bias", "levels", "zero", "unit")
FIELDS = {
    "linear": (*COMMON, "weights"),
    "hidden": (*COMMON, "first", "first_bias", "second", "shift"),
}


@dataclass(frozen=True)
class ClassModel:
    """Scores of classes for a row: linear in its integers, or behind one hidden layer of rectified sums.

    A value is clipped to the public range and put on ``levels`` points; ``zero`` is the point that counts as 0. What is no
    number counts as the middle. With ``unit`` all that is added to sums (biases, and a user's offsets) is multiplied by the
    length of the row of integers, rounded down, and by 1 where that is 0: the same class as that of the row divided by its
    length, without a division. Sums of the hidden layer are shifted right by ``shift`` bits.

    >>> ClassModel.of({"kind": "linear", "weights": [[2, 0], [0, 1]], "bias": [0, 5]}).dims
    2
    """

    weights: Integers
    bias: Integers
    first: Integers | None = None
    first_bias: Integers | None = None
    shift: int = 0
    levels: int = 256
    zero: int = 0
    unit: bool = False

    def __post_init__(self) -> None:
        check_whole(self.levels, "levels of the model", least=2, most=MAX_LEVELS)
        check_whole(self.zero, "zero of the model", least=0, most=self.levels - 1)
        check_whole(self.shift, "shift of the model", least=0, most=MAX_SHIFT)
        if not isinstance(self.unit, bool):
            raise InputError(f"unit of the model must be true or false, got {short(self.unit)}")
        self._check_shapes()
        if self.size > MAX_MODEL:
            raise InputError(f"a model may hold at most {MAX_MODEL} integers, got {self.size}")
        largest = max(table.largest for table in self._tables.values())
        if largest > MAX_SCORE:
            raise InputError(f"the integers of a model must lie in -2^52..2^52, got {largest}")
        if self._largest_score > MAX_SCORE:
            raise InputError(
                f"the scores of the model may reach {self._largest_score:.3g}, at most 2^52 = {MAX_SCORE:.3g} can be computed "
                "exactly everywhere: take smaller weights, fewer levels, or a larger shift"
            )

    @classmethod
    def of(cls, told: Any) -> ClassModel:
        """Read a model from the fields of a plan."""
        if type(told) is ClassModel:
            return told
        if not isinstance(told, dict) or told.get("kind") not in tuple(FIELDS):
            raise InputError(f'a model needs a "kind", {" or ".join(FIELDS)}, got {short(told)}')
        kind, known = told["kind"], FIELDS[told["kind"]]
        needed = [name for name in known if name not in ("kind", "levels", "zero", "unit", "shift")]
        for name in told:
            if name not in known:
                raise InputError(f"a {kind} model has no {short(name)}: it takes {', '.join(known)}")
        for name in needed:
            if name not in told:
                raise InputError(f"a {kind} model needs {', '.join(needed)}: {name} is missing")

        def part(name: str, axes: int) -> Integers:
            return Integers.of(told[name], f"{name} of the model", axes, MAX_MODEL)

        plain = {name: told[name] for name in ("levels", "zero", "unit", "shift") if name in told}
        if kind == "linear":
            return cls(part("weights", 2), part("bias", 1), **plain)
        return cls(part("second", 2), part("bias", 1), part("first", 2), part("first_bias", 1), **plain)

    def parts(self) -> dict[str, Any]:
        """The fields of a plan that describe the model, with tables as they are."""
        common = {"kind": self.kind, "levels": self.levels, "zero": self.zero, "unit": self.unit}
        if self.first is None:
            return {**common, "weights": self.weights, "bias": self.bias}
        hidden = {"first": self.first, "first_bias": self.first_bias, "shift": self.shift}
        return {**common, **hidden, "second": self.weights, "bias": self.bias}

    def anew(self) -> ClassModel:
        """Return the same model, rebuilt and checked again, since this object may have been changed."""
        told = ClassModel.parts(self).items()
        return ClassModel.of(
            {name: Integers.anew(part) if isinstance(part, Integers) else part for name, part in told}
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the fields of a plan that describe the model, as JSON has them."""
        told = self.parts().items()
        return {name: part.tolist() if isinstance(part, Integers) else part for name, part in told}

    @property
    def kind(self) -> Literal["linear", "hidden"]:
        """The kind of the model, by whether it has a hidden layer."""
        return "linear" if self.first is None else "hidden"

    @property
    def classes(self) -> int:
        """The number of classes that have a score."""
        return self.weights.shape[0]

    @property
    def dims(self) -> int:
        """The number of values in a row."""
        return (self.weights if self.first is None else self.first).shape[1]

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the model in canonical bytes."""
        arrays = {name: table.array for name, table in self._tables.items()}
        numbers = {"levels": self.levels, "zero": self.zero, "unit": self.unit, "shift": self.shift}
        return digest({"kind": self.kind, **numbers, **arrays})

    @property
    def largest_offset(self) -> int:
        """The largest magnitude an offset may have without making a score too large."""
        return int((MAX_SCORE - self._largest_score) // self._longest)

    def integers(self, rows: Floats, public: PublicRange) -> Floats:
        """Return rows on the grid, as doubles that are integers.

        A clipped value x becomes ⌊(x-LOW)/(HIGH-LOW)·(levels-1) + 1/2⌋ - zero.
        """
        with np.errstate(all="ignore"):
            grid = np.clip(rows, public.low, public.high)
            grid -= public.low
            grid /= public.high - public.low
            grid *= self.levels - 1
            grid += 0.5
            np.floor(grid, out=grid)
        grid[np.isnan(rows)] = self.levels // 2
        grid -= self.zero
        return grid

    def scores(self, integers: Floats) -> tuple[Floats, Floats]:
        """Return the scores of all classes (users x classes) and the factor of the offsets (users x 1)."""
        length = np.ones((len(integers), 1))
        if self.unit:
            length = np.maximum(_lengths(integers), 1.0)[:, None]
        hidden = integers
        if self.first is not None and self.first_bias is not None:
            hidden = integers @ self.first.floats.T
            hidden += self.first_bias.floats * length
            np.maximum(hidden, 0.0, out=hidden)
            if self.shift:
                np.floor(np.ldexp(hidden, -self.shift), out=hidden)
        scores = hidden @ self.weights.floats.T
        scores += self.bias.floats * length
        return scores, length

    @property
    def size(self) -> int:
        """The number of integers in the model."""
        return sum(table.array.size for table in self._tables.values())

    @property
    def _tables(self) -> dict[str, Integers]:
        return {name: part for name, part in vars(self).items() if isinstance(part, Integers)}

    def _check_shapes(self) -> None:
        if (self.first is None) != (self.first_bias is None) or (self.first is None and self.shift):
            raise InputError("a hidden model has first, first_bias and shift, a linear one none of them")
        classes, inner = self.weights.shape
        if self.bias.shape != (classes,) or classes < 2:
            raise InputError(
                f"a model needs 2 or more classes, a bias each, got {classes} and {self.bias.shape[0]}"
            )
        if self.first is not None and self.first_bias is not None:
            units = self.first.shape[0]
            if inner != units or self.first_bias.shape != (units,):
                raise InputError(f"first, first_bias and second must have as many hidden units, got {units}")
        if self.dims > MAX_DIMS:
            raise InputError(f"a model may take at most {MAX_DIMS} features, got {self.dims}")

    @property
    def _top(self) -> int:
        """The largest magnitude of a value on the grid."""
        return max(self.zero, self.levels - 1 - self.zero)

    @property
    def _longest(self) -> int:
        """The largest number that offsets are multiplied by."""
        return max(1, math.isqrt(self.dims * self._top**2)) if self.unit else 1

    @cached_property
    def _largest_score(self) -> float:
        """An upper bound of the sum of magnitudes in any score and in the hidden layer."""
        if self.first is None or self.first_bias is None:
            return float(self._added(self.weights, np.full(self.dims, float(self._top)), self.bias).max())
        inner = self._added(self.first, np.full(self.dims, float(self._top)), self.first_bias)
        outer = self._added(self.weights, np.floor(inner / 2.0**self.shift), self.bias)
        return float(max(inner.max(), outer.max()))

    def _added(self, weights: Integers, values: Floats, bias: Integers) -> Floats:
        added: Floats = np.abs(weights.floats) @ values + np.abs(bias.floats) * self._longest
        return added


def _lengths(integers: Floats) -> Floats:
    """⌊√(sum of squares)⌋ of rows of integers; the squares add up to less than 2^53, and the root is corrected by one."""
    squares: NDArray[np.int64] = np.einsum("ij,ij->i", integers, integers).astype(np.int64)
    root = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    root -= root * root > squares
    root += (root + 1) * (root + 1) <= squares
    return root.astype(np.float64)
