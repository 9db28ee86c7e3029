"""The first step of an audit: the tables of a mechanism's channels, and what they add up to. Integers decide."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.findings import CLOSED_FORM, TABLES, Step, power
from graphveil.audit.pairs import personal_cause
from graphveil.audit.trust import Stated, claimed_at_least
from graphveil.channels.channel import FiniteChannel
from graphveil.channels.counting import CountingChannel
from graphveil.channels.exact import Loss, Worst, worst_ratio
from graphveil.channels.sampling import AliasTable
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.ppm import PersonalMechanism
from graphveil.number_format import rounded_up

# Tables with at most this many entries are read again, entry by entry, and their alias tables too.
MAX_ENTRIES, MAX_LONG_ENTRIES, MAX_ALIAS = 1 << 18, 1 << 12, 1 << 16


def tables_step(mechanism: Mechanism, asked: float) -> Step:
    """Whether the claim is no more than was asked for, and the exact loss of all answers no more than the claim."""
    claim, stated = mechanism.claim, Stated.of(mechanism)
    loss = stated.loss
    claimed = f"claimed {claim.epsilon:g}" + (f" and {claim.delta:g}" if claim.delta else "")
    leaks = []
    if (strictest := claimed_at_least(mechanism)) > asked:
        leaks.append(
            f"it was asked for epsilon {asked:g} and claims {strictest:g}: it spends more than it is given"
        )
    exact = f"epsilon {rounded_up(loss.epsilon)}" + (f", delta {stated.delta:.6g}" if claim.delta else "")
    if not mechanism.answers:
        return Step(
            TABLES if mechanism.finite else CLOSED_FORM,
            f"no finite table: its own closed form says {exact}, {claimed}",
            (*leaks, *_own_word(mechanism)),
        )
    parts = ", ".join(
        f"{answer.count} x {answer.channel.name} at {rounded_up(answer.channel.epsilon)}"
        for answer in mechanism.answers
    )
    leaks += [leak for answer in mechanism.answers for leak in _channel_leaks(answer.channel)]
    if isinstance(mechanism, PersonalMechanism):
        leaks += personal_cause(mechanism)
    elif not stated.holds:
        leaks.append(_cause(mechanism, loss))
    return Step(TABLES, f"{exact} ({parts}), {claimed}", tuple(leaks))


def _own_word(mechanism: Mechanism) -> list[str]:
    """What is wrong with a mechanism that has no channels, by its own word."""
    if mechanism.finite:
        return [
            "it names no channels that answer, so its epsilon cannot be computed; say `finite = False` if it has none"
        ]
    if Stated.of(mechanism).holds:
        return []
    return [
        f"it says itself that epsilon is {rounded_up(mechanism.epsilon)}, claimed {mechanism.claim.epsilon:g}"
    ]


def _cause(mechanism: Mechanism, loss: Loss) -> str:
    """Why the exact loss is above the claim, as far as the tables tell."""
    claim, answers = mechanism.claim, mechanism.answers
    count = sum(answer.count for answer in answers)
    gravest = max(answers, key=lambda answer: answer.channel.epsilon).channel
    broken = [answer.channel for answer in answers if not answer.channel.holds]
    if claim.delta > 0 and broken:
        return _delta_cause(broken[0])
    if loss.terms is None:
        return f"epsilon is infinite: {describe_worst(gravest)}"
    if any(answer.channel.claim.delta for answer in answers):
        spent = sum(Fraction(answer.channel.claim.delta) * answer.count for answer in answers)
        if spent > Fraction(claim.delta):
            fault = (
                f"is not divided over the {count} answers of a report" if claim.delta else "is not claimed"
            )
            return f"delta {fault}: they spend {float(spent):.6g} together, claimed {claim.delta:g}"
    message = f"the exact epsilon of a report is {rounded_up(loss.epsilon)}, claimed {claim.epsilon:g}"
    if broken:
        worst = max(broken, key=lambda channel: channel.epsilon)
        own = f"{worst.name} was given {worst.claim.epsilon:g} and has {rounded_up(worst.epsilon)}"
        return f"{message}: {own}; {describe_worst(worst)}"
    if count > 1:
        return (
            f"{message}: its {count} answers spend up to {rounded_up(gravest.epsilon)} each, so the budget is not divided over them "
            f"in shares that sum to one; {describe_worst(gravest)}"
        )
    return f"{message}: {describe_worst(gravest)}"


def _delta_cause(channel: FiniteChannel) -> str:
    claim = channel.claim
    one, other = _worst_pair(channel)
    return (
        f"the exact delta of {channel.name} at epsilon {claim.epsilon:g} is {channel.delta:.6g}, claimed "
        f"{claim.delta:g}, between the inputs {channel.inputs[one]:g} and {channel.inputs[other]:g} of [-1, 1]: the "
        f"noise is too small (at the claimed delta, epsilon is {rounded_up(channel.epsilon)})"
    )


def _worst_pair(channel: FiniteChannel) -> tuple[int, int]:
    find = getattr(channel, "worst_pair_at", None)
    if find is None:
        return channel.worst.likelier, channel.worst.rarer
    one, other = find(channel.claim.epsilon)
    return int(one), int(other)


def describe_worst(channel: FiniteChannel) -> str:
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
    return f"{message}, a ratio of {power(Loss.of(worst.ratio).epsilon)}"


def _channel_leaks(channel: FiniteChannel) -> list[str]:
    """Whether the channel says of itself what its rows say, and draws what they say."""
    leaks = []
    size = channel.input_count * channel.output_count
    long = channel.total.bit_length() > 63
    if size <= (MAX_LONG_ENTRIES if long else MAX_ENTRIES):
        rows = [channel.row(symbol) for symbol in range(channel.input_count)]
        wrong = [symbol for symbol, row in enumerate(rows) if sum(row) != channel.total or min(row) < 0]
        if wrong:
            return [f"row {wrong[0]} of {channel.name} does not sum to 1"]
        table = np.array(rows, dtype=object if long else np.int64)
        leaks += _understated(
            channel, _worst_next(table) if isinstance(channel, CountingChannel) else worst_ratio(table)
        )
    if size <= MAX_ALIAS:
        leaks += _alias_leaks(channel)
    return leaks


def _worst_next(table: NDArray[Any]) -> Worst:
    """The most revealing entry for two rows that follow each other: all that a channel for numbers is about."""
    found = [(worst_ratio(table[row : row + 2]), row) for row in range(len(table) - 1)]
    worst, row = max(found, key=lambda one: math.inf if one[0].ratio is None else one[0].ratio)
    return Worst(worst.output, row + worst.likelier, row + worst.rarer, worst.ratio)


def _understated(channel: FiniteChannel, worst: Worst) -> list[str]:
    # A stated infinite loss understates nothing.
    if channel.claim.delta > 0 or channel.loss.terms is None:
        return []
    if not Loss.of(worst.ratio).exceeds(Fraction(channel.epsilon)):
        return []
    return [
        (
            f"{channel.name} states an epsilon of {rounded_up(channel.epsilon)}, its table has {rounded_up(Loss.of(worst.ratio).epsilon)} "
            f"(output {worst.output}, inputs {worst.likelier} and {worst.rarer})"
        )
    ]


def _alias_leaks(channel: FiniteChannel) -> list[str]:
    """Add up what an alias table really draws, column by column, and compare it with the row."""
    alias = getattr(channel, "_alias", None) if channel.output_count > 2 else None
    if not isinstance(alias, AliasTable):
        return []
    for symbol in range(channel.input_count):
        row, drawn = channel.row(symbol), alias.shares(symbol, channel.output_count)
        if row != drawn:
            output = max(range(len(row)), key=lambda place: abs(row[place] - drawn[place]))
            return [
                (
                    f"the alias table of {channel.name} draws output {output} under input {symbol} "
                    f"({channel.inputs[symbol]:g}) with probability {drawn[output] / channel.total:.9g}, its table says "
                    f"{row[output] / channel.total:.9g}: the sampler is biased"
                )
            ]
    return []
