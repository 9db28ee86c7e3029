"""The checks of a device before it answers: every refusal has a reason, from the plan and public books alone.

| reason | the question |
| --- | --- |
| library | cannot be verified: the library for signatures is missing |
| signature | is not signed by the key that was pinned at enrolment, or that it has passed to |
| key | reaches a device that has followed a newer key, or is shown keys that do not follow from the one that it knows |
| damaged | is no question, is larger than what was agreed on needs, or its plan cannot be served |
| collection | belongs to another collection |
| purpose | is for another purpose than the one agreed on |
| expired | came too late |
| curator | asks for data in the clear, for a curator to add noise |
| users | asks nobody, somebody else, or others too |
| subject | is about something that the owner does not answer questions about |
| dims | is about rows of another length, or about links among more people than agreed |
| range | counts on another range of values |
| classes | counts on another number of labels |
| levels | counts on another number of privacy levels |
| excluded | may depend on an attribute that the owner excludes |
| people | is about links to people of whom the server gives one two numbers, or does not name all |
| claim | is asked by a mechanism that does not keep what it claims |
| cap | would cost more than the cap leaves |
| memory | reaches a device whose books are older than what it has sent |
"""

from __future__ import annotations

import math

from graphveil.channels.exact import Claim
from graphveil.client.agreement import Agreement, Offer
from graphveil.client.keys import verified
from graphveil.errors import InputError, RefusalError
from graphveil.mechanisms import Mechanism, entry
from graphveil.privacy import Plan, Question, SignedQuestion, attributes_in_reach

# A range of norms is a root, which other languages may compute a bit differently.
CLOSE = 1e-9


def checked_question(signed: SignedQuestion, agreement: Agreement, now: float) -> Question:
    """Return the question inside, if it is one that the owner has agreed to answer; else a RefusalError says why not."""
    offer, user = agreement.offer, agreement.user
    try:
        question = verified(signed, offer.key, offer.question_numbers)
    except InputError as error:
        # The bytes are the server's own: nothing private can stand in what is wrong with them.
        raise RefusalError("damaged", f"the question cannot be answered: {error}") from None
    if question.collection != agreement.collection:
        raise RefusalError("collection", "the question belongs to another collection")
    if question.purpose != offer.purpose:
        raise RefusalError("purpose", "the question is for another purpose than was agreed on")
    if not now < question.expires:
        raise RefusalError("expired", "the question has expired: wait for the next, or set the clock")
    plan, mechanism = question.plan, question.plan.build()
    if mechanism.trust == "curator":
        raise RefusalError("curator", f"{plan.mechanism} is a curator's: it takes data in the clear")
    if plan.users != (user,) or question.user != user:
        raise RefusalError("users", "the question must ask the owner of this device, and nobody else")
    if plan.subject not in agreement.subjects:
        answered = ", ".join(agreement.subjects)
        raise RefusalError("subject", f"it is about {plan.subject}, this device answers about {answered}")
    _check_shape(plan, mechanism, agreement)
    reached = attributes_in_reach(plan, offer.dims)
    if any(reached[number] for number in agreement.excluded):
        raise RefusalError("excluded", "an answer may depend on an attribute that the owner excludes")
    exact_claim(plan, mechanism)
    return question


def exact_claim(plan: Plan, mechanism: Mechanism) -> Claim:
    """The exact ε of an answer, rounded up, as the integers of the tables built here say it, and δ; a claim that is less is refused."""
    claim, exact = mechanism.claim, mechanism.epsilon
    if not entry(plan.mechanism).sound or not mechanism.holds or not exact <= claim.epsilon:
        said = f"{plan.mechanism} does not keep the privacy that it claims: `graphveil audit {plan.mechanism}` says why"
        raise RefusalError("claim", said)
    return Claim(exact, claim.delta)


def _check_shape(plan: Plan, mechanism: Mechanism, agreement: Agreement) -> None:
    """Refuse other dimensions, ranges, classes and levels than were agreed on: a narrowed range would change what an answer tells."""
    offer, people, levels = agreement.offer, plan.dims or 0, agreement.cap.by_level
    if plan.subject == "label" and plan.classes != offer.classes:
        raise RefusalError("classes", f"it counts on {plan.classes} labels, agreed were {offer.classes}")
    if plan.subject == "links" and people <= agreement.user:
        raise RefusalError("dims", "the question about links does not count the owner among the users")
    if plan.subject == "links" and people > offer.most_people:
        raise RefusalError("dims", f"it counts on {people} people, agreed were {offer.most_people}")
    length, agreed = mechanism.shape.row_length, 1 if plan.of == "norm" else offer.dims
    if plan.subject == "features" and length != agreed:
        raise RefusalError("dims", f"the question is about rows of {length} values, agreed were {agreed}")
    if plan.subject == "features" and not _fits_range(plan, offer):
        binary = ", of values between its ends too" if plan.binary else ""
        asked = f"{_shown(plan.range)}, agreed was {_shown(offer.range)}{binary}"
        raise RefusalError("range", f"it counts on the range {asked}: with another, answers differ")
    # Books that have a column for each level need to know what each costs.
    costs = mechanism.budgets
    if levels is not None and costs and len(levels) not in (1, len(costs)):
        raise RefusalError("levels", f"it counts on {len(costs)} privacy levels, agreed were {len(levels)}")


def _fits_range(plan: Plan, offer: Offer) -> bool:
    # A radius would stand for the range.
    if "radius" in plan.options:
        return False
    if plan.of == "norm":
        low, high = plan.range or (math.nan, math.nan)
        return not plan.binary and low == 0 and math.isclose(high, offer.largest_norm, rel_tol=CLOSE)
    if plan.mechanism == "item":
        # Items are there or not: that is what values 0 and 1 say.
        return offer.binary and offer.range == (0.0, 1.0)
    return plan.range == offer.range and not (plan.binary and not offer.binary)


def _shown(pair: tuple[float, float] | None) -> str:
    return "none" if pair is None else f"{pair[0]:g}..{pair[1]:g}"
