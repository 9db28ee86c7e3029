"""The exact ε of a mechanism: of its tables, of whole reports and of two users' privacy levels. Integers decide.

The first step of an audit reads the tables of a mechanism's channels and adds them up; the second asks whether they add up to what
is claimed for whole reports. Where users chose a level, each is protected at that level's budget: two users of one level must be told
apart by at most its budget, two of different levels by at most the larger one. What the level itself leaks is the largest ratio over
users of different levels with equal rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.candidate import CheckedLoss, has_levels, least_claim, pair_claim, understates
from graphveil.audit.enumeration import JointDistribution
from graphveil.audit.findings import Step, Title, exact_words, power, show
from graphveil.channels.channel import FiniteChannel
from graphveil.channels.counting import CountingChannel
from graphveil.channels.exact import Loss, Worst, worst_ratio
from graphveil.channels.sampling import AliasTable
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.classes import ClassMechanism
from graphveil.mechanisms.personal import PersonalMechanism, level_of
from graphveil.number_format import rounded_up

# Tables with at most this many entries are read again, entry by entry, and their alias tables too.
MAX_ENTRIES, MAX_LONG_ENTRIES, MAX_ALIAS = 1 << 18, 1 << 12, 1 << 16


def tables_step(mechanism: Mechanism, asked: float) -> Step:
    """Check that the claim is at most what was asked for, and the exact loss at most the claim."""
    claim, stated = mechanism.claim, CheckedLoss.of(mechanism)
    loss = stated.loss
    claimed = f"claimed {claim.epsilon:g}" + (f" and {claim.delta:g}" if claim.delta else "")
    leaks = []
    if (strictest := least_claim(mechanism)) > asked:
        detail = f"it was asked for epsilon {asked:g} and claims {strictest:g}"
        leaks.append(f"{detail}: it spends more than it is given")
    exact = f"epsilon {rounded_up(loss.epsilon)}" + (f", delta {stated.delta:.6g}" if claim.delta else "")
    if not mechanism.answers:
        if mechanism.finite:
            leaks.append(
                "it names no channels that answer, so its epsilon cannot be computed; say `finite = False` if it has none"
            )
        elif not stated.holds:
            own = rounded_up(mechanism.epsilon)
            leaks.append(f"it says itself that epsilon is {own}, claimed {claim.epsilon:g}")
        title = Title.TABLES if mechanism.finite else Title.CLOSED_FORM
        return Step(title, f"no finite table: its own closed form says {exact}, {claimed}", tuple(leaks))
    parts = ", ".join(
        f"{answer.count} x {answer.channel.name} at {rounded_up(answer.channel.epsilon)}"
        for answer in mechanism.answers
    )
    leaks += [leak for answer in mechanism.answers for leak in _channel_leaks(answer.channel)]
    if has_levels(mechanism):
        leaks += personal_cause(mechanism)
    elif not stated.holds:
        leaks.append(_cause(mechanism, loss))
    return Step(Title.TABLES, f"{exact} ({parts}), {claimed}", tuple(leaks))


def _cause(mechanism: Mechanism, loss: Loss) -> str:
    """Return the reason why the exact loss is above the claim, as far as the tables tell."""
    claim, answers = mechanism.claim, mechanism.answers
    count = sum(answer.count for answer in answers)
    gravest = max(answers, key=lambda answer: answer.channel.epsilon).channel
    broken = [answer.channel for answer in answers if not answer.channel.holds]
    if claim.delta > 0 and broken:
        return _delta_cause(broken[0])
    if loss.terms is None:
        return f"epsilon is infinite: {describe_worst_entry(gravest)}"
    if any(answer.channel.claim.delta for answer in answers):
        spent = sum(Fraction(answer.channel.claim.delta) * answer.count for answer in answers)
        if spent > Fraction(claim.delta):
            divided = f"is not divided over the {count} answers of a report"
            fault = divided if claim.delta else "is not claimed"
            return f"delta {fault}: they spend {float(spent):.6g} together, claimed {claim.delta:g}"
    message = f"the exact epsilon of a report is {rounded_up(loss.epsilon)}, claimed {claim.epsilon:g}"
    if broken:
        worst = max(broken, key=lambda channel: channel.epsilon)
        own = f"{worst.name} was given {worst.claim.epsilon:g} and has {rounded_up(worst.epsilon)}"
        return f"{message}: {own}; {describe_worst_entry(worst)}"
    if count > 1:
        return (
            f"{message}: its {count} answers spend up to {rounded_up(gravest.epsilon)} each, so the budget is not divided over them "
            f"in shares that sum to one; {describe_worst_entry(gravest)}"
        )
    return f"{message}: {describe_worst_entry(gravest)}"


def _delta_cause(channel: FiniteChannel) -> str:
    claim, find = channel.claim, getattr(channel, "worst_pair_at", None)
    pair = (channel.worst.likelier, channel.worst.rarer) if find is None else find(claim.epsilon)
    one, other = (channel.inputs[int(place)] for place in pair)
    return (
        f"the exact delta of {channel.name} at epsilon {claim.epsilon:g} is {channel.delta:.6g}, claimed "
        f"{claim.delta:g}, between the inputs {one:g} and {other:g} of [-1, 1]: the "
        f"noise is too small (at the claimed delta, epsilon is {rounded_up(channel.epsilon)})"
    )


def describe_worst_entry(channel: FiniteChannel) -> str:
    """The most revealing entry of a table in words: which output, which two inputs, by how much."""
    worst = channel.worst
    often, rarely = (
        channel.row(symbol)[worst.output] / channel.total for symbol in (worst.likelier, worst.rarer)
    )
    one, other = channel.inputs[worst.likelier], channel.inputs[worst.rarer]
    message = (
        f"output {worst.output} of {channel.name} has probability {often:.6g} under input {worst.likelier} "
        f"({one:g}) and {rarely:.6g} under input {worst.rarer} ({other:g})"
    )
    if worst.ratio is None:
        return f"{message}, so that this output proves which it was not"
    return f"{message}, a ratio of {power(worst.loss.epsilon)}"


def _channel_leaks(channel: FiniteChannel) -> list[str]:
    """Return findings where a channel's statements, or its draws, differ from its rows."""
    leaks = []
    size = channel.input_count * channel.output_count
    long = channel.total.bit_length() > 63
    if size <= (MAX_LONG_ENTRIES if long else MAX_ENTRIES):
        rows = [channel.row(symbol) for symbol in range(channel.input_count)]
        wrong = [symbol for symbol, row in enumerate(rows) if sum(row) != channel.total or min(row) < 0]
        if wrong:
            return [f"row {wrong[0]} of {channel.name} does not sum to 1"]
        table = np.array(rows, dtype=object if long else np.int64)
        worst = _worst_next(table) if isinstance(channel, CountingChannel) else worst_ratio(table)
        # A stated infinite loss understates nothing.
        judged = channel.claim.delta == 0 and channel.loss.terms is not None
        if judged and worst.loss.exceeds(Fraction(channel.epsilon)):
            where = f"output {worst.output}, inputs {worst.likelier} and {worst.rarer}"
            stated, seen = rounded_up(channel.epsilon), rounded_up(worst.loss.epsilon)
            leaks.append(f"{channel.name} states an epsilon of {stated}, its table has {seen} ({where})")
    if size <= MAX_ALIAS:
        leaks += _alias_leaks(channel)
    return leaks


def _worst_next(table: NDArray[Any]) -> Worst:
    """The most revealing entry for two rows that follow each other: all that a channel for numbers is about."""
    found = [(worst_ratio(table[row : row + 2]), row) for row in range(len(table) - 1)]
    worst, row = max(found, key=lambda one: math.inf if one[0].ratio is None else one[0].ratio)
    return Worst(worst.output, row + worst.likelier, row + worst.rarer, worst.ratio)


def _alias_leaks(channel: FiniteChannel) -> list[str]:
    """Add up what an alias table really draws, column by column, and compare it with the row."""
    alias = getattr(channel, "_alias", None) if channel.output_count > 2 else None
    if not isinstance(alias, AliasTable):
        return []
    for symbol in range(channel.input_count):
        row, drawn = channel.row(symbol), alias.shares(symbol, channel.output_count)
        if row != drawn:
            output = max(range(len(row)), key=lambda place: abs(row[place] - drawn[place]))
            drew, should = (counts[output] / channel.total for counts in (drawn, row))
            detail = f"draws output {output} under input {symbol} with probability {drew:.9g}, its table says {should:.9g}"
            return [f"the alias table of {channel.name} {detail}: the sampler is biased"]
    return []


def joint_step(joint: JointDistribution | None, finite: bool) -> Step:
    """Check that the whole mechanism keeps its claim when all its reports are enumerated."""
    if joint is None:
        reason = "too many different reports" if finite else "not finite, a documented exception"
        what = "the exact epsilon" if finite else "epsilon"
        return Step(Title.JOINT, f"left out ({reason}): {what} rests on the step before", skipped=True)
    mechanism, worst = joint.mechanism, joint.worst
    size = describe_size(mechanism)
    if has_levels(mechanism):
        return pairs_step(joint, size)
    result = f"{size}, {len(joint.counts[0]):,} different reports, {len(joint.inputs)} inputs: "
    claim, leaks = mechanism.claim, []
    if claim.delta > 0:
        delta, pair = joint.delta_at(claim.epsilon)
        result += f"delta at epsilon {claim.epsilon:g} is {float(delta):.6g}, claimed {claim.delta:g}"
        if delta > Fraction(claim.delta):
            one, other = (show(joint.inputs[index]) for index in pair)
            detail = f"whole reports tell {one} from {other} with delta {float(delta):.6g} at epsilon {claim.epsilon:g}"
            leaks.append(f"with {size}, {detail}, claimed {claim.delta:g}")
        return Step(Title.JOINT, result, tuple(leaks))
    result += f"the largest ratio is {power(worst.loss.epsilon)}, claimed e^{claim.epsilon:g}"
    # The loss that the mechanism states must cover what its reports show.
    if understates(mechanism.loss, worst.loss):
        leaks.append(_understated(mechanism.loss, worst.loss))
    if worst.loss.exceeds(claim.epsilon):
        leaks.append(f"with {size}, {describe_worst_report(joint, worst, claim.epsilon)}")
    return Step(Title.JOINT, result, tuple(leaks))


def _understated(stated: Loss, seen: Loss, between: str = "") -> str:
    detail, found = f"{rounded_up(stated.epsilon)}{between}", rounded_up(seen.epsilon)
    return f"the mechanism states an exact epsilon of {detail}, its enumerated reports have {found}: the stated loss is wrong"


def describe_worst_report(
    joint: JointDistribution, worst: Worst, allowed: float, show_input: Callable[[Any], str] = show
) -> str:
    """Describe a revealing report in words: which report, which two inputs, by how much.

    Parameters
    ----------
    joint
        The enumerated mechanism.
    worst
        The report, and the two inputs that it tells apart.
    allowed
        The ε that is claimed for these inputs.
    show_input
        How an input is written.
    """
    report = joint.mechanism.describe_outcome(worst.output)
    one, other = show_input(joint.inputs[worst.likelier]), show_input(joint.inputs[worst.rarer])
    if worst.ratio is None:
        often = Fraction(joint.counts[worst.likelier][worst.output], joint.total)
        return (
            f"the report ({report}) has probability {float(often):.6g} under {one} and 0 under {other}: "
            "whoever sees it knows which it was (epsilon is infinite)"
        )
    return (
        f"the report ({report}) is {power(worst.loss.epsilon)} times as likely under {one} as under {other}; "
        f"the claim allows {power(allowed)}"
    )


def describe_size(mechanism: Mechanism) -> str:
    """Describe how much of a row is reported."""
    if mechanism.trust == "curator":
        return f"graphs of {mechanism.shape.dimensions} cells"
    if mechanism.subject == "links":
        return f"lists of {mechanism.shape.dimensions} users"
    if mechanism.subject != "features":
        return f"one {mechanism.subject}"
    if isinstance(mechanism, ClassMechanism):
        return (
            f"one of {mechanism.places_open} classes by a public model of {mechanism.shape.row_length} values"
        )
    if has_levels(mechanism):
        return f"a level and up to {mechanism.shape.length - 1} of {mechanism.shape.dimensions} values"
    if mechanism.shape.names_dimensions:
        return f"{mechanism.shape.length} of {mechanism.shape.dimensions} values"
    if mechanism.shape.length == mechanism.shape.dimensions:
        return f"all {mechanism.shape.dimensions} values"
    return f"a row of {mechanism.shape.dimensions} values"


NOTHING = Worst(0, 0, 0, Fraction(1))
epsilon_of = attrgetter("loss.epsilon")
NOT_PROTECTED = "the level is not protected"
NOT_KEPT = "values are not protected at the level's budget"


def pairs_step(joint: JointDistribution, size: str) -> Step:
    """Check that enumerated whole reports keep the claim of every pair of inputs."""
    mechanism = joint.mechanism
    kinds = dict.fromkeys(("one level", "different levels", "equal rows of different levels"), NOTHING)
    broken: dict[str, Worst] = {}
    understated: list[str] = []
    for one, other in joint.ordered_pairs():
        worst = joint.worst_between(one, other)
        first, second = joint.inputs[one], joint.inputs[other]
        kind, levels = kind_of(first, second), (level_of(first), level_of(second))
        kinds[kind] = max(kinds[kind], worst, key=epsilon_of)
        if worst.loss.exceeds(pair_claim(mechanism, first, second)):
            broken[kind] = max(broken.get(kind, NOTHING), worst, key=epsilon_of)
        if has_levels(mechanism) and not understated:
            stated = mechanism.pair_loss(*levels, kind == "equal rows of different levels")
            if understates(stated, worst.loss):
                between = f" between levels {levels[0]} and {levels[1]}"
                understated.append(_understated(stated, worst.loss, between))
    listed = ", ".join(
        f"{kind} {'infinite' if worst.ratio is None else power(worst.loss.epsilon)}"
        for kind, worst in kinds.items()
    )
    claimed = ", ".join(f"{budget:g}" for budget in mechanism.budgets)
    seen = (
        f"{size}, {len(joint.counts[0]):,} different reports, {len(joint.inputs)} inputs: the largest ratio between "
        f"{listed}; budgets {claimed}, the larger one of two"
    )
    leaks = []
    for kind, worst in broken.items():
        allowed = pair_claim(mechanism, joint.inputs[worst.likelier], joint.inputs[worst.rarer])
        detail = describe_worst_report(joint, worst, allowed, _show_level)
        leaks.append(f"{NOT_KEPT if kind == 'one level' else NOT_PROTECTED}: with {size}, {detail}")
    return Step(Title.JOINT, seen, (*leaks, *understated))


def kind_of(one: Any, other: Any) -> str:
    """Return what two inputs with levels have in common."""
    if level_of(one) == level_of(other):
        return "one level"
    same = np.array_equal(one[:-1], other[:-1])
    return "equal rows of different levels" if same else "different levels"


def _show_level(private: Any) -> str:
    return f"level {level_of(private)} with {show(np.asarray(private)[:-1])}"


def personal_cause(mechanism: PersonalMechanism) -> list[str]:
    """Return the reasons why the exact losses of a mechanism are above its claims, by levels."""
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
            detail = f"the exact epsilon between {who} is {rounded_up(lost.epsilon)}, claimed {budget:g}"
            causes.append(f"{NOT_KEPT if same else NOT_PROTECTED}: {detail}")
    return causes


def personal_sentences(mechanism: PersonalMechanism) -> list[str]:
    """Return, in sentences, what is protected at each level, and how much the level itself leaks."""
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
