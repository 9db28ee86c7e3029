"""A round as the service needs it: the question of each user, and whether a message answers it."""

from __future__ import annotations

import hashlib
from functools import cached_property
from zlib import crc32

import numpy as np

from graphveil.channels.canonical import canonical
from graphveil.collect.accepting import Acceptance
from graphveil.collect.rounds import Round
from graphveil.errors import MessageError
from graphveil.mechanisms import ClassMechanism, LinkMechanism, Mechanism, Reports
from graphveil.mechanisms.reports import message_limit
from graphveil.privacy import Plan
from graphveil.privacy.digest import described, plan_digest
from graphveil.privacy.envelope import (
    CHECKSUM,
    HEADER,
    MAGIC,
    VERSION,
    Envelope,
    Question,
    envelope_size,
)


class AskedRound:
    """A published round. All of it is frozen but whether it is closed, which is not known here."""

    def __init__(self, opened: Round) -> None:
        self._round, self._mechanism = opened, opened.plan.build()
        self.number, self.expires = opened.number, opened.expires
        self._places = np.full(opened.users, -1, dtype=np.int64)
        whole = opened.whole
        self._places[whole] = np.arange(len(whole))
        asked = np.zeros(opened.users, dtype=np.uint8)
        asked[opened.asked] = 1
        # Bytes are looked up faster than arrays.
        self._asked = asked.tobytes()
        self._one = opened.plan.part([int(opened.asked[0])])

    @cached_property
    def _acceptance(self) -> Acceptance:
        return Acceptance(self._mechanism)

    @cached_property
    def limit(self) -> int:
        """The most bytes of an envelope."""
        return envelope_size(message_limit(self._mechanism))

    def asks(self, node: int) -> bool:
        """Whether it asks this user."""
        return node < len(self._asked) and self._asked[node] == 1

    def part(self, node: int) -> Plan:
        """What one user is asked: `plan.part`, without looking through all users for the one."""
        own = {
            name: table.rows([int(self._places[node])])
            for name in ("lists", "offsets")
            if (table := getattr(self._round.plan, name)) is not None
        }
        return self._one.model_copy(update={"users": (node,), **own})

    def question(self, node: int, collection: str, purpose: str) -> Question:
        """The question to one user."""
        opened = self._round
        return Question(
            collection, opened.number, node, self.part(node), opened.published, opened.expires, purpose
        )

    def accepted(self, body: bytes, report: bytes, node: int, pseudonym: bytes) -> bytes | None:
        """The message in an envelope that is for sure this user's answer under this id; None where it is to be read in full."""
        acceptance = self._acceptance
        if not acceptance.plain or len(body) != self.limit or not self.asks(node):
            return None
        message = body[HEADER.size : -CHECKSUM.size]
        head = HEADER.pack(MAGIC, VERSION, bytes(3), report, pseudonym, self._digest(node), len(message))
        if not body.startswith(head):
            return None
        if CHECKSUM.unpack_from(body, len(body) - CHECKSUM.size)[0] != crc32(body[: -CHECKSUM.size]):
            return None
        return message if acceptance.accepts(message) else None

    def check(self, envelope: Envelope, node: int) -> None:
        """Refuse, with a MessageError, an answer that this user cannot have given to the own question."""
        if envelope.digest != self.digest(node):
            raise MessageError(
                "the envelope answers another plan than this round asks: get the question anew, and answer that"
            )
        if self._acceptance.accepts(envelope.message):
            return
        reports = Reports.from_bytes(envelope.message, self._mechanism_of(node))
        if reports.users != 1:
            raise MessageError(f"a device sends its own report alone, got those of {reports.users} users")
        if isinstance(self._mechanism, LinkMechanism):
            self._mechanism.check_owners(reports, np.array([node]))

    def digest(self, node: int) -> str:
        """The digest of the user's part."""
        if self._round.plan.lists is not None:
            return plan_digest(self.part(node))
        return self._digest(node).hex()

    def _digest(self, node: int) -> bytes:
        """The digest of a part that differs from others by its user alone."""
        begun, (before, after) = self._begun.copy(), self._one_user
        begun.update(before + hashlib.sha256(node.to_bytes(8, "little")).hexdigest().encode() + after)
        return begun.digest()

    @cached_property
    def _one_user(self) -> tuple[bytes, bytes]:
        """The canonical bytes of a list of one user and of the end of a part, around the digest of the user's number."""
        whole = canonical(np.zeros(1, dtype=np.int64)) + b"}"
        before, after = whole.split(hashlib.sha256(bytes(8)).hexdigest().encode())
        return before, after

    @cached_property
    def _begun(self) -> hashlib._Hash:
        """The hash of a part's canonical bytes up to its users, which come last: only these differ between parts."""
        rest = {name: value for name, value in described(self._one).items() if name != "users"}
        return hashlib.sha256(canonical(rest)[:-1] + b',"users":')

    def _mechanism_of(self, node: int) -> Mechanism:
        """The mechanism of the user's part; where a class is asked it has the user's own list."""
        if isinstance(self._mechanism, ClassMechanism):
            return self._mechanism.of_users([int(self._places[node])])
        return self._mechanism
