"""Tables of integers that nobody can change: plans hand them on without looking at every number again."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.checks import short
from graphveil.errors import InputError

LITTLE_ENDIAN = np.dtype("<i8")


class Integers:
    """Integers of 64 bits in one or two dimensions, held as bytes: equal where the numbers are, read-only for good.

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
        """A table of whole numbers of a list, lists of lists or an array; at most so many. Neither words nor true nor false.

        An array without rows is refused unless it may be ``rowless``: it has a row a user, and there may be none.
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
        """The same table from its bytes alone: whoever made this one may have changed what it has computed already."""
        data, shape = bytes(self.data), tuple(int(length) for length in self.shape)
        if len(data) != LITTLE_ENDIAN.itemsize * math.prod(shape):
            raise InputError(f"a table of shape {shape} does not have {len(data)} bytes: somebody changed it")
        return Integers(shape, data)

    @cached_property
    def array(self) -> NDArray[np.int64]:
        """The numbers; no flag makes them writeable, because bytes are not."""
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
        """Some of the rows."""
        chosen = self.array[np.asarray(places, dtype=np.int64)]
        return Integers(tuple(chosen.shape), chosen.tobytes())

    def tolist(self) -> list[Any]:
        """As JSON has them."""
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
    """Lists as an array, looked at all at once; what is no integer is refused and not converted."""
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
