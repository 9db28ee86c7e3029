"""What a device checks before it answers: every refusal has its reason, and follows from the plan and public books alone.

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
from graphveil.client.signing import verified
from graphveil.errors import InputError, RefusalError
from graphveil.mechanisms import Mechanism, entry
from graphveil.mechanisms.personal import level_budgets
from graphveil.privacy import Plan, Question, SignedQuestion, attributes_in_reach

# A range of norms is a root, which other languages may compute a bit differently.
CLOSE = 1e-9


def checked_question(signed: SignedQuestion, agreement: Agreement, now: float) -> Question:
    """The question inside, if it is one that the owner has agreed to answer; else a RefusalError says why not."""
    question = _read(signed, agreement.offer)
    plan = question.plan
    _check_context(question, agreement, now)
    mechanism = plan.build()
    _check_whom(question, mechanism, agreement)
    _check_range(plan, mechanism, agreement.offer, agreement.user)
    _check_levels(mechanism, agreement)
    _check_excluded(plan, agreement)
    exact_claim(plan, mechanism)
    return question


def exact_claim(plan: Plan, mechanism: Mechanism) -> Claim:
    """The exact ε of an answer, rounded up, as the integers of the tables built here say it, and δ; a claim that is less is refused."""
    claim, exact = mechanism.claim, mechanism.epsilon
    if not entry(plan.mechanism).sound or not mechanism.holds or not exact <= claim.epsilon:
        raise RefusalError(
            "claim",
            f"{plan.mechanism} does not keep the privacy that it claims: `graphveil audit {plan.mechanism}` says why; "
            "the collection must ask by another mechanism",
        )
    return Claim(exact, claim.delta)


def _read(signed: SignedQuestion, offer: Offer) -> Question:
    try:
        return verified(signed, offer.key, offer.question_numbers)
    except InputError as error:
        # The bytes are the server's own: nothing private can stand in what is wrong with them.
        raise RefusalError("damaged", f"the question cannot be answered: {error}") from None


def _check_context(question: Question, agreement: Agreement, now: float) -> None:
    if question.collection != agreement.collection:
        raise RefusalError(
            "collection", "the question belongs to another collection: it was signed for other people"
        )
    if question.purpose != agreement.offer.purpose:
        raise RefusalError(
            "purpose", "the question is for another purpose than the one that was agreed on at enrolment"
        )
    if not now < question.expires:
        raise RefusalError(
            "expired",
            "the question has expired by this device's clock: wait for the next one, or set the clock",
        )


def _check_whom(question: Question, mechanism: Mechanism, agreement: Agreement) -> None:
    plan = question.plan
    if mechanism.trust == "curator":
        raise RefusalError(
            "curator",
            f"{plan.mechanism} is a curator's mechanism, which takes data in the clear: a device answers local ones only",
        )
    if plan.users != (agreement.user,) or question.user != agreement.user:
        raise RefusalError(
            "users",
            "the question must ask exactly the owner of this device: it asks nobody, somebody else, or others too",
        )
    if plan.subject not in agreement.subjects:
        raise RefusalError(
            "subject",
            f"the question is about {plan.subject}, and this device answers about {', '.join(agreement.subjects)} only",
        )


def _check_range(plan: Plan, mechanism: Mechanism, offer: Offer, user: int) -> None:
    """Dimensions, range and classes must be those agreed on: a narrowed range would change what an answer tells."""
    if plan.subject == "label" and plan.classes != offer.classes:
        raise RefusalError(
            "classes", f"the question counts on {plan.classes} labels, agreed were {offer.classes}"
        )
    if plan.subject == "links" and (plan.dims or 0) <= user:
        raise RefusalError("dims", "the question about links does not count the owner among the users")
    if plan.subject == "links" and (plan.dims or 0) > offer.most_people:
        raise RefusalError(
            "dims",
            f"the question counts on {plan.dims} people, and with {offer.people} at enrolment at most {offer.most_people} were agreed on",
        )
    if plan.subject != "features":
        return
    agreed = 1 if plan.of == "norm" else offer.dims
    if mechanism.shape.row_length != agreed:
        raise RefusalError(
            "dims", f"the question is about rows of {mechanism.shape.row_length} values, agreed were {agreed}"
        )
    if not _fits_range(plan, offer):
        raise RefusalError(
            "range",
            f"the question counts on the range {_shown(plan.range)}, agreed was {_shown(offer.range)}"
            f"{', of values between its ends too' if plan.binary else ''}: with another one, answers mean something else",
        )


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


def _check_levels(mechanism: Mechanism, agreement: Agreement) -> None:
    """Books that have a column for each level need to know what each costs."""
    agreed, asked = agreement.cap.by_level, level_budgets(mechanism)
    if agreed is not None and asked is not None and len(agreed) not in (1, len(asked)):
        raise RefusalError(
            "levels", f"the question counts on {len(asked)} privacy levels, agreed were {len(agreed)}"
        )


def _check_excluded(plan: Plan, agreement: Agreement) -> None:
    reached = attributes_in_reach(plan, agreement.offer.dims)
    if any(reached[number] for number in agreement.excluded):
        raise RefusalError(
            "excluded", "an answer may depend on an attribute that the owner of this device excludes"
        )


def _shown(pair: tuple[float, float] | None) -> str:
    return "none" if pair is None else f"{pair[0]:g}..{pair[1]:g}"
