"""The second step of an audit: do the budgets of a mechanism's answers add up to what it claims for whole reports?"""

from __future__ import annotations

from fractions import Fraction

from graphveil.audit.findings import JOINT, Step, power, show
from graphveil.audit.joint import Joint
from graphveil.audit.pairs import pairs_step
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.classes import ClassMechanism
from graphveil.number_format import rounded_up


def joint_step(joint: Joint | None, finite: bool) -> Step:
    """Whether the whole mechanism keeps its claim when all its reports are enumerated."""
    if joint is None:
        reason = "too many different reports" if finite else "not finite, a documented exception"
        what = "the exact epsilon" if finite else "epsilon"
        return Step(JOINT, f"left out ({reason}): {what} rests on the step before", skipped=True)
    mechanism, worst = joint.mechanism, joint.worst
    size = describe_size(mechanism)
    if mechanism.personal:
        return pairs_step(joint, size)
    result = (
        f"{size}, {len(joint.counts[0]):,} different reports, {len(joint.inputs)} inputs: "
        if joint.counts
        else ""
    )
    claim = mechanism.claim
    if claim.delta > 0:
        delta, pair = joint.delta_at(claim.epsilon)
        result += f"delta at epsilon {claim.epsilon:g} is {float(delta):.6g}, claimed {claim.delta:g}"
        if delta <= Fraction(claim.delta):
            return Step(JOINT, result, tuple(_stated(joint)))
        one, other = (show(joint.inputs[index]) for index in pair)
        leak = (
            f"with {size}, whole reports tell {one} from {other} with delta {float(delta):.6g} at epsilon "
            f"{claim.epsilon:g}, claimed {claim.delta:g}"
        )
        return Step(JOINT, result, (leak,))
    result += f"the largest ratio is {power(worst.loss.epsilon)}, claimed e^{claim.epsilon:g}"
    if not worst.loss.exceeds(claim.epsilon):
        return Step(JOINT, result, tuple(_stated(joint)))
    return Step(JOINT, result, (*_stated(joint), f"with {size}, {describe_worst(joint)}"))


def _stated(joint: Joint) -> list[str]:
    """Whether the loss that the mechanism states covers what its reports show."""
    stated, seen = joint.mechanism.loss, joint.worst.loss
    if joint.mechanism.claim.delta > 0 or stated.terms is None:
        return []
    covered = seen.terms is not None and not seen.exceeds(Fraction(stated.epsilon))
    if covered:
        return []
    return [
        (
            f"the mechanism states an exact epsilon of {rounded_up(stated.epsilon)}, its enumerated reports have "
            f"{rounded_up(seen.epsilon)}: the stated loss is wrong"
        )
    ]


def describe_worst(joint: Joint) -> str:
    """The most revealing report in words: which report, which two inputs, by how much."""
    worst, claim = joint.worst, joint.mechanism.claim
    report = joint.mechanism.describe_outcome(worst.place)
    one, other = show(joint.inputs[worst.likelier]), show(joint.inputs[worst.rarer])
    often = Fraction(joint.counts[worst.likelier][worst.place], joint.total)
    if worst.ratio is None:
        return (
            f"the report ({report}) has probability {float(often):.6g} under {one} and 0 under {other}: "
            "whoever sees it knows which it was (epsilon is infinite)"
        )
    return (
        f"the report ({report}) is {power(worst.loss.epsilon)} times as likely under {one} as under {other}; "
        f"the claim allows {power(claim.epsilon)}"
    )


def describe_size(mechanism: Mechanism) -> str:
    """How much of a row is reported, in words."""
    if mechanism.trust == "curator":
        return f"graphs of {mechanism.dimensions} cells"
    if mechanism.subject == "links":
        return f"lists of {mechanism.dimensions} users"
    if mechanism.subject != "features":
        return f"one {mechanism.subject}"
    if isinstance(mechanism, ClassMechanism):
        return f"one of {mechanism.places_open} classes by a public model of {mechanism.row_length} values"
    if mechanism.personal:
        return f"a level and up to {mechanism.report_length - 1} of {mechanism.dimensions} values"
    if mechanism.names_dimensions:
        return f"{mechanism.report_length} of {mechanism.dimensions} values"
    if mechanism.report_length == mechanism.dimensions:
        return f"all {mechanism.dimensions} values"
    return f"a row of {mechanism.dimensions} values"
