"""A device visits a collector: it enrols, looks at what is asked, and answers what its owner lets it answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from graphveil.client.agreement import Agreement, Cap, Offer, check_excluded, check_volunteer
from graphveil.client.calls import Calls
from graphveil.client.device import Device, Inquiry
from graphveil.client.held import Held
from graphveil.client.key_chain import enrolled_chain
from graphveil.errors import InputError, MessageError, RefusalError, ServerError
from graphveil.privacy import Invitation

# 409: a token that was used.
STORED, KEPT, USED = 201, 200, 409
REGISTERED, UNKNOWN, NO_SUCH_CALL = 204, 401, 404


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

    @property
    def reason(self) -> str | None:
        """Why the device refused the question; None where it did not."""
        return None if self.refusal is None else self.refusal.reason

    @property
    def failed(self) -> bool:
        """Whether the question was refused by the device, or its answer by the server."""
        return self.refusal is not None or self.status not in (None, STORED, KEPT)

    @property
    def sentence(self) -> str:
        """What the owner is told of it."""
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
    """Take part in a collection. The invitation pins its key, or one that has passed on to it; ``agree`` is asked, with the terms, before anything is sent.

    Without a ``cap`` it is the one that the collection offers. A device that takes part already, and was invited again, registers another credential; books
    and terms stay, and must be the same. What was lost on the way can be asked for again: the credential is drawn once, and kept before it is used.
    """
    invitation, calls = Invitation.read(token), calls.within()
    offer, served = calls.offer(), calls.successions()
    enrolled_chain(offer.collection, invitation.key, offer.key, served)
    agreed = _terms(device, offer, server, held, cap, excluded, volunteer)
    if not agree(offer, agreed["cap"]):
        raise RefusalError("owner", "the owner does not take part: nothing was sent")
    used = invitation.secret_hash
    credential = device.credentials(offer.collection).draw(used)
    told = calls.enrol(invitation, credential, agreed["cap"], agreed["excluded"], volunteer, offer.key)
    if told.collection != offer.collection:
        raise RefusalError(
            "collection", "the server enrolled this device in another collection than it offered"
        )
    agreement = Agreement(pseudonym=told.pseudonym, user=told.user, enrolled=int(clock()), **agreed)
    device.agree(agreement, served, used)
    return device.agreement(offer.collection)


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
    """
    credentials = device.credentials(collection)
    held = credentials.read()
    if held.former is None:
        if held.current is None:
            raise InputError("this device is not enrolled in that collection: enrol with a token first")
        return held.current
    credential = credentials.draw(held.token)
    response = calls.register(held.former, credential)
    if response.status == NO_SUCH_CALL:
        # A collector of that earlier version.
        return held.former
    if response.status == REGISTERED:
        credentials.confirm()
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
    """Answer what is asked now, one question after the other, in the server's order; ``agree`` is the owner, asked before each.

    A key that has passed to another one is followed first; where it cannot be, nothing is answered. Nor is it where the collector has
    more answers of this device than its books know. Its calls take about 15 minutes in all at most. Whether the owner agrees should depend on what is asked, never on their values: silence can tell something.
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
                held = _among_people(held, calls.people(credential, offer), collection)
            sealed = device.answer(collection, signed, held)
        except RefusalError as refusal:
            seen.append(Visited(inquiry, refusal))
            continue
        response = calls.send(credential, sealed)
        seen.append(Visited(inquiry, None, response.status, response.problem))
    return seen


def _among_people(held: Held, digests: bytes, collection: str) -> Held:
    """What is held, with neighbours by the numbers that the collection gives to people."""
    try:
        return held.among(collection, digests)
    except MessageError as error:
        raise RefusalError("people", str(error)) from None


def give_row(device: Device, calls: Calls, collection: str, held: Held) -> bool:
    """Give the raw row to a collection, as agreed at enrolment; whether it was new to the server."""
    credential = own_credential(device, calls, collection)
    response = calls.send_row(credential, device.give_row(collection, held))
    if response.status not in (STORED, KEPT):
        raise ServerError(response.status, f"the collector refuses the row: {response.problem}")
    return response.status == STORED
