"""All that a method asks its users, as far as it is known before anybody has answered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from graphveil.channels.exact import Claim
from graphveil.graphs.users import Users
from graphveil.mechanisms.base import Mechanism, Subject
from graphveil.privacy import Ledger, Plan
from graphveil.privacy.ledger import add_up


@dataclass(frozen=True)
class Questions:
    """The plans of a method: about features, round after round, about norms, labels and links.

    What a budget must hold, what users of each level spend and what is told of it afterwards all follow from these. Which
    attributes a later round asks for may depend on the answers to an earlier one; what that round costs may not.
    """

    features: tuple[Plan, ...] = ()
    norms: tuple[Plan, ...] = ()
    labels: Plan | None = None
    links: Plan | None = None

    @cached_property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """What features are reported by in each round."""
        return tuple(plan.build() for plan in self.features)

    @property
    def claims(self) -> dict[Subject, Claim]:
        """What a user will be charged at most, by subject."""
        claims: dict[Subject, Claim] = {}
        if self.features or self.norms:
            claims["features"] = add_up(plan.claim for plan in (*self.features, *self.norms))
        if self.labels is not None:
            claims["label"] = self.labels.claim
        if self.links is not None:
            claims["links"] = self.links.claim
        return claims

    @property
    def cost(self) -> Claim:
        """The most that a user will spend: all subjects added up."""
        return add_up(self.claims.values())

    @property
    def level_budgets(self) -> tuple[float, ...] | None:
        """What the features cost a user of each level, where users choose one: all rounds added up."""
        rounds = [mechanism.level_budgets for mechanism in self.mechanisms]
        budgets = [by_level for by_level in rounds if by_level is not None]
        return tuple(sum(spent) for spent in zip(*budgets, strict=True)) if budgets else None

    def open_ledger(self, users: Users) -> Ledger:
        """Books with just the budget that is needed; where users choose a level, each has that level's."""
        by_level = self.level_budgets
        if by_level is None:
            return users.open_ledger(self.cost.epsilon, self.cost.delta)
        others = [plan for plan in (*self.norms, self.labels, self.links) if plan is not None]
        besides = add_up(plan.claim for plan in others)
        return users.open_ledger(besides.epsilon, besides.delta, by_level=by_level)
