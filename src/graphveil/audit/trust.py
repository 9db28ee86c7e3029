"""What a mechanism says of itself, and whether it is believed.

The package's own classes are tested with the package. What somebody else's class overrides (`loss`, `delta`, `holds`,
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

from graphveil.channels.exact import Loss
from graphveil.mechanisms.base import Mechanism

STATED = ("loss", "epsilon", "delta", "holds", "compares", "pair_epsilon", "strictest", "extremes", "settled")
PACKAGE = "graphveil."


def overridden(mechanism: Mechanism, name: str) -> bool:
    """Whether a class from outside the package says this of itself."""
    owner = _owner(mechanism, name)
    return owner is not None and not f"{owner.__module__}.".startswith(PACKAGE)


def _owner(mechanism: Mechanism, name: str) -> type | None:
    if name in vars(mechanism) and not isinstance(
        inspect.getattr_static(type(mechanism), name, None), property
    ):
        # A cached property is stored under its own name; anything else was put there by hand.
        for owner in type(mechanism).__mro__:
            if name in vars(owner):
                return owner
        return type(mechanism)
    return next((owner for owner in type(mechanism).__mro__ if name in vars(owner)), None)


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
    """Whether the answers of a report are to be independent: always, unless the package says otherwise of its own."""
    return mechanism.independent or overridden(mechanism, "independent")


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
        else:
            trusts.append(
                f"`{name}` is not believed: it was computed again from the answers, for inputs of the audit's own"
            )
    if (
        not mechanism.finite
        and not f"{type(mechanism).__module__}.".startswith(PACKAGE)
        and not trusts
        and not leaks
    ):
        trusts.append("it says that it has no finite table, so nothing was enumerated")
    return trusts, leaks


def _summed(mechanism: Mechanism) -> float:
    epsilon = Loss.total(answer.channel.loss.times(answer.count) for answer in mechanism.answers).epsilon
    return epsilon if math.isfinite(epsilon) else math.inf


def _documented(mechanism: Mechanism) -> set[str]:
    """Overrides with a docstring of their own, not one that they inherit."""
    documented = set()
    for name in STATED:
        owner = _owner(mechanism, name)
        member = None if owner is None else vars(owner).get(name)
        function = getattr(member, "fget", None) or getattr(member, "func", None) or member
        if getattr(function, "__doc__", None):
            documented.add(name)
    return documented
