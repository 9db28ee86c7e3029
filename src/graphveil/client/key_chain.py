"""The keys of a collection, one after the other: what a device believes, and how it follows a change of key.

A device knows the first key that its invitation pins, or that came before it, and every succession since. It takes one more only if it is the next by
its number, passes from the very key that the device believes to one that never was a key here, is about this collection, is no older than the
last, and is signed by both keys. Nothing else moves the device: not a gap, nor another statement in the place of a known one (a fork),
nor fewer statements than it has seen (a rollback). Budgets have nothing to do with keys: books, caps and kept answers are the collection's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphveil.client.signing import holds
from graphveil.errors import MessageError, RefusalError
from graphveil.privacy import SignedSuccession, Succession


@dataclass(frozen=True)
class KeyChain:
    """``first`` is the key that a collection began with, as far as the device was shown; ``statements`` what it has followed since."""

    collection: str
    first: bytes
    statements: tuple[SignedSuccession, ...] = ()

    @property
    def number(self) -> int:
        """How many changes were followed."""
        return len(self.statements)

    @property
    def keys(self) -> tuple[bytes, ...]:
        """All keys, in their order; the last is the one that counts."""
        return (self.first, *(each.statement.after for each in self.statements))

    @property
    def current(self) -> bytes:
        """The key that signs questions."""
        return self.keys[-1]

    def followed(self, served: Sequence[SignedSuccession]) -> KeyChain:
        """The chain as a server shows it now, if it goes on from this one; a RefusalError says why not."""
        if len(served) < self.number:
            raise _refused(
                f"the server shows {len(served)} changes of the key, and this device has followed {self.number}: it was set back, or is not "
                "the collection's own"
            )
        for known, shown in zip(self.statements, served, strict=False):
            if known.payload != shown.payload:
                raise _refused(
                    f"the server shows another change of the key as number {known.statement.number} than this device has followed: there are "
                    "two successors, and only one can be right"
                )
        chain = self
        for shown in served[self.number :]:
            chain = KeyChain(self.collection, self.first, (*chain.statements, chain._next(shown)))
        return chain

    def _next(self, shown: SignedSuccession) -> SignedSuccession:
        """The next statement, checked."""
        try:
            told = shown.statement
        except MessageError as error:
            raise _refused(f"a change of the key cannot be read: {error}") from None
        wrong = self._wrong(told)
        if wrong is not None:
            raise _refused(f"change {self.number + 1} of the key {wrong}")
        for key, signature, whose in ((told.before, shown.old, "old"), (told.after, shown.new, "new")):
            if not holds(key, signature, shown.signed):
                raise _refused(f"change {told.number} of the key is not signed by the {whose} key")
        return shown

    def _wrong(self, told: Succession) -> str | None:
        """What does not fit in a statement that should be the next one."""
        if told.collection != self.collection:
            return "belongs to another collection"
        if told.number != self.number + 1:
            return f"has the number {told.number}: one is missing, or is there twice"
        if told.before != self.current:
            return "does not pass on from the key that this device knows"
        if told.after in self.keys:
            return "passes to a key that was one before"
        if self.statements and told.made < self.statements[-1].statement.made:
            return "is older than the one before it"
        return None


def enrolled_chain(
    collection: str, invited: bytes, offered: bytes, served: Sequence[SignedSuccession]
) -> KeyChain:
    """The chain of a collection that invites by one key and now offers another, or the same; the invitation's must be in it.

    An invitation from before a change is good for a device that enrols after it. Its key has signed what came next; of what came before, that it is its
    successor.
    """
    first = invited
    if served:
        try:
            first = served[0].statement.before
        except MessageError as error:
            raise _refused(f"a change of the key cannot be read: {error}") from None
    chain = KeyChain(collection, first).followed(served)
    if invited not in chain.keys or chain.current != offered:
        raise _refused(
            "the server has another key than the invitation says, and no succession leads from one to the other: it is not the collection that "
            "invited you"
        )
    return chain


def _refused(why: str) -> RefusalError:
    return RefusalError("key", why)
