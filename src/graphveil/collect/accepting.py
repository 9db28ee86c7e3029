"""Whether a message is a sound report, by its bytes alone: what nearly all of them are is seen without making arrays of them.

It only ever says yes to what `Reports.from_bytes` takes. Whatever it does not say yes to is read in full, which finds the reason.
"""

from __future__ import annotations

import zlib

import numpy as np

from graphveil.channels.sampling import code_type
from graphveil.mechanisms import FeatureMechanism, LabelMechanism, Mechanism
from graphveil.mechanisms.reports import CHECKSUM, EVEN, HEADER, MAGIC, NAMED, VERSION, message_limit

# Mechanisms whose reports are checked by their codes and dimensions alone.
PLAIN = (FeatureMechanism, LabelMechanism)


class Acceptance:
    """Knows how a report of one mechanism begins, and which codes and dimensions it may have."""

    def __init__(self, mechanism: Mechanism) -> None:
        # Of a pool, how many of its values may be named is checked besides.
        pooled = isinstance(mechanism, FeatureMechanism) and bool(mechanism.asking.pool)
        self.plain = type(mechanism) in PLAIN and not mechanism.uneven and not pooled
        if not self.plain:
            return
        length, self._alphabet, self._places = mechanism.report_length, mechanism.alphabet, mechanism.places
        self._code = code_type(mechanism.alphabet)
        self._name = code_type(mechanism.places) if mechanism.names_dimensions else None
        width = 0 if self._name is None else self._name.itemsize
        flags = EVEN | (0 if self._name is None else NAMED)
        mark = bytes.fromhex(mechanism.fingerprint)
        fields = (self._code.itemsize, width, 1, length, mechanism.places, length, mark)
        self._head = HEADER.pack(MAGIC, VERSION, flags, *fields)
        self._size, self._codes_at = message_limit(mechanism), HEADER.size + width * length

    def accepts(self, message: bytes) -> bool:
        """Whether this is for sure a report of one user."""
        if not self.plain or len(message) != self._size or not message.startswith(self._head):
            return False
        if CHECKSUM.unpack_from(message, self._size - CHECKSUM.size)[0] != zlib.crc32(
            memoryview(message)[: -CHECKSUM.size]
        ):
            return False
        if not _below(message[self._codes_at : -CHECKSUM.size], self._code, self._alphabet):
            return False
        if self._name is None:
            return True
        named = message[HEADER.size : self._codes_at]
        return _below(named, self._name, self._places) and _rising(named, self._name)


def _below(data: bytes, kind: np.dtype[np.unsignedinteger], bound: int) -> bool:
    if kind.itemsize == 1:
        return max(data, default=0) < bound
    return int(np.frombuffer(data, kind.newbyteorder("<")).max(initial=0)) < bound


def _rising(data: bytes, kind: np.dtype[np.unsignedinteger]) -> bool:
    if len(data) == kind.itemsize:
        return True
    numbers = np.frombuffer(data, kind.newbyteorder("<"))
    return bool((numbers[1:] > numbers[:-1]).all())
