"""Claims that depend on the two inputs: users who chose a level, each protected at that level's budget.

Two users of one level must be told apart by at most its budget, two of different levels by at most the larger one. What
the level itself leaks is the largest ratio over users of different levels with equal rows.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from graphveil.audit.findings import JOINT, Step, exact_words, power, show
from graphveil.audit.joint import Joint, WorstReport
from graphveil.audit.trust import pair_claim
from graphveil.channels.exact import Loss
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.personal import level_of
from graphveil.mechanisms.ppm import PersonalMechanism
from graphveil.number_format import rounded_up

NOTHING = WorstReport(0, 0, 0, Fraction(1))
NOT_PROTECTED = "the level is not protected"


def pairs_step(joint: Joint, size: str) -> Step:
    """Whether whole reports keep the claim of every pair of inputs, when they are enumerated."""
    kinds: dict[str, WorstReport] = dict.fromkeys(
        ("one level", "different levels", "equal rows of different levels"), NOTHING
    )
    broken: dict[str, WorstReport] = {}
    understated: list[str] = []
    for one, other in joint.ordered_pairs():
        worst = joint.worst_between(one, other)
        first, second = joint.inputs[one], joint.inputs[other]
        kind = kind_of(joint.mechanism, first, second)
        kinds[kind] = max(kinds[kind], worst, key=_bound)
        if worst.loss.exceeds(pair_claim(joint.mechanism, first, second)):
            broken[kind] = max(broken.get(kind, NOTHING), worst, key=_bound)
        understated = understated or _understated(joint, worst, first, second)
    listed = ", ".join(
        f"{kind} {'infinite' if worst.ratio is None else power(worst.loss.epsilon)}"
        for kind, worst in kinds.items()
    )
    claimed = ", ".join(f"{budget:g}" for budget in getattr(joint.mechanism, "budgets", ()))
    seen = (
        f"{size}, {len(joint.counts[0]):,} different reports, {len(joint.inputs)} inputs: the largest ratio between "
        f"{listed}; budgets {claimed}, the larger one of two"
    )
    leaks = [_leak(joint, kind, worst, size) for kind, worst in broken.items()]
    return Step(JOINT, seen, (*leaks, *understated))


def kind_of(mechanism: Mechanism, one: Any, other: Any) -> str:
    """What two inputs have in common."""
    if level_of(one) == level_of(other):
        return "one level"
    same = np.array_equal(one[:-1], other[:-1])
    return "equal rows of different levels" if same else "different levels"


def _bound(worst: WorstReport) -> float:
    return worst.loss.epsilon


def _understated(joint: Joint, worst: WorstReport, one: Any, other: Any) -> list[str]:
    """Whether the loss that the mechanism states for these levels covers what its reports show."""
    mechanism = joint.mechanism
    if not isinstance(mechanism, PersonalMechanism):
        return []
    equal = kind_of(mechanism, one, other) == "equal rows of different levels"
    stated = mechanism.pair_loss(level_of(one), level_of(other), equal)
    if stated.terms is None or (worst.ratio is not None and not worst.loss.exceeds(Fraction(stated.epsilon))):
        return []
    return [
        (
            f"the mechanism states an exact epsilon of {rounded_up(stated.epsilon)} between levels {level_of(one)} and "
            f"{level_of(other)}, its enumerated reports have {rounded_up(worst.loss.epsilon)}: the stated loss is wrong"
        )
    ]


def _leak(joint: Joint, kind: str, worst: WorstReport, size: str) -> str:
    likelier, rarer = joint.inputs[worst.likelier], joint.inputs[worst.rarer]
    what = "values are not protected at the level's budget" if kind == "one level" else NOT_PROTECTED
    report = joint.mechanism.describe_outcome(worst.place)
    if worst.ratio is None:
        often = Fraction(joint.counts[worst.likelier][worst.place], joint.total)
        verdict = (
            f"has probability {float(often):.6g} under {_show(likelier)} and 0 under {_show(rarer)}: whoever sees it knows "
            "which it was (epsilon is infinite)"
        )
    else:
        verdict = (
            f"is {power(worst.loss.epsilon)} times as likely under {_show(likelier)} as under {_show(rarer)}; the claim "
            f"allows {power(pair_claim(joint.mechanism, likelier, rarer))}"
        )
    return f"{what}: with {size}, the report ({report}) {verdict}"


def _show(private: Any) -> str:
    return f"level {level_of(private)} with {show(np.asarray(private)[:-1])}"


def personal_cause(mechanism: PersonalMechanism) -> list[str]:
    """Why the exact losses of a mechanism are above its claims, by levels."""
    levels = range(1, len(mechanism.budgets) + 1)
    pairs = [(one, other) for one in levels for other in levels]
    causes = []
    for same in (True, False):
        broken = [
            (one, other)
            for one, other in pairs
            if (one == other) == same
            and mechanism.pair_loss(one, other).exceeds(mechanism.budgets[max(one, other) - 1])
        ]
        if broken:
            one, other = max(broken, key=lambda pair: mechanism.pair_loss(*pair).epsilon)
            lost, budget = mechanism.pair_loss(one, other), mechanism.budgets[max(one, other) - 1]
            who = f"rows of level {one}" if same else f"users of level {one} and of level {other}"
            what = "values are not protected at the level's budget" if same else NOT_PROTECTED
            causes.append(
                f"{what}: the exact epsilon between {who} is {rounded_up(lost.epsilon)}, claimed {budget:g}"
            )
    return causes


def personal_sentences(mechanism: PersonalMechanism) -> list[str]:
    """What is protected, level by level, and how much the level itself leaks."""
    sentences = []
    for level, budget in enumerate(mechanism.budgets, 1):
        loss = mechanism.feature_loss(level)
        if not loss.exceeds(budget):
            sentences.append(
                f"A whole row of a user of level {level}: {_at_most(loss, budget)}, budget {budget:g})."
            )
    if mechanism.holds:
        sentences.append(
            "Row and level together, of two users of different levels: at most the larger budget of the two "
            f"(exact epsilon {exact_words(mechanism.mixed_loss.epsilon, max(mechanism.budgets))} over all pairs)."
        )
    if mechanism.level_loss.terms is not None:
        sentences.append(
            f"The level itself, of users with equal rows: {_at_most(mechanism.level_loss, math.inf)}; it is more than the level's own "
            "answer tells, because answers about values are surer at a larger budget)."
        )
    if mechanism.counts_follow_named:
        sentences.append("How many values are answered says no more than the randomized level does.")
    return sentences


def _at_most(loss: Loss, claim: float) -> str:
    return (
        f"any report is at most {power(loss.epsilon)} times as likely under one as under any other "
        f"(exact epsilon {exact_words(loss.epsilon, claim)}"
    )
