"""What an owner reads before saying yes: the terms of a collection, and what a question asks and costs."""

from __future__ import annotations

from datetime import UTC, datetime

from graphveil.client.agreement import Agreement, Cap, Offer
from graphveil.client.device import Inquiry
from graphveil.mechanisms import FeatureMechanism
from graphveil.number_format import rounded_up
from graphveil.privacy import Plan


def terms_text(offer: Offer, cap: Cap, excluded: tuple[int, ...], volunteer: bool) -> list[str]:
    """Return what taking part in a collection costs at most, and what it is asked for, a sentence each."""
    delta = f" and δ = {cap.delta:g}" if cap.delta else ""
    period = "for life."
    if cap.renewal_days is not None:
        yearly = rounded_up(cap.epsilon * (1 + 365 // cap.renewal_days), 6)
        period = f"anew every {cap.renewal_days} days: budgets add up, a year may cost up to ε = {yearly}."
    lines = [f"You will spend at most ε = {cap.epsilon:g}{delta} in it, {period}"]
    if excluded:
        lines.append(f"No answer may depend on attribute {', '.join(map(str, excluded))}.")
    if offer.private_links:
        lines.append(
            f"It asks whom of its {f'{offer.people} ' if offer.people else ''}people you are linked to, too, each link randomized: you answer that if you give --links. Of two people who are "
            "linked one answers for it, by numbers that the collector gives out: if it lies about them, both do, and the link costs what both of you "
            "spend on it, at most both your caps together."
        )
    if volunteer:
        lines.append("You give your row AS IT IS, without any noise: no ε describes that.")
    return lines


def question_text(inquiry: Inquiry) -> str:
    """Return what a question asks for, by which mechanism, and until when."""
    question = inquiry.question
    until = datetime.fromtimestamp(question.expires, UTC).strftime("%Y-%m-%d %H:%M")
    return f"Round {question.round} asks for {what_is_asked(question.plan)}, by {question.plan.mechanism}, until {until} UTC."


def cost_text(inquiry: Inquiry, agreement: Agreement) -> list[str]:
    """Return what an answer costs, a sentence each."""
    if inquiry.kept:
        return ["You have answered it before: the same answer is sent again, and costs nothing."]
    exact, left = inquiry.exact, inquiry.left
    sort = "exact" if inquiry.question.plan.build().finite else "bounded"
    delta = f" and δ = {exact.delta:g}" if exact.delta else ""
    after = max(0.0, left.epsilon - inquiry.claim.epsilon)
    cost = f"It costs ε = {inquiry.claim.epsilon:g} ({sort}: {rounded_up(exact.epsilon, 9)}){delta}."
    cap = f"Your cap of {agreement.cap.epsilon:g} leaves {left.epsilon:.6g} before, {after:.6g} after."
    lines = [f"{cost} {cap}"]
    if inquiry.link_at_most is not None:
        lines.append(
            f"A link costs that if the collector tells everybody the same numbers of people: then one of its two ends answers. If it lies about them, "
            f"both may, and a link costs at most ε = {inquiry.link_at_most.epsilon:g} where the other end is asked the same."
        )
    return lines


def what_is_asked(plan: Plan) -> str:
    """Return what of a person a plan asks for, in words.

    >>> what_is_asked(Plan(mechanism="krr", epsilon=1.0, classes=3))
    'which of 3 labels you have, randomized'
    """
    mechanism = plan.build()
    if plan.of == "norm":
        return "the length of your row, randomized"
    if plan.of == "class":
        return f"which of {plan.classes} classes a public model gives to your row, randomized"
    if plan.subject == "label":
        return f"which of {plan.classes} labels you have, randomized"
    if plan.subject == "level":
        return f"which of {plan.levels} privacy levels you chose, randomized"
    if plan.subject == "links":
        return f"whom you are linked to, among {plan.dims} users, each link randomized"
    if isinstance(mechanism, FeatureMechanism):
        return f"{mechanism.sampled} of the {mechanism.shape.dimensions} values of your row, randomized"
    return f"your row of {mechanism.shape.row_length} values, randomized"
