"""All that a method asks its users, as far as it is known before anybody has answered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.exact import Claim
from graphveil.graphs.users import Users
from graphveil.mechanisms.base import Mechanism, Subject
from graphveil.privacy import Ledger, Plan
from graphveil.privacy.ledger import add_up, most_spent


@dataclass(frozen=True)
class Questions:
    """The plans of a method: about features, round after round, about norms and classes of rows, about labels and links.

    Every user spends what the plans cost that ask this user: plans for different users are alternatives, and cost the most that
    one of them does. ``classes`` ask for the class that a public model gives. Where the model is learned from earlier answers,
    plans with any other model stand here for those that will be asked: users and budgets are what counts.

    What a budget must hold, what users of each level spend and what is told of it afterwards all follow from these. Which
    attributes a later round asks for may depend on the answers to an earlier one; what that round costs may not.
    """

    features: tuple[Plan, ...] = ()
    norms: tuple[Plan, ...] = ()
    labels: Plan | None = None
    links: Plan | None = None
    classes: tuple[Plan, ...] = ()

    @cached_property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """What features are reported by in each round."""
        return tuple(plan.build() for plan in self.features)

    @property
    def claims(self) -> dict[Subject, Claim]:
        """What a user will be charged at most, by subject."""
        claims: dict[Subject, Claim] = {}
        if self._about_features:
            claims["features"] = _spent(self._about_features)
        if self.labels is not None:
            claims["label"] = self.labels.claim
        if self.links is not None:
            claims["links"] = self.links.claim
        return claims

    @property
    def cost(self) -> Claim:
        """The most that a user will spend: all subjects added up."""
        own = _spent((*self._about_features, *([] if self.labels is None else [self.labels])))
        return own if self.links is None else add_up([own, self.links.claim])

    @property
    def _about_features(self) -> tuple[Plan, ...]:
        return (*self.features, *self.norms, *self.classes)

    @property
    def level_budgets(self) -> tuple[float, ...] | None:
        """What the features cost a user of each level, where users choose one: all rounds added up."""
        rounds = [mechanism.level_budgets for mechanism in self.mechanisms]
        budgets = [by_level for by_level in rounds if by_level is not None]
        return tuple(sum(spent) for spent in zip(*budgets, strict=True)) if budgets else None

    def open_ledger(self, users: Users) -> Ledger:
        """Books with just the budget that is needed; where users choose a level, each has that level's.

        Who is asked for no label has no budget for one: it could be spent on a second answer about features.
        """
        by_level = self.level_budgets
        if by_level is None:
            return users.open_ledger(self.needed(len(users)), self.cost.delta)
        others = [plan for plan in (*self.norms, *self.classes, self.labels, self.links) if plan is not None]
        besides = add_up(plan.claim for plan in others)
        return users.open_ledger(besides.epsilon, besides.delta, by_level=by_level)

    def needed(self, count: int) -> NDArray[np.float64]:
        """What each of so many users needs. Who answers which plan about features is not settled yet: everybody may need the most."""
        about = _spent(self._about_features).epsilon
        needed = np.full(count, about + (0.0 if self.links is None else self.links.claim.epsilon))
        if self.labels is not None:
            who = slice(None) if self.labels.users == "all" else np.array(self.labels.users, dtype=np.int64)
            needed[who] += self.labels.claim.epsilon
        return needed


def _spent(plans: tuple[Plan, ...]) -> Claim:
    """The most that one user spends on these plans."""
    asked = [None if plan.users == "all" else np.array(plan.users, dtype=np.int64) for plan in plans]
    return most_spent(zip((plan.claim for plan in plans), asked, strict=True))
