"""The control of a collection: blinded reports that the server draws itself, for exactly those who answered."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.words import SeededWords
from graphveil.collect.frozen import asked_of
from graphveil.collect.learning import Replayed
from graphveil.errors import InputError
from graphveil.mechanisms import PersonalMechanism, PersonalRows, Reports
from graphveil.privacy import Plan
from graphveil.privacy.digest import plan_digest


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
        self._users, self._words, self._seed = users, SeededWords(seed), seed
        self._asked = 0

    def report(self, plan: Plan) -> Reports:
        """Blinded reports about features; of everything else what arrived."""
        if plan.subject != "features":
            if plan_digest(plan) not in self._others:
                raise InputError(
                    f"the control asks for {plan.subject} what the method did not ask: they must ask alike"
                )
            return self._others[plan_digest(plan)]
        asked = asked_of(plan, self._users)
        mechanism = plan.build().blind()
        assert plan.range is not None
        # Any rows will do; these are one number, seen as often as needed.
        nothing = np.broadcast_to(plan.range[0], (len(asked), mechanism.row_length))
        held = PersonalRows(self._levels(len(asked)), nothing) if mechanism.personal else nothing
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
        """Who answers the question about features at this place, a truth a user."""
        answering = answered_features(self._features, self._users)
        if place < len(self._features):
            own = self._features[place]
            asked = asked_of(own.plan, self._users)
            answering[asked] = False
            answering[asked[own.reports.places]] = True
        return answering


def answered_features(replayed: Sequence[Replayed], users: int) -> NDArray[np.bool_]:
    """Who has answered a question about features, a truth a user."""
    answered = np.zeros(users, dtype=bool)
    for each in replayed:
        if each.plan.subject == "features":
            answered[asked_of(each.plan, users)[each.reports.places]] = True
    return answered
