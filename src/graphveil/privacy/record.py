"""The privacy record: what was read, what was reported and what it cost; as an object, as JSON, in words and in a cell."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from graphveil.mechanisms import PersonalMechanism, entry
from graphveil.mechanisms.base import Trust
from graphveil.mechanisms.links import told_by_both_ends
from graphveil.mechanisms.personal import level_loss
from graphveil.mechanisms.registry import origin
from graphveil.number_format import counted, rounded_up
from graphveil.plugins import is_reference
from graphveil.privacy.ledger import Charge, Ledger, add_up

# Digits of an ε or δ in a sentence.
DIGITS = 6


class RecordPart(BaseModel):
    """Something that a privacy record says."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Cost(RecordPart):
    """The most that a user has spent; an ε of None is no protection at all.

    ``per_level`` is what users of each level have spent, ``norm`` the part of it that norms cost.
    """

    epsilon: float | None
    delta: float = 0.0
    per_level: list[float] | None = None
    norm: float | None = None

    @property
    def words(self) -> str:
        """ε and, where there is one, δ; the budgets of all levels where users chose one.

        >>> Cost(epsilon=1.0).words, Cost(epsilon=8.0, per_level=[2.0, 4.0, 8.0]).words
        ('ε = 1', 'ε = 2, 4 or 8 by level')
        >>> Cost(epsilon=3.0, norm=1.0).words
        'ε = 3, 1 of it for norms'
        """
        norms = f", {number(self.norm)} of it for norms" if self.norm else ""
        if self.per_level:
            *lower, last = (number(each) for each in self.per_level)
            return f"ε = {', '.join(lower)} or {last} by level{norms}"
        return self.most + norms

    @property
    def most(self) -> str:
        """ε and, where there is one, δ: the most that anybody has spent."""
        return f"ε = {number(self.epsilon)}" + (f", δ = {number(self.delta)}" if self.delta else "")


class Round(RecordPart):
    """One question: what it was about, by which mechanism, how many were asked, what it claims and what its tables say."""

    subject: str
    round: int
    mechanism: str
    users: int
    epsilon: float
    delta: float = 0.0
    exact: float | None = None
    of: str = "values"


class PanelGiven(RecordPart):
    """The volunteers who gave their features in the clear, by consent, and their number.

    So many of them were ``asked`` besides, about features, labels or levels, and charged like everybody.
    """

    users: int
    raw: bool = True
    asked: int = 0

    @property
    def words(self) -> str:
        """The number of volunteers and what they gave, in words.

        >>> PanelGiven(users=300).words, PanelGiven(users=1).words
        ('300 volunteers gave their raw features', '1 volunteer gave their raw features')
        """
        return f"{counted(self.users, 'volunteer')} gave their raw features"


def number(epsilon: float | None) -> str:
    """An ε as it is printed: rounded up. A stored result has None where it is infinite, as JSON knows no such number.

    >>> number(0.5), number(1.0000049), number(None)
    ('0.5', '1.00001', 'infinite')
    """
    return "infinite" if epsilon is None else rounded_up(epsilon, DIGITS)


# What a ledger calls label, results call labels: there they are those of many.
SUBJECTS = {"features": "features", "label": "labels", "links": "links", "level": "level"}

# What a question for a class is about.
CLASS_OF_ROW = "the class that a public model gives to the own row"


class Privacy(RecordPart):
    """A record of what a method's server learned, by subject and by round, and of the trust it needs.

    ``raw`` names what was read in the clear, ``trust`` is "none" there: nothing is claimed. It is "curator" where somebody who
    saw all of it added the noise to anything that was asked, else "local". ``sound`` is False where a mechanism
    does not keep its claim, ``outside`` names those whose claim is their author's, as `graphveil audit` takes them, ``ideal`` those
    whose noise is made of floating-point numbers, so that ε is the bound of the ideal mechanism. A budget for
    links is one link's, so it is no part of the ``total``. ``level`` is what reports reveal of the level itself, over pairs of
    levels with equal features; it is part of the features' budget. ``silent`` says that some who were asked did not answer: they
    count as if they had. ``partial`` says that some were not asked at all. ``beyond_audit`` is what claims rest on that no audit can see. ``panel`` are volunteers, whose features
    were read in the clear: ``trust`` and all costs are about what was asked, of them or of the others. ``links_at_most`` is there where
    devices answer about links, one end for each: what a link costs if the server lies to them about numbers, so that both ends answer.
    """

    features: Cost | None = None
    labels: Cost | None = None
    links: Cost | None = None
    links_at_most: Cost | None = None
    level: Cost | None = None
    total: Cost | None = None
    rounds: list[Round] = Field(default_factory=list)
    raw: list[str] = Field(default_factory=list)
    sound: bool = True
    outside: list[str] = Field(default_factory=list)
    ideal: list[str] = Field(default_factory=list)
    trust: Literal["local", "curator", "none"] = "local"
    silent: bool = False
    partial: bool = False
    beyond_audit: list[str] = Field(default_factory=list)
    panel: PanelGiven | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        costs = {"per_level", "norm"}
        whole = self.model_dump(
            exclude={
                name
                for name in ("outside", "ideal", "beyond_audit", "links_at_most")
                if not getattr(self, name)
            }
        )
        for subject in (*SUBJECTS.values(), "links_at_most", "total"):
            if whole.get(subject) is not None:
                # Where there are neither levels nor norms, nothing is said of them.
                whole[subject] = {
                    key: value
                    for key, value in whole[subject].items()
                    if value is not None or key not in costs
                }
        for flag in ("silent", "partial"):
            if not whole[flag]:
                del whole[flag]
        if self.panel is not None and not self.panel.asked:
            del whole["panel"]["asked"]
        return whole

    @property
    def volunteers(self) -> int | None:
        """The number of volunteers who gave their raw features; None where there are none."""
        return None if self.panel is None else self.panel.users

    @property
    def sentence(self) -> str:
        """A sentence on who reported what, at which budget, and whom one has to trust.

        Volunteers come first.
        """
        own = self._sentence()
        return own if self.panel is None else f"{self.panel.words}; {own[0].lower()}{own[1:]}"

    def _sentence(self) -> str:
        reported = self._reported()
        if self.raw:
            besides = f" Besides, {reported[0].lower()}{reported[1:]}." if reported else ""
            return f"Everybody's raw {' and '.join(self.raw)} were read: this claims no privacy.{besides}"
        if not reported:
            who = "Nobody" if self.panel is None else "Nobody else"
            return f"{who} reported anything private to this method's server."
        beyond = "".join(f" No audit covers this: {told[0].lower()}{told[1:]}" for told in self.beyond_audit)
        return f"{reported}; {self._trusted()}.{self._bounded()}{self._claimed()}{beyond}"

    @property
    def cell(self) -> str:
        """The same in a few words, for a table."""
        if self.raw:
            return f"none: {' and '.join(self.raw)} are read"
        costs = {"features": self.features, "labels": self.labels, "level": self.level}
        told = [f"{subject} {cost.most}" for subject, cost in costs.items() if cost is not None]
        if len(told) > 1 and self.total is not None:
            told.append(f"in all {self.total.most}")
        if self.links is not None:
            lied = self.links_at_most
            told.append(
                f"a link {self.links.most}"
                + ("" if lied is None else f" ({lied.most} if the server lies about numbers)")
            )
        whose = ", as an author from outside claims" if self.outside else ""
        gave = "" if self.panel is None else f"{counted(self.panel.users, 'volunteer')} raw; "
        return gave + (f"{', '.join(told)}; {self.trust}{whose}" if told else "nothing reported")

    def _reported(self) -> str:
        costs = {"features": self.features, "labels": self.labels}
        if self.features is None:
            costs["levels"] = self.level
        held = {subject: cost for subject, cost in costs.items() if cost is not None}
        if not held and self.links is None:
            return ""
        spent = " and ".join(
            f"{self._what(subject, cost)} at {cost.words}{self._in_rounds(subject, cost)}"
            for subject, cost in held.items()
        )
        in_all = f", in all {self.total.words}" if self.total is not None and len(held) > 1 else ""
        some = [subject for subject in ("labels",) if subject in held]
        some += ["norms"] if any(cost.norm for cost in held.values()) else []
        partly = bool(some) or not held or any(one.of == "class" for one in self.rounds)
        who = self._who(partly)
        part = f" ({' and '.join(some)} of training and validation users)" if some else ""
        hidden = "" if self.level is None or self.features is None else f"; {_level_words(self.level)}"
        each = "" if self.links is None else f"{';' if spent else ' links:'} {self._link_words(self.links)}"
        return f"{who} {spent}{in_all}{part}{hidden}{each}" if spent else f"{who}{each}"

    def _who(self, partly: bool) -> str:
        """Return who reported: some users or every one.

        All but volunteers, where none of these was asked besides.
        """
        others = self.panel is not None and not self.panel.asked
        partly |= self.partial
        partly |= self.panel is not None and 0 < self.panel.asked < self.panel.users
        everybody, some = ("Everybody else", "Others") if others else ("Every user", "Users")
        if self.silent:
            return f"{some} were asked to report" if partly else f"{everybody} was asked to report"
        return f"{some if partly else everybody} reported"

    def _link_words(self, cost: Cost) -> str:
        """Return the cost of a link, and its name in documents that count what each end spends."""
        if self.trust == "curator":
            return f"every private link costs {cost.words} in what is published"
        told = f"every link {self.link_cost}"
        if self.links_at_most is not None or not cost.epsilon:
            return told
        return f"{told} ({number(cost.epsilon / 2)} where each end is counted)"

    @property
    def link_cost(self) -> str:
        """The cost of a link over both its ends; where devices answer, with an honest server and with any."""
        told = "costs nothing" if self.links is None else f"costs {self.links.words} over both its ends"
        if self.links_at_most is None:
            return told
        return (
            f"{told} if the server tells everybody the same numbers of people, and at most {self.links_at_most.words} if it lies about "
            "them, because both ends may answer then"
        )

    def _what(self, subject: str, cost: Cost) -> str:
        """Return what was reported of a subject: itself, or the class that a public model makes of it."""
        rounds = self._rounds_of(subject)
        kinds = {one.of for one in rounds}
        if "class" not in kinds:
            return subject
        if kinds == {"class"}:
            return CLASS_OF_ROW
        return f"{subject} {'and' if _add_up(rounds, cost) else 'or'} {CLASS_OF_ROW}"

    def _rounds_of(self, subject: str) -> list[Round]:
        return [one for one in self.rounds if SUBJECTS.get(one.subject) == subject]

    def _in_rounds(self, subject: str, cost: Cost) -> str:
        rounds = [one for one in self._rounds_of(subject) if one.of == "values"]
        if len(rounds) < 2 or (self.features is not None and self.features.per_level):
            return ""
        if not _add_up(self._rounds_of(subject), cost):
            return ""
        return f" in {len(rounds)} rounds ({', '.join(number(one.epsilon) for one in rounds)})"

    def _bounded(self) -> str:
        """Return what ε is a bound of, where a mechanism does not answer by tables of integers."""
        if not self.ideal:
            return ""
        names, kind = " and ".join(self.ideal), "mechanism" if len(self.ideal) == 1 else "mechanisms"
        whose = "its" if len(self.ideal) == 1 else "their"
        return f" ε of {names} is the bound of the ideal {kind}: {whose} noise is made of floating-point numbers."

    def _claimed(self) -> str:
        """Whose the claims are that the library does not vouch for, and how to check them."""
        return "".join(
            f" What {name} claims is its author's word, not the library's: `graphveil audit {shlex.quote(name)}` checks it."
            for name in self.outside
        )

    def _trusted(self) -> str:
        if not self.sound:
            return "the mechanism does not keep what it claims, so the server learns more than that"
        if self.trust != "local":
            return "the curator who adds the noise must be trusted"
        return self.server_trust + ("" if self.panel is None else " but the volunteers'")

    @property
    def server_trust(self) -> str:
        """That a server needs no trust, or none beyond the numbers that it gives to people."""
        return (
            "the server needs no trust"
            if self.links_at_most is None
            else "beyond that the server needs no trust"
        )


def privacy_record(
    ledger: Ledger,
    raw: Sequence[str] = (),
    *,
    silent: bool = False,
    partial: bool = False,
    volunteers: NDArray[np.int64] | None = None,
    devices: bool = False,
) -> Privacy:
    """Return the privacy record of a ledger.

    Parameters
    ----------
    ledger
        The ledger of all that was charged.
    raw
        The subjects that were read in the clear.
    silent
        Whether some who were asked did not answer.
    partial
        Whether some were not asked at all.
    volunteers
        The users who gave their raw rows by consent, which no ledger charges.
    devices
        Whether people answer on their own devices, which have the numbers that say who answers for a link
        from a server.
    """
    charges = ledger.charges
    costs = {name: _cost(ledger, subject) for subject, name in SUBJECTS.items()}
    personal = [charge.built for charge in charges if isinstance(charge.built, PersonalMechanism)]
    features = costs["features"]
    if features is not None:
        norm = ledger.total_of(lambda charge: charge.of == "norm").epsilon
        levels = zip(*(one.budgets for one in personal), strict=True)
        per_level = [sum(each) + norm for each in levels] or None
        costs["features"] = features.model_copy(update={"per_level": per_level, "norm": norm or None})
        if personal:
            loss = level_loss(personal).epsilon
            asked = 0.0 if costs["level"] is None else costs["level"].epsilon or 0.0
            costs["level"] = Cost(epsilon=loss + asked if math.isfinite(loss) else None)
    total = ledger.total_of(lambda charge: charge.subject != "links")
    whole = any(charge.subject != "links" for charge in charges)
    return Privacy(
        **costs,
        links_at_most=_links_at_most(charges) if devices else None,
        total=Cost(epsilon=total.epsilon, delta=total.delta) if whole else None,
        rounds=[_round(charge) for charge in charges],
        raw=list(raw),
        sound=all(entry(charge.mechanism).sound for charge in charges),
        outside=list(dict.fromkeys(filter(None, (_outside(charge.mechanism) for charge in charges)))),
        ideal=list(dict.fromkeys(charge.mechanism for charge in charges if _is_ideal(charge))),
        trust="none" if raw else _trust(charges),
        silent=silent,
        partial=partial,
        panel=None if volunteers is None else _panel_given(ledger, volunteers),
        beyond_audit=list(dict.fromkeys(told for charge in charges for told in _beyond_audit(charge))),
    )


def _panel_given(ledger: Ledger, volunteers: NDArray[np.int64]) -> PanelGiven:
    asked = ledger.asked_about(("features", "label", "level"))
    return PanelGiven(users=len(volunteers), asked=int(asked[volunteers].sum()))


def _is_ideal(charge: Charge) -> bool:
    """Whether what was claimed is claimed of numbers that no computer draws."""
    return charge.built is not None and not charge.built.finite


def _beyond_audit(charge: Charge) -> tuple[str, ...]:
    return () if charge.built is None else charge.built.beyond_audit


def _trust(charges: Sequence[Charge]) -> Trust:
    """Whom one has to trust: a curator, where one has added any of the noise."""
    curators = (charge.built is not None and charge.built.trust == "curator" for charge in charges)
    return "curator" if any(curators) else "local"


def _outside(mechanism: str) -> str:
    """Return the name in `graphveil audit` of a mechanism that is not the library's own.

    Nothing for one that is.
    """
    source = origin(mechanism)
    if source is None:
        return ""
    return f"{source.path}:{mechanism}" if source.path and not is_reference(mechanism) else mechanism


def _cost(ledger: Ledger, subject: str) -> Cost | None:
    if not any(charge.subject == subject for charge in ledger.charges):
        return None
    spent = ledger.total_of(lambda charge: charge.subject == subject)
    return Cost(epsilon=spent.epsilon, delta=spent.delta)


def _links_at_most(charges: Sequence[Charge]) -> Cost | None:
    """Return the cost of a link if both its ends answer wherever one was meant to.

    None where that is no more.
    """
    links = [charge for charge in charges if charge.subject == "links"]
    meant = add_up(charge.claim for charge in links)
    most = add_up(told_by_both_ends(charge.built) for charge in links if charge.built is not None)
    return Cost(epsilon=most.epsilon, delta=most.delta) if most != meant else None


def _round(charge: Charge) -> Round:
    return Round(
        subject=charge.subject,
        round=charge.round,
        mechanism=charge.mechanism,
        users=charge.users,
        epsilon=charge.claim.epsilon,
        delta=charge.claim.delta,
        exact=charge.exact if math.isfinite(charge.exact) and not _beyond_audit(charge) else None,
        of=charge.of,
    )


def _add_up(rounds: Sequence[Round], cost: Cost) -> bool:
    """Whether somebody answered all of these rounds: else they went to different users, and nobody spent their sum."""
    return cost.epsilon is None or cost.epsilon >= math.fsum(one.epsilon for one in rounds) * (1 - 1e-12)


def _level_words(level: Cost) -> str:
    if level.epsilon is None:
        return "the level that each chose is not protected at all"
    return f"the level that each chose is hidden up to {level.words}"


def artefact_statement(
    privacy: Privacy, seed: int | None, public: Sequence[str], what: str = "embedding", drawn: str = ""
) -> str:
    """Return the statement of an artefact: who reported what, what it rests on, and what the seed means.

    Parameters
    ----------
    privacy
        The privacy record.
    seed
        The seed; None where people's own devices have answered.
    public
        The names of what was taken as known to everybody.
    what
        The noun for the artefact.
    drawn
        A text that says whose reports come from where, unless all come from the seed.
    """
    words = [privacy.sentence]
    if privacy.raw:
        return words[0]
    if public:
        words.append(f"It may rest on {' and '.join(public)} besides, which were taken as public.")
    if privacy.rounds and seed is not None:
        words.append(
            f"{drawn or f'Reports are simulated with seed {seed}'}, and whoever knows a seed can undo the noise: "
            f"publish no {what} of real people made so."
        )
    return " ".join(words)
