"""What a mechanism says of itself, and whether it is believed.

The package's own classes are tested with the package, and told by identity (`mechanisms.own`), never by a name. What somebody else's class overrides (`loss`, `delta`, `holds`,
`compares`, `pair_epsilon`, `extremes`) is computed again here, as the base class does: by addition over the answers, for
any two inputs. Where an override claims less, it needs a proof (the enumeration of a small version) or, where there is none, a
reason in its docstring, which an audit prints as what it takes on trust.
"""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from graphveil.audit.candidate import Candidate
from graphveil.channels.channel import FiniteChannel
from graphveil.channels.exact import Loss
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.registry import hides_member, is_own, is_own_builder, is_own_member

STATED = ("loss", "epsilon", "delta", "holds", "compares", "pair_epsilon", "strictest", "extremes", "settled")
# What says which answers a report consists of.
SHAPE = ("answers", "report_length", "alphabet", "names_dimensions")
# Tables with more entries than this are the package's, and their loss is believed.
MAX_ENTRIES = 1 << 20


def overridden(mechanism: Mechanism, name: str) -> bool:
    """Whether somebody other than the package says this of the mechanism: a class from outside, or a member put in its place."""
    kind = type(mechanism)
    if hides_member(mechanism, name):
        return True
    owner = _owner(kind, name)
    return owner is not None and not is_own_member(owner, name)


def reshaped(mechanism: Mechanism) -> bool:
    """Whether somebody other than the package says which answers a report consists of."""
    return any(overridden(mechanism, name) for name in SHAPE)


def foreign(candidate: Candidate, whole: Mechanism) -> bool:
    """Whether code from outside the package builds a mechanism or is part of it."""
    if candidate.ready or candidate.asked is not None:
        return not is_own(candidate.asked or whole)
    return not (is_own_builder(candidate.builder) and is_own(whole))


def claimed_at_least(mechanism: Mechanism) -> float:
    """The ε that was asked for, by the package's word: the claim, or the smallest of what users choose from."""
    return mechanism.claim.epsilon if overridden(mechanism, "strictest") else mechanism.strictest


def is_curated(mechanism: Mechanism) -> bool:
    """Whether a trusted curator sees everything anyway, by the package's word; of links anybody may say so."""
    believed = mechanism.subject == "links" or not overridden(mechanism, "trust")
    return mechanism.trust == "curator" and believed


def values_of(mechanism: Mechanism, private: Any) -> Any:
    """The values among what users hold, by the package's word: all but a level in the last column."""
    if not overridden(mechanism, "values_of"):
        return mechanism.values_of(private)
    return np.asarray(private)[..., :-1] if mechanism.personal else private


def with_values(mechanism: Mechanism, private: Any, values: Any) -> Any:
    """The same users with other values, by the package's word."""
    if not overridden(mechanism, "with_values"):
        return mechanism.with_values(private, values)
    return np.column_stack([values, np.asarray(private)[:, -1]]) if mechanism.personal else values


def _owner(kind: type, name: str) -> type | None:
    return next((owner for owner in kind.__mro__ if name in vars(owner)), None)


def reason(mechanism: Mechanism, name: str) -> str | None:
    """Why an override is right, by its docstring: its first sentence."""
    member = inspect.getattr_static(type(mechanism), name, None)
    function = getattr(member, "fget", None) or getattr(member, "func", None) or member
    docstring = inspect.cleandoc(getattr(function, "__doc__", None) or "")
    return " ".join(docstring.split()) or None


@dataclass(frozen=True)
class Stated:
    """What an audit goes by: the loss, δ and whether the claim holds, believed or computed again."""

    loss: Loss
    delta: float
    holds: bool
    # What the mechanism says is less than its answers add up to, and nothing but an enumeration can show it.
    needs_proof: bool = False

    @classmethod
    def of(cls, mechanism: Mechanism) -> Stated:
        """What is said, where the package says it; else what follows from the answers."""
        if not any(overridden(mechanism, name) for name in ("loss", "epsilon", "delta", "holds")):
            return cls(mechanism.loss, mechanism.delta, mechanism.holds)
        if not mechanism.answers:
            loss = mechanism.loss
            return cls(loss, 0.0, not loss.exceeds(mechanism.claim.epsilon))
        summed = Loss.total(answer.channel.loss.times(answer.count) for answer in mechanism.answers)
        less = mechanism.loss.terms is not None and (
            summed.terms is None or summed.exceeds(Fraction(mechanism.loss.epsilon))
        )
        if overridden(mechanism, "loss") and less:
            kept = not mechanism.loss.exceeds(mechanism.claim.epsilon)
            return cls(mechanism.loss, 0.0 if kept else 1.0, kept, needs_proof=True)
        spent = sum(Fraction(answer.channel.claim.delta) * answer.count for answer in mechanism.answers)
        kept = spent <= Fraction(mechanism.claim.delta) and not summed.exceeds(mechanism.claim.epsilon)
        if mechanism.claim.delta:
            kept = kept and all(answer.channel.holds for answer in mechanism.answers)
        lost = sum(Fraction(answer.channel.delta) * answer.count for answer in mechanism.answers)
        return cls(summed, 0.0 if kept and not mechanism.claim.delta else min(1.0, float(lost)), kept)


def claims_independence(mechanism: Mechanism) -> bool:
    """Whether the answers of a report are to be independent: always, unless the package says otherwise of its own, or
    decoys are among them (`decoys`)."""
    return (mechanism.independent or overridden(mechanism, "independent")) and not has_decoys(mechanism)


def has_decoys(mechanism: Mechanism) -> bool:
    """Whether somebody else's mechanism says that some of its answers are blind."""
    if not overridden(mechanism, "answers"):
        return False
    blind = [is_blind(answer.channel) for answer in mechanism.answers]
    return any(blind) and not all(blind)


def is_blind(channel: FiniteChannel) -> bool:
    """Whether a channel answers every input alike: all rows are the same integers."""
    if channel.input_count * channel.output_count > MAX_ENTRIES:
        return channel.loss.terms == ()
    first = channel.row(0)
    return all(channel.row(symbol) == first for symbol in range(1, channel.input_count))


def draws_by_reports(mechanism: Mechanism) -> bool:
    """Whether the number of random words may follow from what is reported: never, unless the package says so of its own."""
    return mechanism.words_by_reports and not overridden(mechanism, "words_by_reports")


def compared(mechanism: Mechanism, one: Any, other: Any) -> bool:
    """Whether a claim is about two inputs: by the package's word, or as its subject has it."""
    if not overridden(mechanism, "compares"):
        return mechanism.compares(one, other)
    if mechanism.subject != "links":
        return True
    return int((np.asarray(one) != np.asarray(other)).sum()) == 1


def compared_pairs(mechanism: Mechanism, inputs: list[Any]) -> list[tuple[int, int]]:
    """The pairs of inputs that a claim is about, each once."""
    return [
        (one, other)
        for one, other in combinations(range(len(inputs)), 2)
        if compared(mechanism, inputs[one], inputs[other])
    ]


def pair_claim(mechanism: Mechanism, one: Any, other: Any) -> float:
    """The ε that is claimed for two inputs, by the package's word; else the claim."""
    return (
        mechanism.claim.epsilon
        if overridden(mechanism, "pair_epsilon")
        else mechanism.pair_epsilon(one, other)
    )


def trusted(mechanism: Mechanism, enumerated: bool) -> tuple[list[str], list[str]]:
    """What is taken on trust, in sentences; and what cannot be, because no reason is given."""
    trusts, leaks = [], []
    if mechanism.trust == "curator":
        trusts.append(
            f"{mechanism.name} is a curator's mechanism: the curator who adds the noise sees what all users hold in the clear and "
            "must be trusted; its claim is about what is published"
        )
    for name in STATED:
        if not overridden(mechanism, name):
            continue
        if name == "loss" and not mechanism.finite:
            why = reason(mechanism, name) if "loss" in _documented(mechanism) else None
            if why is None:
                leaks.append(
                    "its epsilon is its own word: it names no channels, and `loss` gives no reason; say in its docstring why "
                    "the loss is what it says"
                )
            else:
                trusts.append(f"`loss` of {mechanism.name} is taken on trust: {why}")
        elif name == "loss" and Stated.of(mechanism).needs_proof and not enumerated:
            leaks.append(
                f"the mechanism states a loss of {mechanism.loss.epsilon:.6g}, its answers add up to "
                f"{_summed(mechanism):.6g}, and no enumeration shows that it is less"
            )
        elif name == "loss" and Stated.of(mechanism).needs_proof:
            trusts.append(
                f"`loss` of {mechanism.name} is less than its answers add up to: an enumeration shows it for a small version, and at "
                "this size it is taken on trust"
            )
        else:
            trusts.append(
                f"`{name}` is not believed: it was computed again from the answers, for inputs of the audit's own"
            )
    if not mechanism.finite and not is_own(mechanism) and not trusts and not leaks:
        trusts.append("it says that it has no finite table, so nothing was enumerated")
    return trusts, leaks


def _summed(mechanism: Mechanism) -> float:
    epsilon = Loss.total(answer.channel.loss.times(answer.count) for answer in mechanism.answers).epsilon
    return epsilon if math.isfinite(epsilon) else math.inf


def _documented(mechanism: Mechanism) -> set[str]:
    """Overrides with a docstring of their own, not one that they inherit."""
    documented = set()
    for name in STATED:
        owner = _owner(type(mechanism), name)
        member = None if owner is None else vars(owner).get(name)
        function = getattr(member, "fget", None) or getattr(member, "func", None) or member
        if getattr(function, "__doc__", None):
            documented.add(name)
    return documented
