"""A device visits a collector: it enrols, looks at what is asked, answers what its owner lets it answer, and says what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graphveil.channels.exact import Claim
from graphveil.checks import check_number
from graphveil.client.agreement import Agreement, Cap, Offer, check_excluded, check_volunteer
from graphveil.client.calls import Calls
from graphveil.client.device import Device, Inquiry
from graphveil.client.held import Held
from graphveil.client.keys import enrolled_chain
from graphveil.errors import InputError, RefusalError, ServerError
from graphveil.number_format import rounded_up
from graphveil.privacy import Invitation

# 409: a token that was used.
STORED, KEPT, USED = 201, 200, 409
REGISTERED, UNKNOWN, NO_SUCH_CALL = 204, 401, 404


@dataclass(frozen=True)
class Visited:
    """The outcome of one question: answered, declined by the owner, or refused with a reason.

    And the server's reply.
    """

    inquiry: Inquiry | None
    refusal: RefusalError | None = None
    status: int | None = None
    said: str = ""

    @property
    def delivered(self) -> bool:
        """Whether the server has the answer, durably."""
        return self.status in (STORED, KEPT)

    @property
    def reason(self) -> str | None:
        """The reason why the device refused the question; None if it did not."""
        return None if self.refusal is None else self.refusal.reason

    @property
    def failed(self) -> bool:
        """Whether the question was refused by the device, or its answer by the server."""
        return self.refusal is not None or self.status not in (None, STORED, KEPT)

    @property
    def sentence(self) -> str:
        """The sentence that the owner is told about it."""
        if self.refusal is not None:
            return f"Refused ({self.reason}): {self.refusal}."
        assert self.inquiry is not None
        name = f"Round {self.inquiry.question.round}"
        if self.status is None:
            return f"{name}: not answered."
        if self.delivered:
            return f"{name}: answered, and kept by the collector."
        return f"{name}: the collector does not take the answer ({self.said}); it is kept here, and costs nothing more."

    def to_dict(self) -> dict[str, Any]:
        """Return what came of it in the form that `--json` prints."""
        return {
            "round": None if self.inquiry is None else self.inquiry.question.round,
            "epsilon": None if self.inquiry is None else self.inquiry.claim.epsilon,
            "delivered": self.delivered,
            "status": self.status,
            "refused": self.reason,
        }


def enrol(
    device: Device,
    calls: Calls,
    server: str,
    token: str,
    held: Held,
    *,
    cap: Cap | None = None,
    excluded: tuple[int, ...] = (),
    volunteer: bool = False,
    agree: Callable[[Offer, Cap], bool] = lambda offer, cap: True,
    clock: Callable[[], float] = time.time,
) -> Agreement:
    """Take part in a collection, whose key the invitation pins, directly or by succession.

    A device that takes part already, and was invited again, registers another credential; books and terms
    stay, and must be the same. What was lost on the way can be asked for again: the credential is drawn once,
    and kept before it is used.

    Parameters
    ----------
    device
        The owner's device.
    calls
        The calls to the collector.
    server
        The address of the collector.
    token
        The invitation in one word.
    held
        The owner's data.
    cap
        The most that the owner spends; by default the cap that the collection offers.
    excluded
        The numbers of the attributes that no question may depend on.
    volunteer
        Whether the owner gives the raw row.
    agree
        Asked with the terms before anything is sent.
    clock
        The time in seconds since 1970.
    """
    invitation, calls = Invitation.read(token), calls.within()
    offer, served = calls.offer(), calls.successions()
    enrolled_chain(offer.collection, invitation.key, offer.key, served)
    agreed = _terms(device, offer, server, held, cap, excluded, volunteer)
    if not agree(offer, agreed["cap"]):
        raise RefusalError("owner", "the owner does not take part: nothing was sent")
    used = invitation.secret_hash
    with device.books() as books:
        credential = books.draw_credential(offer.collection, used)
    cap, without = agreed["cap"], agreed["excluded"]
    collection, pseudonym, user = calls.enrol(invitation, credential, cap, without, volunteer, offer.key)
    if collection != offer.collection:
        raise RefusalError("collection", "the server enrolled this device in another collection")
    agreement = Agreement(pseudonym=pseudonym, user=user, enrolled=int(clock()), **agreed)
    device.agree(agreement, served, used)
    return device.agreement(collection)


def _terms(
    device: Device,
    offer: Offer,
    server: str,
    held: Held,
    cap: Cap | None,
    excluded: tuple[int, ...],
    volunteer: bool,
) -> dict[str, Any]:
    """Return what is to be agreed on, checked. Where the device takes part already, it must be what was agreed on before."""
    known = next((each for each in device.agreements() if each.collection == offer.collection), None)
    held.check(offer.dims)
    subjects = tuple(each for each in held.subjects if each != "links" or offer.private_links)
    if not subjects:
        raise InputError("this device holds nothing to answer with: give a row")
    without = check_excluded(excluded, offer.dims)
    if volunteer:
        check_volunteer(offer, without)
    if held.neighbour_ids is not None and not offer.private_links:
        raise InputError("this collection asks nobody for links: leave the list of them out")
    told: dict[str, Any] = {
        "offer": offer,
        "server": server,
        "excluded": without,
        "volunteer": volunteer,
    }
    if known is None:
        return {**told, "cap": cap or offer.cap, "subjects": subjects}
    told |= {"cap": cap or known.cap, "subjects": known.subjects}
    if replace(known, **told) != replace(known, offer=replace(known.offer, key=offer.key)):
        raise InputError(
            "this device takes part in that collection already, with other terms, which hold for good: enrol with the same cap, excluded "
            "attributes and consent, at the same server"
        )
    return told


def own_credential(device: Device, calls: Calls, collection: str) -> str:
    """Return the credential of this device. Where a collector of an earlier version has made one, the device registers its own first.

    If the answer to that was lost, the device's own is registered all the same; so it is used whether or not the collector takes the former one once more.

    Parameters
    ----------
    device
        The owner's device.
    calls
        The calls to the collector.
    collection
        The collection's id.
    """
    with device.books() as books:
        held = books.credentials(collection)
        if held.former is None and held.current is None:
            raise InputError("this device is not enrolled in that collection: enrol with a token first")
        credential = held.current if held.former is None else books.draw_credential(collection, held.token)
    assert credential is not None
    if held.former is None:
        return credential
    response = calls.register(held.former, credential)
    if response.status == NO_SUCH_CALL:
        # A collector of that earlier version.
        return held.former
    if response.status == REGISTERED:
        with device.books() as books:
            books.confirm_credential(collection)
    elif response.status != UNKNOWN:
        raise ServerError(response.status, f"the collector does not register this device: {response.problem}")
    return credential


def visit(
    device: Device,
    calls: Calls,
    collection: str,
    held: Held,
    agree: Callable[[Inquiry], bool] = lambda inquiry: True,
) -> list[Visited]:
    """Answer what is asked now, one question after the other, in the server's order.

    A key that has passed to another one is followed first; where it cannot be, nothing is answered. Nor is it where the collector has
    more answers of this device than its books know. Its calls take about 15 minutes in all at most. Whether the owner agrees should depend on what is asked, never on their values: silence can tell something.

    Parameters
    ----------
    device
        The owner's device.
    calls
        The calls to the collector.
    collection
        The collection's id.
    held
        The owner's data.
    agree
        The owner's decision, asked for before each question.
    """
    calls = calls.within()
    device.follow(collection, calls.successions())
    credential, seen = own_credential(device, calls, collection), []
    device.note_answered(collection, calls.answered(credential))
    offer = device.agreement(collection).offer
    for signed in calls.questions(credential, offer):
        inquiry = None
        try:
            inquiry = device.look(collection, signed)
            if not agree(inquiry):
                seen.append(Visited(inquiry))
                continue
            # Whether they are needed follows from the question, and not from whom the owner knows.
            if inquiry.question.plan.subject == "links" and held.needs_people:
                held = held.among(collection, calls.people(credential, offer))
            sealed = device.answer(collection, signed, held)
        except RefusalError as refusal:
            seen.append(Visited(inquiry, refusal))
            continue
        response = calls.send(credential, sealed)
        seen.append(Visited(inquiry, None, response.status, response.problem))
    return seen


def give_row(device: Device, calls: Calls, collection: str, held: Held) -> bool:
    """Give the raw row to a collection, as agreed at enrolment; return whether it was new to the server.

    Parameters
    ----------
    device
        The owner's device.
    calls
        The calls to the collector.
    collection
        The collection's id.
    held
        The owner's data.
    """
    credential = own_credential(device, calls, collection)
    response = calls.send_row(credential, device.give_row(collection, held))
    if response.status not in (STORED, KEPT):
        raise ServerError(response.status, f"the collector refuses the row: {response.problem}")
    return response.status == STORED


def known_agreement(device: Device, calls: Calls, server: str, token: str | None) -> Agreement | None:
    """Return what was agreed on with a server before; with a token, in the collection that the server has now.

    Parameters
    ----------
    device
        The owner's device.
    calls
        The calls to the collector.
    server
        The address of the collector.
    token
        The invitation in one word, if there is one.
    """
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
    """Use a new token of somebody who takes part already: the device gets another credential, and keeps its books and terms.

    Parameters
    ----------
    device
        The owner's device.
    calls
        The calls to the collector.
    known
        The agreement with the collection.
    token
        The new invitation in one word.
    held
        The owner's data.
    """
    given = Invitation.read(token).secret_hash
    with device.books() as books:
        used = books.credentials(known.collection).token
    if given == used:
        return
    terms: dict[str, Any] = {"cap": known.cap, "excluded": known.excluded, "volunteer": known.volunteer}
    try:
        enrol(device, calls, known.server, token, held, **terms)
    except ServerError as error:
        # Books of earlier versions do not say which token they were made with: it was this one.
        if used is not None or error.status != USED:
            raise
        with device.books() as books:
            books.keep_token(known.collection, given)


def check_links(agreement: Agreement, held: Held) -> None:
    """Refuse a list of links that was not agreed on, and its absence where it was: that is said at enrolment, for good."""
    agreed = "links" in agreement.subjects
    if held.neighbour_ids is not None and not agreed:
        raise InputError("you enrolled without a list of links, and terms hold for good: leave out --links")
    if agreed and "links" not in held.subjects:
        raise InputError("you answer about links too: give --links, an empty file if there is nobody")


def recover_books(device: Device, calls: Calls, agreement: Agreement, spent: float) -> None:
    """Take the owner's word for what was spent in a collection, where a backup was restored and the books do not know it.

    Parameters
    ----------
    device
        The owner's device.
    calls
        The calls to the collector.
    agreement
        The agreement with the collection.
    spent
        The ε that was spent in it.
    """
    check_number(spent, "--spent", least=0)
    credential = own_credential(device, calls, agreement.collection)
    device.note_answered(agreement.collection, calls.answered(credential))
    if device.doubt(agreement.collection) is None:
        raise InputError("the books of this device know what was spent: leave out --spent")
    device.recover({agreement.collection: Claim(spent, agreement.cap.delta)})


@dataclass(frozen=True)
class VisitSummary:
    """The outcome of a visit: each question, whether the row was given, and the spending there and in all.

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
        """Read what was spent from the books of a device.

        Parameters
        ----------
        device
            The owner's device.
        collection
            The collection's id.
        questions
            The outcome of each question.
        row_given
            Whether the row was given.
        """
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
        """Return the sentences that the owner is told."""
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
