"""Messages of one user each: whether one is a sound report, by its bytes alone, and all of them read back into `Reports` at once."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.sampling import code_type
from graphveil.errors import MessageError
from graphveil.mechanisms import FeatureMechanism, LabelMechanism, Mechanism, Reports
from graphveil.mechanisms.reports import (
    CHECKSUM,
    EVEN,
    HEADER,
    LENGTH,
    MAGIC,
    NAMED,
    VERSION,
    code_widths,
    message_limit,
    row_pointers,
)

# A header ends in the fingerprint, which is the part's own where a class is asked.
FINGERPRINT = 32
# Mechanisms whose reports are checked by their codes and dimensions alone.
PLAIN = (FeatureMechanism, LabelMechanism)


def report_header(mechanism: Mechanism) -> bytes:
    """Return how the report of one user begins, where all reports of the mechanism have the same length."""
    length, (code, name) = mechanism.shape.length, code_widths(mechanism)
    flags = EVEN | (NAMED if name else 0)
    mark = bytes.fromhex(mechanism.fingerprint)
    return HEADER.pack(MAGIC, VERSION, flags, code, name, 1, length, mechanism.shape.places, length, mark)


class ReportAcceptance:
    """Recognizes sound reports of one mechanism without making arrays of them, which takes most of the time of an upload.

    It only ever says yes to what `Reports.from_bytes` takes. Whatever it does not say yes to is read in full, which finds the reason.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        # Of a pool, how many of its values may be named is checked besides.
        pooled = mechanism.asking is not None and bool(mechanism.asking.pool)
        self.plain = type(mechanism) in PLAIN and not mechanism.shape.uneven and not pooled
        if not self.plain:
            return
        self._alphabet, self._places = mechanism.shape.alphabet, mechanism.shape.places
        self._code, self._name = code_widths(mechanism)
        self._head, self._size = report_header(mechanism), message_limit(mechanism)
        self._codes_at = HEADER.size + self._name * mechanism.shape.length

    def accepts(self, message: bytes) -> bool:
        """Return whether a message is certainly a sound report of one user."""
        if not self.plain or len(message) != self._size or not message.startswith(self._head):
            return False
        if CHECKSUM.unpack_from(message, self._size - CHECKSUM.size)[0] != zlib.crc32(
            memoryview(message)[: -CHECKSUM.size]
        ):
            return False
        if not _below(message[self._codes_at : -CHECKSUM.size], self._code, self._alphabet):
            return False
        if not self._name:
            return True
        named = message[HEADER.size : self._codes_at]
        return _below(named, self._name, self._places) and _rising(named, self._name)


def _below(data: bytes, width: int, bound: int) -> bool:
    if width == 1:
        return max(data, default=0) < bound
    return int(np.frombuffer(data, f"<u{width}").max(initial=0)) < bound


def _rising(data: bytes, width: int) -> bool:
    if len(data) == width:
        return True
    numbers = np.frombuffer(data, f"<u{width}")
    return bool((numbers[1:] > numbers[:-1]).all())


def read_messages(
    mechanism: Mechanism, places: NDArray[np.int64], messages: Sequence[bytes], asked: int
) -> Reports:
    """Return the reports of a whole plan.

    The messages were checked one by one when they arrived; here their heads are compared, and the whole is checked once.

    Parameters
    ----------
    mechanism
        The mechanism of the plan.
    places
        Place of each message's sender among the users asked, shape (messages,).
    messages
        Reports of one user each.
    asked
        How many users the plan asks.
    """
    order = np.argsort(places)
    answered = np.zeros(asked, dtype=bool)
    answered[places] = True
    if int(answered.sum()) != len(messages):
        raise MessageError("a user has two reports in this round: the database was changed by somebody else")
    read = _uneven if mechanism.shape.uneven else _even
    lengths, dims, codes = read(mechanism, order, messages)
    mask = None if answered.all() else answered
    reports = Reports(mechanism, row_pointers(lengths), dims, codes, mask)
    reports.check()
    return reports


def _even(
    mechanism: Mechanism, order: NDArray[np.int64], messages: Sequence[bytes]
) -> tuple[NDArray[np.int64], NDArray[np.int32] | None, NDArray[np.unsignedinteger]]:
    """Messages that all have the same layout are rows of one matrix of bytes."""
    length, (code, name) = mechanism.shape.length, code_widths(mechanism)
    size = message_limit(mechanism)
    if any(len(message) != size for message in messages):
        raise _damaged()
    matrix = np.frombuffer(b"".join(messages), np.uint8).reshape(-1, size)
    head = np.frombuffer(report_header(mechanism), np.uint8)[:FINGERPRINT]
    if not (matrix[:, :FINGERPRINT] == head).all():
        raise _damaged()
    at = HEADER.size + name * length
    codes = _numbers(matrix[order, at : at + code * length], code).astype(code_type(mechanism.shape.alphabet))
    dims = _numbers(matrix[order, HEADER.size : at], name).astype(np.int32) if name else None
    return np.full(len(messages), length, dtype=np.int64), dims, codes


def _uneven(
    mechanism: Mechanism, order: NDArray[np.int64], messages: Sequence[bytes]
) -> tuple[NDArray[np.int64], NDArray[np.int32] | None, NDArray[np.unsignedinteger]]:
    """Messages that say how long they are: head, one length, dimensions, codes, checksum."""
    code, name = code_widths(mechanism)
    sorted_messages = [messages[place] for place in order]
    data = np.frombuffer(b"".join(sorted_messages), np.uint8)
    sizes = np.array([len(message) for message in sorted_messages], dtype=np.int64)
    around = HEADER.size + LENGTH + CHECKSUM.size
    lengths, rest = np.divmod(sizes - around, code + name)
    starts = row_pointers(sizes)[:-1] + HEADER.size
    if (sizes < around).any() or rest.any():
        raise _damaged()
    told = _numbers(data[starts[:, None] + np.arange(LENGTH)], LENGTH)
    if not np.array_equal(told, lengths):
        raise _damaged()
    named = starts + LENGTH
    dims = _gathered(data, named, lengths, name).astype(np.int32) if name else None
    codes = _gathered(data, named + name * lengths, lengths, code)
    return lengths, dims, codes.astype(code_type(mechanism.shape.alphabet))


def _gathered(
    data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64], width: int
) -> NDArray[np.unsignedinteger]:
    """The integers of that width that stand, so many each, at these places."""
    pointers = row_pointers(lengths)
    first = np.repeat(starts - width * pointers[:-1], lengths) + width * np.arange(int(pointers[-1]))
    return _numbers(data[first[:, None] + np.arange(width)], width)


def _numbers(data: NDArray[np.uint8], width: int) -> NDArray[np.unsignedinteger]:
    numbers: NDArray[np.unsignedinteger] = np.ascontiguousarray(data).reshape(-1).view(f"<u{width}")
    return numbers


def _damaged() -> MessageError:
    return MessageError(
        "a stored report does not have the form of its plan: the database was changed by somebody else, restore a backup"
    )
