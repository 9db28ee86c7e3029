"""Reports: what users send, as small integers, in memory, as bytes and as JSON.

The wire format, version 2, little-endian:

    offset  size  field
    0       4     magic "GVRP"
    4       1     version, 2
    5       1     flags: 1 = dimensions are named, 2 = all reports have the same length
    6       1     bytes a code: 1, 2 or 4
    7       1     bytes a dimension: 0 (not named), 1, 2 or 4
    8       8     number of users
    16      8     number of codes
    24      4     number of places that can be named: dimensions, and one more for a level
    28      4     length of every report (0 where lengths differ)
    32      32    fingerprint of the mechanism
    64      ...   lengths (4 bytes a user; only where they may differ), dimensions, codes
    end     4     CRC-32 of all before

The size of a message depends on the mechanism and the number of users, never on a value. Reports of links are lists of
neighbours, whose random length is part of the answer: their lengths are always written.
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.sampling import code_type
from graphveil.errors import InputError, MessageError

if TYPE_CHECKING:
    from graphveil.mechanisms.base import Estimate, Mechanism

MAGIC, VERSION = b"GVRP", 2
HEADER = struct.Struct("<4sBBBBQQII32s")
CHECKSUM = struct.Struct("<I")
# Bytes that say how many codes a user sends, where that may differ.
LENGTH = 4
NAMED, EVEN = 1, 2
JSON_FORMAT = "graphveil-reports"


@dataclass(frozen=True, eq=False)
class Reports:
    """Codes of many users, with row pointers and, where only some are asked, their dimensions.

    Where some of those whom a plan asks have not answered, ``answered`` says for each of them, in the plan's
    order, whether they have; who answers is public. Only those who have answered have rows. `estimate` has a
    row for everybody who was asked, empty for the others, as if they had not been asked.
    """

    mechanism: Mechanism = field(repr=False)
    indptr: NDArray[np.int64]
    dims: NDArray[np.int32] | None
    codes: NDArray[np.unsignedinteger]
    answered: NDArray[np.bool_] | None = None

    @property
    def asked(self) -> int:
        """The number of users asked."""
        return self.users if self.answered is None else len(self.answered)

    @property
    def places(self) -> NDArray[np.int64]:
        """The places of the reporting users among those who were asked."""
        return np.arange(self.users) if self.answered is None else np.flatnonzero(self.answered)

    @property
    def users(self) -> int:
        """The number of users who report."""
        return len(self.indptr) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of codes that each user sends."""
        return np.diff(self.indptr)

    @property
    def nbytes(self) -> int:
        """The memory of the arrays, in bytes."""
        return self.indptr.nbytes + self.codes.nbytes + (0 if self.dims is None else self.dims.nbytes)

    def estimate(self) -> Estimate:
        """Decode with the mechanism that the reports belong to: a row for everybody who was asked."""
        estimate = self.mechanism.estimate(self)
        return estimate if self.answered is None else estimate.spread(self.answered)

    def answered_by(self, who: NDArray[np.bool_]) -> Reports:
        """Return the reports as if only these of all who were asked had answered."""
        if self.answered is not None or who.shape != (self.users,):
            raise InputError(f"who answers must be said once, of all {self.asked} users who were asked")
        return replace(self.rows(np.flatnonzero(who)), answered=who.copy())

    def rows(self, users: NDArray[np.int64] | list[int]) -> Reports:
        """Return the reports of some of the users who report, by their rows, in this order."""
        indptr, at = gathered(self.indptr, np.asarray(users, dtype=np.int64))
        return Reports(self.mechanism, indptr, None if self.dims is None else self.dims[at], self.codes[at])

    def row(self, user: int) -> Reports:
        """Return the report of one user."""
        return self.rows([user])

    def of_asked(self, places: NDArray[np.int64]) -> Reports:
        """Return the reports of some of those who were asked, by their places among them, in this order."""
        row = np.full(self.asked, -1, dtype=np.int64)
        row[self.places] = np.arange(self.users)
        rows = row[places]
        answered = rows >= 0
        return replace(self.rows(rows[answered]), answered=None if answered.all() else answered)

    @classmethod
    def join(cls, parts: list[Reports], mechanism: Mechanism | None = None) -> Reports:
        """Concatenate reports of different users who have answered.

        All must be of one mechanism, unless ``mechanism`` says which one asks all of them.
        """
        if not parts:
            raise InputError("there must be at least one report to join")
        if any(part.answered is not None for part in parts):
            raise InputError("join reports first, then say who has not answered")
        first = parts[0].mechanism
        if mechanism is None and any(part.mechanism.fingerprint != first.fingerprint for part in parts[1:]):
            raise MessageError("reports of different mechanisms cannot be joined: decode them apart")
        lengths = np.concatenate([part.lengths for part in parts])
        dims = [part.dims for part in parts if part.dims is not None]
        codes = np.concatenate([part.codes for part in parts])
        return cls(mechanism or first, row_pointers(lengths), np.concatenate(dims) if dims else None, codes)

    def to_bytes(self) -> bytes:
        """Return the reports as one message in the wire format, without the users' names."""
        lengths = self.lengths
        even = not self.mechanism.shape.uneven and lengths.size > 0 and bool((lengths == lengths[0]).all())
        named = self.dims is not None
        places = self.mechanism.shape.places
        kind = code_type(places)
        flags = (NAMED if named else 0) | (EVEN if even else 0)
        header = HEADER.pack(
            MAGIC,
            VERSION,
            flags,
            self.codes.dtype.itemsize,
            kind.itemsize if named else 0,
            self.users,
            self.codes.size,
            places,
            int(lengths[0]) if even else 0,
            bytes.fromhex(self.mechanism.fingerprint),
        )
        parts = [header]
        if not even:
            parts.append(lengths.astype("<u4").tobytes())
        if self.dims is not None:
            parts.append(self.dims.astype(kind.newbyteorder("<")).tobytes())
        parts.append(self.codes.astype(self.codes.dtype.newbyteorder("<")).tobytes())
        message = b"".join(parts)
        return message + CHECKSUM.pack(zlib.crc32(message))

    @classmethod
    def from_bytes(cls, message: bytes, mechanism: Mechanism) -> Reports:
        """Read a message; raise a MessageError that says what is wrong with it."""
        if len(message) < HEADER.size + CHECKSUM.size:
            raise MessageError(f"the message is truncated: {len(message)} bytes, a header has {HEADER.size}")
        magic, version, flags, width, dim_width, users, count, size, length, mark = HEADER.unpack_from(
            message
        )
        if magic != MAGIC:
            raise MessageError(f"the message does not start with {MAGIC!r}: damaged, or no graphveil report")
        if version != VERSION:
            raise MessageError(f"the message has version {version}, graphveil reads {VERSION}: update it")
        widths_fit = width in (1, 2, 4) and dim_width in ((1, 2, 4) if flags & NAMED else (0,))
        if not widths_fit or flags & ~(NAMED | EVEN):
            raise MessageError(f"the message is damaged: flags {flags}, widths {width} and {dim_width}")
        sizes = (0 if flags & EVEN else 4 * users, dim_width * count, width * count)
        expected = HEADER.size + sum(sizes) + CHECKSUM.size
        if len(message) != expected:
            fault = "truncated" if len(message) < expected else "damaged"
            raise MessageError(f"the message is {fault}: {len(message)} bytes, its header says {expected}")
        if CHECKSUM.unpack_from(message, expected - CHECKSUM.size)[0] != zlib.crc32(
            message[: -CHECKSUM.size]
        ):
            raise MessageError("the message is damaged: its checksum does not match")
        if mark != bytes.fromhex(mechanism.fingerprint):
            raise MessageError(
                f"the message was made by another mechanism than {mechanism.name} with these settings: "
                "decode it with the plan that it answers"
            )
        # A header may promise any number of users: nothing is made for them before its numbers fit each other.
        if size != mechanism.shape.places or (flags & EVEN and users * length != count):
            raise MessageError(
                f"the message is damaged: {users} users, {count} codes, {size} places do not fit"
            )
        if flags & EVEN and mechanism.shape.uneven:
            raise MessageError(f"a message of {mechanism.name} must say how long each report is")
        if users > count and not mechanism.shape.uneven:
            raise MessageError(f"a report of {mechanism.name} must hold {mechanism.shape.length} codes")
        at = HEADER.size
        if flags & EVEN:
            lengths = np.full(users, length, dtype=np.int64)
        else:
            lengths = np.frombuffer(message, "<u4", users, at).astype(np.int64)
        at += sizes[0]
        dims = np.frombuffer(message, f"<u{dim_width}", count, at).astype(np.int32) if flags & NAMED else None
        at += sizes[1]
        codes = np.frombuffer(message, f"<u{width}", count, at).astype(f"u{width}")
        reports = cls(mechanism, row_pointers(lengths), dims, codes)
        reports.check()
        return reports

    def to_json(self) -> str:
        """Return the reports as one JSON object, with the checksum of their wire format."""
        lengths = self.lengths
        return json.dumps(
            {
                "format": JSON_FORMAT,
                "version": VERSION,
                "mechanism": self.mechanism.fingerprint,
                "lengths": lengths.tolist(),
                "dims": None if self.dims is None else self.dims.tolist(),
                "codes": self.codes.tolist(),
                "crc32": CHECKSUM.unpack(self.to_bytes()[-CHECKSUM.size :])[0],
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes, mechanism: Mechanism) -> Reports:
        """Read the JSON form; raise a MessageError that says what is wrong with it."""
        try:
            fields: Any = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise MessageError(f"the message is no JSON ({error}): it is damaged or truncated") from None
        if not isinstance(fields, dict) or fields.get("format") != JSON_FORMAT:
            raise MessageError(f'the message has no "format": "{JSON_FORMAT}": it is damaged or not a report')
        if fields.get("version") != VERSION:
            raise MessageError(f"the message has version {fields.get('version')}, graphveil reads {VERSION}")
        if fields.get("mechanism") != mechanism.fingerprint:
            raise MessageError(f"the message was made by another mechanism than {mechanism.name}")
        try:
            lengths = _integers(fields["lengths"], np.dtype(np.uint32)).astype(np.int64)
            dims = None if fields["dims"] is None else _integers(fields["dims"], np.dtype(np.int32))
            codes = _integers(fields["codes"], code_type(mechanism.shape.alphabet))
            checksum = int(fields["crc32"])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise MessageError(f"the message is damaged: {error}") from None
        reports = cls(mechanism, row_pointers(lengths), dims, codes)
        reports.check()
        if CHECKSUM.unpack(reports.to_bytes()[-CHECKSUM.size :])[0] != checksum:
            raise MessageError("the message is damaged: its checksum does not match")
        return reports

    def check(self) -> None:
        """Refuse reports that no client of this mechanism can have sent."""
        mechanism = self.mechanism
        if self.answered is not None and int(self.answered.sum()) != self.users:
            raise MessageError(f"{self.users} reports came of {int(self.answered.sum())} users who answered")
        if self.codes.ndim != 1 or int(self.indptr[-1]) != self.codes.size:
            raise MessageError(f"reports hold {self.codes.size} codes, lengths say {self.indptr[-1]}")
        kind = code_type(mechanism.shape.alphabet)
        if self.codes.dtype != kind:
            raise MessageError(
                f"{mechanism.name} sends codes of {kind.itemsize} bytes, got {self.codes.dtype}"
            )
        if mechanism.shape.uneven:
            if self.codes.size and not _rising(self.codes.astype(np.int64), self.indptr).all():
                raise MessageError("the codes of a report must be ascending and different")
        elif (self.lengths != mechanism.shape.length).any():
            raise MessageError(f"a report of {mechanism.name} must hold {mechanism.shape.length} codes")
        if self.codes.size and int(self.codes.max()) >= mechanism.shape.alphabet:
            raise MessageError(f"codes must be below {mechanism.shape.alphabet}, got {int(self.codes.max())}")
        if (self.dims is not None) != mechanism.shape.names_dimensions:
            raise MessageError(
                f"a report of {mechanism.name} must {'' if self.dims is None else 'not '}name dimensions"
            )
        if self.dims is not None and self.dims.shape != self.codes.shape:
            raise MessageError(f"{self.dims.size} dimensions do not fit {self.codes.size} codes")
        if self.dims is not None and self.dims.size:
            if not 0 <= int(self.dims.min()) <= int(self.dims.max()) < mechanism.shape.places:
                raise MessageError(f"dimensions must lie in 0..{mechanism.shape.places - 1}")
            if not _rising(self.dims, self.indptr).all():
                raise MessageError("the dimensions of a report must be ascending and different")
        if self.codes.size or mechanism.shape.uneven:
            mechanism.check_reports(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reports) or self.mechanism.fingerprint != other.mechanism.fingerprint:
            return False
        if (self.dims is None) != (other.dims is None):
            return False
        if self.asked != other.asked or not np.array_equal(self.places, other.places):
            return False
        same_dims = self.dims is None or other.dims is None or np.array_equal(self.dims, other.dims)
        return (
            same_dims
            and np.array_equal(self.indptr, other.indptr)
            and np.array_equal(self.codes, other.codes)
        )

    def __repr__(self) -> str:
        users = f"{self.users} users" if self.answered is None else f"{self.users} of {self.asked} users"
        return f"Reports({self.mechanism.name}, {users}, {self.codes.size} codes of {self.codes.dtype})"


def code_widths(mechanism: Mechanism) -> tuple[int, int]:
    """Return the number of bytes per code, and per named dimension."""
    name = code_type(mechanism.shape.places).itemsize if mechanism.shape.names_dimensions else 0
    return code_type(mechanism.shape.alphabet).itemsize, name


def message_limit(mechanism: Mechanism) -> int:
    """Return the most bytes that the report of one user takes."""
    around = HEADER.size + (LENGTH if mechanism.shape.uneven else 0) + CHECKSUM.size
    return around + mechanism.shape.length * sum(code_widths(mechanism))


def _integers(values: Any, kind: np.dtype[Any]) -> NDArray[Any]:
    """Return a list of integers from JSON as an array of this type; raise a ValueError if they do not fit."""
    array = np.array(values if len(values) else [0])
    bounds = np.iinfo(kind)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError("lengths, dims and codes must be lists of integers")
    if not bounds.min <= int(array.min()) <= int(array.max()) <= bounds.max:
        raise ValueError(f"an integer does not fit into {kind}")
    return array[: len(values)].astype(kind)


def _rising(numbers: NDArray[Any], indptr: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether each number is larger than the one before it in the same row."""
    rising = np.diff(numbers, prepend=-1) > 0
    starts = indptr[:-1]
    rising[starts[starts < numbers.size]] = True
    return rising


def row_pointers(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the start of each row, and the end of the last one."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])


def gathered(
    indptr: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return row pointers of some rows, in this order, and the places of their entries among all entries."""
    lengths = np.diff(indptr)[rows]
    pointers = row_pointers(lengths)
    return pointers, np.repeat(indptr[rows] - pointers[:-1], lengths) + np.arange(int(pointers[-1]))


def even_pointers(users: int, length: int) -> NDArray[np.int64]:
    """Return row pointers of reports that all have the same length."""
    return np.arange(users + 1, dtype=np.int64) * length
