"""Taking part in a collection again and again: which agreement counts, a new token, lost books, and what came of a visit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphveil.channels.exact import Claim
from graphveil.checks import check_number
from graphveil.client.agreement import Agreement
from graphveil.client.calls import Calls
from graphveil.client.device import Device
from graphveil.client.held import Held
from graphveil.client.visit import USED, Visited, enrol, own_credential
from graphveil.errors import InputError, RefusalError, ServerError
from graphveil.number_format import rounded_up
from graphveil.privacy import Invitation


def known_agreement(device: Device, calls: Calls, server: str, token: str | None) -> Agreement | None:
    """Return what was agreed on with a server before; with a token, in the collection that the server has now."""
    collection = None if token is None else calls.offer().collection
    known = [
        each
        for each in device.agreements()
        if each.server == server and collection in (None, each.collection)
    ]
    if not known and token is None:
        raise InputError(
            f"this device ({device.path}) takes part in no collection of {server} yet: give the --token of your invitation"
        )
    return known[-1] if known else None


def enrol_again(device: Device, calls: Calls, known: Agreement, token: str, held: Held) -> None:
    """Use a new token of somebody who takes part already: the device gets another credential, and keeps its books and terms."""
    credentials, given = device.credentials(known.collection), Invitation.read(token).secret_hash
    used = credentials.read().token
    if given == used:
        return
    terms: dict[str, Any] = {"cap": known.cap, "excluded": known.excluded, "volunteer": known.volunteer}
    try:
        enrol(device, calls, known.server, token, held, **terms)
    except ServerError as error:
        # Books of earlier versions do not say which token they were made with: it was this one.
        if used is not None or error.status != USED:
            raise
        credentials.keep_token(given)


def check_links(agreement: Agreement, held: Held) -> None:
    """Refuse a list of links that was not agreed on, and its absence where it was: that is said at enrolment, for good."""
    agreed = "links" in agreement.subjects
    if held.neighbour_ids is not None and not agreed:
        raise InputError(
            "you enrolled in this collection without a list of links, and terms hold for good: leave out --links"
        )
    if agreed and "links" not in held.subjects:
        raise InputError(
            "you answer this collection about links too: give --links, with an empty file if there is nobody"
        )


def recover_books(device: Device, calls: Calls, agreement: Agreement, spent: float) -> None:
    """Take the owner's word for what was spent in a collection, where a backup was restored and the books do not know it."""
    check_number(spent, "--spent", least=0)
    credential = own_credential(device, calls, agreement.collection)
    device.note_answered(agreement.collection, calls.answered(credential))
    if device.doubt(agreement.collection) is None:
        raise InputError("the books of this device know what was spent: leave out --spent")
    device.recover({agreement.collection: Claim(spent, agreement.cap.delta)})


@dataclass(frozen=True)
class VisitSummary:
    """What came of a visit: each question, whether the row was given, and what was spent in the collection and in all.

    Books that are in ``doubt`` do not know what is left: nothing is, until the owner says what was spent.
    """

    collection: str
    questions: tuple[Visited, ...]
    row_given: bool
    doubt: RefusalError | None
    left: Claim
    lifetime: Claim
    spent_in_all: float

    @classmethod
    def of(
        cls, device: Device, collection: str, questions: Sequence[Visited], row_given: bool
    ) -> VisitSummary:
        """Read what was spent from the books of a device."""
        spendings, doubt = device.spendings(), device.doubt(collection)
        own = next(each for each in spendings if each.agreement.collection == collection)
        left = own.left if doubt is None else Claim(0.0, 0.0)
        in_all = sum(each.lifetime.epsilon for each in spendings)
        return cls(collection, tuple(questions), row_given, doubt, left, own.lifetime, in_all)

    @property
    def failed(self) -> bool:
        """Whether something was refused, by the device or by the server."""
        return self.doubt is not None or any(each.failed for each in self.questions)

    @property
    def claim_broken(self) -> bool:
        """Whether a question was refused because its mechanism does not keep what it claims."""
        return any(each.reason == "claim" for each in self.questions)

    def to_dict(self) -> dict[str, Any]:
        """Return the summary in the form that `--json` prints."""
        return {
            "collection": self.collection,
            "questions": [each.to_dict() for each in self.questions],
            "row_given": self.row_given,
            "refused": None if self.doubt is None else self.doubt.reason,
            "left": {"epsilon": self.left.epsilon, "delta": self.left.delta},
            "lifetime": {"epsilon": self.lifetime.epsilon, "delta": self.lifetime.delta},
        }

    @property
    def sentences(self) -> list[str]:
        """What the owner is told, a sentence each."""
        lines = [each.sentence for each in self.questions] or ["Nothing is asked of you now."]
        if self.row_given:
            lines.append("Your row was given.")
        spent = rounded_up(self.lifetime.epsilon, 9)
        if self.doubt is None:
            lines.append(
                f"Spent in this collection: ε = {spent}; left of the cap: {self.left.epsilon:.6g}; "
                f"spent by this device in all: {rounded_up(self.spent_in_all, 9)}."
            )
            return lines
        if all(each.reason != self.doubt.reason for each in self.questions):
            lines.append(f"Refused ({self.doubt.reason}): {self.doubt}.")
        return [*lines, f"Spent in this collection: at least ε = {spent}."]
