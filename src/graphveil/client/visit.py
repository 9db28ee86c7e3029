"""A device visits a collector: it enrols, looks at what is asked, and answers what its owner lets it answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from graphveil.client.agreement import Agreement, Cap, Offer, check_excluded, check_volunteer
from graphveil.client.calls import Calls
from graphveil.client.device import Device, Inquiry
from graphveil.client.held import Held
from graphveil.client.key_chain import enrolled_chain
from graphveil.errors import InputError, MessageError, RefusalError, ServerError
from graphveil.privacy import Invitation

STORED, KEPT, OTHER = 201, 200, 409


@dataclass(frozen=True)
class Visited:
    """What came of one question: answered, kept silent by the owner, or refused with a reason; and what the server said."""

    inquiry: Inquiry | None
    refusal: RefusalError | None = None
    status: int | None = None
    said: str = ""

    @property
    def delivered(self) -> bool:
        """Whether the server has the answer, durably."""
        return self.status in (STORED, KEPT)


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
    """Take part in a collection. The invitation pins its key, or one that has passed on to it; ``agree`` is asked, with the terms, before anything is sent.

    Without a ``cap`` it is the one that the collection offers.
    """
    invitation = Invitation.read(token)
    offer, served = calls.offer(), calls.successions()
    enrolled_chain(offer.collection, invitation.key, offer.key, served)
    terms = offer.cap if cap is None else cap
    held.check(offer.dims)
    subjects = tuple(each for each in held.subjects if each != "links" or offer.private_links)
    if not subjects:
        raise InputError("this device holds nothing to answer with: give a row")
    without = check_excluded(excluded, offer.dims)
    if volunteer:
        check_volunteer(offer, without)
    if held.neighbour_ids is not None and not offer.private_links:
        raise InputError("this collection asks nobody for links: leave the list of them out")
    if not agree(offer, terms):
        raise RefusalError("owner", "the owner does not take part: nothing was sent")
    told = calls.enrol(invitation, terms, without, volunteer, offer.key)
    if told.collection != offer.collection:
        raise RefusalError(
            "collection", "the server enrolled this device in another collection than it offered"
        )
    agreement = Agreement(
        offer=offer,
        server=server,
        pseudonym=told.pseudonym,
        user=told.user,
        credential=told.credential,
        cap=terms,
        enrolled=int(clock()),
        excluded=without,
        subjects=subjects,
        volunteer=volunteer,
    )
    device.agree(agreement, served)
    return agreement


def visit(
    device: Device,
    calls: Calls,
    collection: str,
    held: Held,
    agree: Callable[[Inquiry], bool] = lambda inquiry: True,
) -> list[Visited]:
    """Answer what is asked now, one question after the other, in the server's order; ``agree`` is the owner, asked before each.

    A key that has passed to another one is followed first; where it cannot be, nothing is answered. Whether the owner agrees should depend on what is asked, never on the own values: silence can tell something.
    """
    device.follow(collection, calls.successions())
    agreement, seen = device.agreement(collection), []
    for signed in calls.questions(agreement.credential):
        inquiry = None
        try:
            inquiry = device.look(collection, signed)
            if not agree(inquiry):
                seen.append(Visited(inquiry))
                continue
            # Whether they are needed follows from the question, and not from whom the owner knows.
            if inquiry.question.plan.subject == "links" and held.needs_people:
                held = _among_people(held, calls, agreement)
            sealed = device.answer(collection, signed, held)
        except RefusalError as refusal:
            seen.append(Visited(inquiry, refusal))
            continue
        response = calls.send(agreement.credential, sealed)
        seen.append(Visited(inquiry, None, response.status, response.problem))
    return seen


def _among_people(held: Held, calls: Calls, agreement: Agreement) -> Held:
    """What is held, with neighbours by the numbers that the collection gives to people."""
    try:
        return held.among(agreement.collection, calls.people(agreement.credential))
    except MessageError as error:
        raise RefusalError("people", str(error)) from None


def give_row(device: Device, calls: Calls, collection: str, held: Held) -> bool:
    """Give the raw row to a collection, as agreed at enrolment; whether it was new to the server."""
    agreement = device.agreement(collection)
    response = calls.send_row(agreement.credential, device.give_row(collection, held))
    if response.status not in (STORED, KEPT):
        raise ServerError(response.status, f"the collector refuses the row: {response.problem}")
    return response.status == STORED
