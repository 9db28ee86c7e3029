"""Candidates for an audit, and their claims.

A candidate is a registered name, a plan, a function from a user's file, or a built mechanism.

The package's own classes are tested with the package, and told by identity (`mechanisms.registry.is_own`), never by a name. What somebody
else's class overrides (`loss`, `delta`, `holds`, `compares`, `pair_epsilon`, `extremes`) is computed again here, as the base class
does: by addition over the answers, for any two inputs. Where an override claims less, it needs a proof (the enumeration of a small
version) or, where there is none, a reason in its docstring, which an audit prints as what it takes on trust.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from graphveil.channels.channel import FiniteChannel
from graphveil.channels.exact import Loss
from graphveil.errors import GraphveilError, InputError
from graphveil.files import read_text
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.classes import ClassMechanism, ClassModel, Integers
from graphveil.mechanisms.limits import check_budget, check_dims
from graphveil.mechanisms.personal import PersonalMechanism, level_of, strictest_budget
from graphveil.mechanisms.registry import (
    entry,
    hides_member,
    is_own,
    is_own_builder,
    is_own_member,
    load_entry,
    registered_by,
)
from graphveil.plugins import divided, find_in, load_file
from graphveil.privacy.plan import Plan


def load_mechanism(reference: str) -> Mechanism | str | Callable[..., Mechanism]:
    """Load what ``PATH.py:NAME`` refers to, ready for an audit.

    NAME is a name that the file registers, a function or class in it that builds a mechanism, or a mechanism.
    """
    path, name = divided(reference, "mechanism")
    file = load_file(path)
    registered = registered_by(file)
    if name in registered:
        return name
    member = find_in(file, name, registered, path, "function that builds a mechanism")
    if isinstance(member, Mechanism):
        return member
    if not callable(member):
        kind = type(member).__name__
        raise InputError(f"{name!r} in {path} is a {kind}: name a function that builds a mechanism")
    built: Callable[..., Mechanism] = member
    return built


def read_plan(path: Path, name: str | None = None) -> Plan:
    """Return the plan in a JSON file, as `Plan.to_json` writes it; where the ``name`` of its mechanism is given, that is loaded first."""
    if name is not None:
        load_entry(name)
    text = read_text(path, "give a plan in a JSON file")
    try:
        plan = Plan.from_json(text)
    except InputError as error:
        raise InputError(f"{path}: {error.as_written}") from None
    if name is not None and plan.mechanism not in (name, name.rpartition(":")[2]):
        raise InputError(f"the plan asks by {plan.mechanism}, not by {name}: name its own mechanism, or none")
    return plan


# What an audit asks for where nobody says otherwise.
DIMS, CLASSES, LEVELS, ITEMS = 8, 7, 6, 3
RANGE = (0.0, 1.0)
# What a plan says of its mechanism, besides options.
PLANNED = ("epsilon", "delta", "dims", "range", "sampled", "binary", "classes", "levels")
# Whole reports are enumerated where there are at most this many different ones.
MAX_REPORTS = 1 << 19
# Sizes to enumerate, the first that is small enough: m of d values asked, all d values asked.
SAMPLED_SIZES, WHOLE_SIZES = ((3, 2), (3, 1), (2, 1)), ((3, 3), (2, 2), (1, 1))
# Options of some families that make the alphabet of one value smaller.
COARSER: tuple[dict[str, int], ...] = ({}, {"points": 5}, {"bits": 3})


@dataclass(frozen=True)
class Candidate:
    """A mechanism under audit and the way to build it."""

    name: str | None
    builder: Callable[..., Mechanism]
    epsilon: float
    dims: int | None = None
    sampled: int | None = None
    ready: bool = False
    # What a plan says besides: it is built with this and nothing else.
    planned: dict[str, Any] | None = None
    # What a plan asks of all its users where it asks each for something else; what is built asks everybody like the first.
    asked: ClassMechanism | None = None

    @classmethod
    def of(
        cls,
        what: Mechanism | Plan | str | Callable[..., Mechanism],
        epsilon: float | None = None,
        dims: int | None = None,
        sampled: int | None = None,
    ) -> Candidate:
        """Return the candidate for a mechanism, plan, name or function, with the settings to audit it with.

        Parameters
        ----------
        what
            A mechanism, a plan, a registered name, or a function that builds a mechanism.
        epsilon, dims, sampled
            The settings to build it with (``epsilon``: 1 by default). A mechanism or a plan has its own.
        """
        if isinstance(what, Mechanism | Plan):
            if (epsilon, dims, sampled) != (None, None, None):
                kind = "a plan" if isinstance(what, Plan) else "a mechanism that is built"
                raise InputError(f"epsilon, dims and sampled are part of {kind}: leave them out")
            built = what.build() if isinstance(what, Plan) else what
            if isinstance(built, ClassMechanism):
                # Each of its users is asked in another way.
                planned = {"dims": built.model.dims}
                return cls(built.name, _one_of(built), built.claim.epsilon, planned=planned, asked=built)
            if isinstance(what, Mechanism):
                return cls(what.name, lambda: what, what.claim.epsilon, ready=True)
            said = {key: getattr(what, key) for key in PLANNED if getattr(what, key) is not None}
            planned = {**said, **what.options}
            return cls(what.mechanism, entry(what.mechanism).build, what.epsilon, planned=planned)
        epsilon = 1.0 if epsilon is None else epsilon
        check_budget(epsilon)
        if dims is not None:
            check_dims(dims, sampled)
        if isinstance(what, str):
            return cls(what, entry(what).build, float(epsilon), dims, sampled)
        if not callable(what):
            kind = type(what).__name__
            raise InputError(
                f"a mechanism, its registered name or a function that builds it is audited, got {kind}"
            )
        return cls(None, what, float(epsilon), dims, sampled)

    @property
    def title(self) -> str:
        """The name used in error messages."""
        return self.name or str(getattr(self.builder, "__name__", "the mechanism"))

    def build(self, **other: Any) -> Mechanism:
        """Build it anew, with other settings where they are given."""
        settings = {} if self.ready else self.settings(**other)
        try:
            built = self.builder(**settings)
        except GraphveilError:
            raise
        except Exception as error:
            raise InputError(f"{self.title} cannot be built: {type(error).__name__}: {error}") from error
        if not isinstance(built, Mechanism):
            raise InputError(
                f"{self.title} must build a Mechanism, it returns {type(built).__name__}: subclass "
                "graphveil.mechanisms.Mechanism, or return one of its kinds"
            )
        return built

    def smaller(self) -> Iterator[Mechanism]:
        """The same mechanism with the same ε and fewer values, so few that its reports may be enumerable."""
        whole = self.build()
        if self.takes("dims"):
            takes_sampled = self.takes("sampled")
            for dims, sampled in SAMPLED_SIZES if whole.shape.names_dimensions else WHOLE_SIZES:
                size = {"dims": dims, "sampled": sampled} if takes_sampled else {"dims": dims}
                for coarser in COARSER:
                    try:
                        small = self.build(**size, **coarser)
                    except GraphveilError:
                        continue  # not every family has every option, or every size
                    if report_count(small) <= MAX_REPORTS:
                        yield small
        if report_count(whole) <= MAX_REPORTS:
            yield whole

    @property
    def fixed(self) -> bool:
        """Whether it has no other size than its own: a plan's, or that of a mechanism that is built."""
        return self.ready or self.planned is not None

    def takes(self, setting: str) -> bool:
        """Return whether the function that builds it has this setting."""
        return not self.ready and setting in inspect.signature(self.builder).parameters

    def settings(self, **other: Any) -> dict[str, Any]:
        """Return the settings that it is built with, replaced by those given."""
        if self.planned is not None:
            return smaller_plan({**self.planned, **other}, other)
        accepted = inspect.signature(self.builder).parameters
        open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in accepted.values())
        needed = {
            key
            for key, parameter in accepted.items()
            if parameter.default is parameter.empty
            and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        }
        if self.dims is not None and not {"dims", "classes", "levels"} & set(accepted):
            raise InputError(f"{self.title} takes no dims, classes or levels: leave --dims out")
        if self.sampled is not None and "sampled" not in accepted:
            raise InputError(f"{self.title} has no setting 'sampled': it always sends the same; leave it out")
        # Where there are features, a number of dimensions is theirs; else it is that of classes or levels.
        dims = other.get("dims", self.dims or DIMS)
        symbols = None if "dims" in accepted else self.dims
        levels = LEVELS if "levels" in needed or "dims" not in accepted else None
        offered = {
            "epsilon": self.epsilon,
            "range": RANGE,
            "dims": dims,
            "sampled": self.sampled,
            "classes": symbols or CLASSES,
            "levels": symbols or levels,
            "length": min(ITEMS, max(1, dims - 1)),
            **other,
        }
        for key in accepted:
            if key in needed and offered.get(key) is None:
                raise InputError(
                    f"{self.title} needs {key}, which an audit does not know: give it a default in the function "
                    "that builds the mechanism"
                )
        for key in other:
            if key not in accepted and not open_ended:
                raise InputError(f"{self.title} has no setting {key!r}")
        known = {*accepted, *other}
        return {key: value for key, value in offered.items() if value is not None and key in known}


def _one_of(asked: ClassMechanism) -> Callable[..., Mechanism]:
    """Return a function that builds the first user's class question, with a smaller model for fewer dims."""

    def build(dims: int) -> ClassMechanism:
        one = asked.of_users([0])
        if dims == asked.model.dims:
            return one
        # Each of the first places has a value of its own, so that every one of them is reached.
        weights = np.zeros((asked.model.classes, dims), dtype=np.int64)
        first = one.lists.array[0, :dims]
        weights[first, np.arange(len(first))] = 1
        bias = np.zeros(asked.model.classes, dtype=np.int64)
        small = ClassModel(Integers.of(weights, "weights", 2), Integers.of(bias, "bias", 1))
        return replace(one, model=small, offsets=None)

    return build


def smaller_plan(settings: dict[str, Any], changed: dict[str, Any]) -> dict[str, Any]:
    """The settings of a plan with fewer values: what names values, or counts them, becomes smaller with them."""
    if "dims" not in changed:
        return settings
    dims, smaller = settings["dims"], dict(settings)
    if "length" in smaller:
        smaller["length"] = min(smaller["length"], dims)
    if smaller.get("shares") is not None and len(smaller["shares"]) != dims:
        smaller["shares"] = list(smaller["shares"])[:dims]
    if smaller.get("pool") is not None:
        pool = [place for place in smaller["pool"] if place < dims] or [0]
        sampled = smaller.get("sampled") or 1
        pool = pool[: max(1, min(sampled, dims - 1))]
        smaller["pool"] = pool
        if smaller.get("from_pool") is not None:
            least, most = max(0, sampled - (dims - len(pool))), min(sampled, len(pool))
            smaller["from_pool"] = min(max(smaller["from_pool"], least), most)
    return smaller


def report_count(mechanism: Mechanism) -> float:
    """Return an upper bound on the number of different whole reports."""
    length = mechanism.shape.length
    if mechanism.shape.uneven:
        return 2.0 ** min(mechanism.shape.alphabet, 1000)
    choices = math.comb(mechanism.shape.places, length) if mechanism.shape.names_dimensions else 1
    # In logarithms, because a report of thousands of codes has more than a float can count.
    logarithm = length * math.log(max(mechanism.shape.alphabet, 1)) + math.log(choices)
    return math.exp(min(logarithm, 700.0)) * (1 - 1e-9)


STATED = ("loss", "epsilon", "delta", "holds", "compares", "pair_epsilon", "extremes", "settled")
# What says which answers a report consists of.
SHAPE = ("answers", "shape")
# Tables with more entries than this are the package's, and their loss is believed.
MAX_ENTRIES = 1 << 20


def overridden(mechanism: Mechanism, name: str) -> bool:
    """Return whether a class from outside the package, or a replaced member, defines this attribute."""
    owner = next((owner for owner in type(mechanism).__mro__ if name in vars(owner)), None)
    return hides_member(mechanism, name) or (owner is not None and not is_own_member(owner, name))


def reshaped(mechanism: Mechanism) -> bool:
    """Return whether code from outside the package defines which answers a report consists of."""
    return any(overridden(mechanism, name) for name in SHAPE)


def is_foreign(candidate: Candidate, whole: Mechanism) -> bool:
    """Return whether code from outside the package builds a mechanism or is part of it."""
    if candidate.ready or candidate.asked is not None:
        return not is_own(candidate.asked or whole)
    return not (is_own_builder(candidate.builder) and is_own(whole))


def is_curated(mechanism: Mechanism) -> bool:
    """Return whether a trusted curator sees all data anyway.

    Only the package's own classes may say so, except for links, where any class may.
    """
    believed = mechanism.subject == "links" or not overridden(mechanism, "trust")
    return mechanism.trust == "curator" and believed


def has_levels(mechanism: Mechanism) -> TypeGuard[PersonalMechanism]:
    """Return whether users choose a privacy level; told by the class, because any class may name budgets."""
    return isinstance(mechanism, PersonalMechanism)


def least_claim(mechanism: Mechanism) -> float:
    """Return the ε that a mechanism was asked for: the claim, or the smallest budget where users choose a level."""
    return strictest_budget(mechanism) if has_levels(mechanism) else mechanism.claim.epsilon


def values_of(mechanism: Mechanism, private: Any) -> Any:
    """Return the values among what users hold: all but a level in the last column."""
    return np.asarray(private)[..., :-1] if has_levels(mechanism) else private


def with_values(mechanism: Mechanism, private: Any, values: Any) -> Any:
    """Return the same users with other values; levels stay.

    Parameters
    ----------
    mechanism
        The mechanism, which says whether users have levels.
    private
        What users hold, one row each; a level is in the last column.
    values
        The new values, one row each.
    """
    return np.column_stack([values, np.asarray(private)[:, -1]]) if has_levels(mechanism) else values


def decoder(mechanism: Mechanism) -> Mechanism:
    """Return a mechanism that decodes each report by itself.

    This is the mechanism itself, unless it estimates from all reports how many users chose each level.
    """
    return mechanism.settled() if has_levels(mechanism) else mechanism


def believed(mechanism: Mechanism, name: str, default: Any) -> Any:
    """Return what a mechanism says of itself where the package's own code says it, else the default.

    Parameters
    ----------
    mechanism
        The mechanism.
    name
        The name of the attribute.
    default
        What counts where a stranger defines the attribute, or nobody does.
    """
    # What is set on an object alone, a stranger has set.
    defined = any(name in vars(owner) for owner in type(mechanism).__mro__)
    return getattr(mechanism, name) if defined and not overridden(mechanism, name) else default


def reason(mechanism: Mechanism, name: str) -> str | None:
    """Return why an override is right, by the docstring of its own, not one that it inherits; None where it has none."""
    member = inspect.getattr_static(type(mechanism), name, None)
    function = getattr(member, "fget", None) or getattr(member, "func", None) or member
    docstring = inspect.cleandoc(getattr(function, "__doc__", None) or "")
    return " ".join(docstring.split()) or None


@dataclass(frozen=True)
class CheckedLoss:
    """The loss, the δ and the verdict that an audit uses, either believed or computed again."""

    loss: Loss
    delta: float
    holds: bool
    # What the mechanism says is less than its answers add up to, and nothing but an enumeration can show it.
    needs_proof: bool = False

    @classmethod
    def of(cls, mechanism: Mechanism) -> CheckedLoss:
        """Return the mechanism's own values where the package computes them, else those of its answers."""
        if not any(overridden(mechanism, name) for name in ("loss", "epsilon", "delta", "holds")):
            return cls(mechanism.loss, mechanism.delta, mechanism.holds)
        if not mechanism.answers:
            loss = mechanism.loss
            return cls(loss, 0.0, not loss.exceeds(mechanism.claim.epsilon))
        summed = summed_loss(mechanism)
        if overridden(mechanism, "loss") and understates(mechanism.loss, summed):
            kept = not mechanism.loss.exceeds(mechanism.claim.epsilon)
            return cls(mechanism.loss, 0.0 if kept else 1.0, kept, needs_proof=True)
        spent = sum(Fraction(answer.channel.claim.delta) * answer.count for answer in mechanism.answers)
        kept = spent <= Fraction(mechanism.claim.delta) and not summed.exceeds(mechanism.claim.epsilon)
        if mechanism.claim.delta:
            kept = kept and all(answer.channel.holds for answer in mechanism.answers)
        lost = sum(Fraction(answer.channel.delta) * answer.count for answer in mechanism.answers)
        return cls(summed, 0.0 if kept and not mechanism.claim.delta else min(1.0, float(lost)), kept)


def claims_independence(mechanism: Mechanism) -> bool:
    """Return whether the answers of a report should be independent.

    They should, unless the package says otherwise of its own mechanism, or some are decoys (`has_decoys`).
    """
    return believed(mechanism, "independent", True) and not has_decoys(mechanism)


def answers_alone(mechanism: Mechanism) -> bool:
    """Return whether a report consists of independent answers and of nothing else."""
    return mechanism.finite and claims_independence(mechanism) and not has_levels(mechanism)


def has_decoys(mechanism: Mechanism) -> bool:
    """Return whether a mechanism from outside the package says that some of its answers are blind."""
    if not overridden(mechanism, "answers"):
        return False
    blind = [is_blind(answer.channel) for answer in mechanism.answers]
    return any(blind) and not all(blind)


def is_blind(channel: FiniteChannel) -> bool:
    """Return whether a channel answers every input alike: all rows are the same integers."""
    if channel.input_count * channel.output_count > MAX_ENTRIES:
        return channel.loss.terms == ()
    first = channel.row(0)
    return all(channel.row(symbol) == first for symbol in range(1, channel.input_count))


def draws_by_reports(mechanism: Mechanism) -> bool:
    """Return whether the number of random words may depend on the report.

    It may only where the package says so of its own mechanism.
    """
    return bool(believed(mechanism, "bits_by_reports", False))


def is_compared(mechanism: Mechanism, one: Any, other: Any) -> bool:
    """Return whether a claim is about two inputs: as the package says, else by the subject.

    Parameters
    ----------
    mechanism
        The mechanism.
    one, other
        What two users hold, or one of them instead of the other.
    """
    if has_levels(mechanism) and mechanism.blinded:
        # The control still randomizes levels: it hides rows of one level from each other.
        return level_of(one) == level_of(other)
    if (compares := believed(mechanism, "compares", None)) is not None:
        return bool(compares(one, other))
    return mechanism.subject != "links" or int((np.asarray(one) != np.asarray(other)).sum()) == 1


def compared_pairs(mechanism: Mechanism, inputs: list[Any]) -> list[tuple[int, int]]:
    """Return the pairs of inputs that a claim is about, each once."""
    return [
        (one, other)
        for one, other in combinations(range(len(inputs)), 2)
        if is_compared(mechanism, inputs[one], inputs[other])
    ]


def pair_claim(mechanism: Mechanism, one: Any, other: Any) -> float:
    """Return the ε claimed for two inputs: that of the pair where the package defines it, else the claim.

    Parameters
    ----------
    mechanism
        The mechanism.
    one, other
        What two users hold.
    """
    of_pair = believed(mechanism, "pair_epsilon", None)
    return mechanism.claim.epsilon if of_pair is None else float(of_pair(one, other))


def trust_findings(mechanism: Mechanism, enumerated: bool) -> tuple[list[str], list[str]]:
    """Return what is taken on trust, in sentences, and what cannot be because no reason is given."""
    trusts, leaks = [], []
    if mechanism.trust == "curator":
        trusts.append(
            f"{mechanism.name} is a curator's mechanism: the curator who adds the noise sees what all users hold in the clear and "
            "must be trusted; its claim is about what is published"
        )
    stated = [each for each in STATED if overridden(mechanism, each)]
    if "loss" in stated and not mechanism.finite:
        stated.remove("loss")
        if why := reason(mechanism, "loss"):
            trusts.append(f"`loss` of {mechanism.name} is taken on trust: {why}")
        else:
            detail = (
                "it names no channels, and the docstring of `loss` gives no reason: say why it is right there"
            )
            leaks.append(f"its epsilon is its own word: {detail}")
    elif "loss" in stated and CheckedLoss.of(mechanism).needs_proof:
        stated.remove("loss")
        if enumerated:
            trusts.append(
                f"`loss` of {mechanism.name} is less than its answers add up to: an enumeration shows it for a small version, and at "
                "this size it is taken on trust"
            )
        else:
            stated_loss, summed = mechanism.loss.epsilon, summed_loss(mechanism).epsilon
            detail = f"its answers add up to {summed:.6g}, and no enumeration shows that it is less"
            leaks.append(f"the mechanism states a loss of {stated_loss:.6g}, {detail}")
    trusts += [
        f"`{each}` is not believed: it was computed again from the answers, for inputs of the audit's own"
        for each in stated
    ]
    if not mechanism.finite and not is_own(mechanism) and not trusts and not leaks:
        trusts.append("it says that it has no finite table, so nothing was enumerated")
    return trusts, leaks


def understates(stated: Loss, seen: Loss) -> bool:
    """Return whether a stated loss is less than one that was seen; an infinite one never is."""
    return stated.terms is not None and (seen.terms is None or seen.exceeds(Fraction(stated.epsilon)))


def summed_loss(mechanism: Mechanism) -> Loss:
    """Return what the losses of all answers add up to."""
    return Loss.total(answer.channel.loss.times(answer.count) for answer in mechanism.answers)
