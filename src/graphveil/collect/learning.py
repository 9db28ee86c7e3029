"""The users of a collection, as a method sees them, and the blinded control that the server draws itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.sampling import SeededBits
from graphveil.errors import ClaimError, InputError, PrivacyError
from graphveil.mechanisms import PersonalMechanism, PersonalRows, Reports, entry
from graphveil.privacy import Ledger, Plan
from graphveil.privacy.plan import plan_digest

if TYPE_CHECKING:
    from graphveil.collect.rounds import PublishedRound
    from graphveil.collect.storage import Collection

Nodes = NDArray[np.int64]
# What may differ where answers to one question are taken for answers to another: the rest decides how they are read.
MAY_DIFFER = frozenset({"users", "round", "model", "lists", "offsets", "options"})


class BlindedUsers:
    """Users who answer nothing about features: the server draws such reports by the blinded mechanism, from its own seed.

    Reports of labels are those that arrived. Nobody is asked for a control, and nobody spends anything. In the place of the i-th
    question about features those answer who answered the method's i-th; of users whom that one did not ask, those who answered
    any about features.
    """

    def __init__(self, replayed: Sequence[Replayed], users: int, seed: int) -> None:
        self._others = {
            plan_digest(each.plan): each.reports for each in replayed if each.plan.subject != "features"
        }
        self._features = [each for each in replayed if each.plan.subject == "features"]
        self._users, self._words, self._seed = users, SeededBits(seed), seed
        self._asked = 0

    def report(self, plan: Plan) -> Reports:
        """Blinded reports about features; of everything else what arrived."""
        if plan.subject != "features":
            if plan_digest(plan) not in self._others:
                raise InputError(
                    f"the control asks for {plan.subject} as the method did not: they must ask alike"
                )
            return self._others[plan_digest(plan)]
        asked = asked_users(plan, self._users)
        mechanism = plan.build().blind()
        assert plan.range is not None
        # Any rows will do; these are one number, seen as often as needed.
        nothing = np.broadcast_to(plan.range[0], (len(asked), mechanism.shape.row_length))
        held = PersonalRows(self._levels(len(asked)), nothing) if mechanism.budgets else nothing
        drawn = mechanism.randomize(held, self._words)
        who = self._answering(self._asked)[asked]
        self._asked += 1
        return drawn.answered_by(who)

    def _levels(self, count: int) -> NDArray[np.int64]:
        """A privacy level for each of so many users: who has which is not known, how many is, from the reports."""
        reports = self._features[min(self._asked, len(self._features) - 1)].reports
        assert isinstance(reports.mechanism, PersonalMechanism)
        shares = np.maximum(reports.mechanism.level_shares(reports), 0.0)
        random = np.random.default_rng([self._seed, self._asked])
        return 1 + random.choice(len(shares), count, p=shares / shares.sum())

    def _answering(self, place: int) -> NDArray[np.bool_]:
        """Return which users answer the question about features at this place, (users,) bool."""
        answering = answered_features(self._features, self._users)
        if place < len(self._features):
            own = self._features[place]
            asked = asked_users(own.plan, self._users)
            answering[asked] = False
            answering[asked[own.reports.places]] = True
        return answering


def answered_features(replayed: Sequence[Replayed], users: int) -> NDArray[np.bool_]:
    """Return which users have answered a question about features, (users,) bool."""
    answered = np.zeros(users, dtype=bool)
    for each in replayed:
        if each.plan.subject == "features":
            answered[asked_users(each.plan, users)[each.reports.places]] = True
    return answered


class RoundOpenError(Exception):
    """A method cannot go on before people have answered: no mistake, but the end of what can be done now."""

    def __init__(self, rounds: Sequence[PublishedRound], published: bool) -> None:
        self.rounds, self.published = tuple(rounds), published
        super().__init__(" ".join(map(self._sentence, self.rounds)))

    def _sentence(self, each: PublishedRound) -> str:
        asked, subject = len(each.asked), "class" if each.plan.of == "class" else each.plan.subject
        if self.published:
            return f"Round {each.number} is published: it asks {asked:,} users ({subject}, {each.plan.mechanism})."
        return f"Round {each.number} is open: {each.answered:,} of {asked:,} users have answered."


@dataclass(frozen=True)
class Replayed:
    """A question that was answered: as the method asked it, the round that holds its answers, and these."""

    plan: Plan
    round: PublishedRound
    reports: Reports


@dataclass(frozen=True)
class StudyTerms:
    """The study that rounds are published for, and when they expire (seconds since 1970).

    ``as_published`` lets published questions stand in for the method's own.
    """

    study: str
    expires: int
    as_published: bool = False


class CollectedUsers:
    """Those who answer a collection's questions; to a method they are users like any.

    A method is a pure function of graph, answers and seed. So it is run from the start each time: every question whose round is
    closed gets the reports of that round, the next one is published, and the method stops with a RoundOpenError. A published plan is
    frozen. A method that now asks something else, because settings, graph or answers have changed, is stopped; with
    ``as_published`` it goes on with what was answered to the published question, as far as that answers its own.

    A question that was published for another study is not asked again: its answers are there. Plans ``ahead`` are those
    that the method is going to ask whatever is answered: they are published together with the first, so that people wait once.
    Every round is charged to the public books as soon as its answers are used.
    """

    def __init__(
        self, collection: Collection, ledger: Ledger, terms: StudyTerms, ahead: Sequence[Plan] = ()
    ) -> None:
        self._collection, self._ledger, self._terms, self._ahead = collection, ledger, terms, tuple(ahead)
        self._replayed: list[Replayed] = []

    @property
    def replayed(self) -> tuple[Replayed, ...]:
        """All questions that were answered so far, in the order in which the method asked them."""
        return tuple(self._replayed)

    def report(self, plan: Plan) -> Reports:
        """Return the reports that answer a plan; RoundOpenError where its round is not closed yet."""
        plan = Plan.checked(plan)
        refuse_unanswerable(plan)
        found = self._find(plan)
        if found is None:
            raise RoundOpenError(self._publish(plan), published=True)
        if not found.closed:
            raise RoundOpenError([found], published=False)
        reports = aligned_reports(
            self._collection.reports(found.number), found.plan, plan, self._ledger.users
        )
        if found.number not in self._used:
            charge_round(self._ledger, found.plan, found.asked)
        self._replayed.append(Replayed(plan, found, reports))
        return reports

    @property
    def _used(self) -> set[int]:
        return {each.round.number for each in self._replayed}

    def _find(self, plan: Plan) -> PublishedRound | None:
        """The round that asks this plan; or, where the study has asked another in its place, that one or a refusal."""
        rounds, digest = self._collection.rounds(), plan_digest(plan)
        same = [each for each in rounds if each.digest == digest]
        if same:
            return same[0]
        own = [each for each in rounds if each.study == self._terms.study and each.number not in self._used]
        if not own:
            return None
        frozen = own[0]
        if not self._terms.as_published:
            raise InputError(
                f"round {frozen.number} of {self._terms.study} is published and frozen, and the method now asks another question "
                f"({differences(frozen.plan, plan)} differ): settings, graph, volunteers or answers have changed since. Run it as it "
                "was published, go on with the published question by --as-published, or ask anew by --study NAME, which costs "
                "users a budget of its own"
            )
        refuse_other_kind(frozen.number, frozen.plan, plan)
        return frozen

    def _publish(self, plan: Plan) -> list[PublishedRound]:
        """Publish a plan, and with a study's first one those that will be asked anyway."""
        known = {each.digest for each in self._collection.rounds()}
        first = not self._replayed and plan_digest(plan) in map(plan_digest, self._ahead)
        wanted = {plan_digest(each): each for each in (plan, *(self._ahead if first else ()))}
        return [
            self._collection.publish(each, self._terms.expires, self._terms.study)
            for digest, each in wanted.items()
            if digest not in known
        ]


def charge_round(ledger: Ledger, plan: Plan, asked: Nodes) -> None:
    """Charge a round to the public books; users who have no budget in them are left out.

    Parameters
    ----------
    ledger
        The public books.
    plan
        The plan of the round.
    asked
        The nodes that it asked, (asked,) int64.
    """
    there = asked[ledger.budget[asked] > 0]
    if there.size:
        ledger.charge(plan.part(there.tolist()))


def refuse_unanswerable(plan: Plan) -> None:
    """Refuse, before it is published, what no device would answer."""
    built = plan.build()
    if built.trust == "curator":
        raise PrivacyError(f"no device answers {plan.mechanism}, a curator's mechanism: take a local one")
    if not (entry(plan.mechanism).sound and built.holds):
        raise ClaimError(
            f"{plan.mechanism} does not keep the privacy that it claims, so no device answers it: `graphveil audit "
            f"{plan.mechanism}` says why"
        )
    if plan.subject == "level":
        raise InputError(f"a collection asks for no levels, as {plan.mechanism} does: take another mechanism")


def differences(published: Plan, wanted: Plan) -> str:
    """Return the names of the fields that differ between two plans."""
    return " and ".join(_changed(published, wanted)) or "nothing that is seen"


def _changed(published: Plan, wanted: Plan) -> list[str]:
    return [name for name in Plan.model_fields if getattr(published, name) != getattr(wanted, name)]


def refuse_other_kind(number: int, published: Plan, wanted: Plan) -> None:
    """Refuse to use the answers of a round whose question is of another kind.

    Parameters
    ----------
    number
        The number of the round.
    published
        The plan that the round asks.
    wanted
        The plan that the method asks.
    """
    wrong = [name for name in _changed(published, wanted) if name not in MAY_DIFFER]
    if wrong:
        raise InputError(
            f"round {number} was published with another {' and '.join(wrong)}, so its answers cannot stand for those that the method "
            "asks for: run it with the settings that it was published with"
        )


def aligned_reports(reports: Reports, published: Plan, wanted: Plan, users: int) -> Reports:
    """Return answers to the published plan in the order of the wanted one; users not asked are silent.

    A place in a list of classes says something only of the same list: where a user's list has changed, the answer is left out.

    Parameters
    ----------
    reports
        The answers to the published plan.
    published, wanted
        The plan that was published, and the one that the method asks.
    users
        The number of users in the graph.
    """
    before, now = asked_users(published, reports.asked), asked_users(wanted, users)
    if np.array_equal(before, now) and published.lists == wanted.lists:
        return reports
    places = np.full(max(users, int(before.max(initial=-1)) + 1), -1)
    places[now] = np.arange(len(now))
    came = places[before[reports.places]]
    kept = came >= 0
    if published.lists is not None and wanted.lists is not None:
        own, other = published.lists.array[reports.places], wanted.lists.array[np.maximum(came, 0)]
        kept &= (own == other).all(axis=1)
    chosen = np.flatnonzero(kept)
    chosen = chosen[np.argsort(came[chosen])]
    answered = np.zeros(len(now), dtype=bool)
    answered[came[chosen]] = True
    mechanism = wanted.build() if wanted.of == "class" else reports.mechanism
    return replace(reports.rows(chosen), mechanism=mechanism, answered=answered)


def asked_users(plan: Plan, count: int) -> Nodes:
    """Return the numbers of the users that a plan asks, of ``count`` users, in its order."""
    return np.arange(count) if plan.users == "all" else np.array(plan.users, dtype=np.int64)
