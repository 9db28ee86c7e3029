"""A collection in memory: people of a town who have enrolled, and devices whose answers are repeatable."""

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from graphveil.channels.sampling import SeededBits
from graphveil.errors import InputError
from graphveil.graphs import Graph, load
from graphveil.graphs.panel import Panel
from graphveil.graphs.splits import RandomSplit
from graphveil.mechanisms import Reports
from graphveil.privacy import Ledger, Plan, answer
from graphveil.privacy.plan import join_parts, plan_digest

USERS = 240


@dataclass(frozen=True)
class StandInRound:
    number: int
    plan: Plan
    asked: Any
    study: str
    closed: bool = False
    published: int = 0
    expires: int = 0
    answers: dict[int, Reports] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        return plan_digest(self.plan)

    @property
    def answered(self) -> int:
        return len(self.answers)


@dataclass(frozen=True)
class StandInRoster:
    node: Any
    enrolled: Any
    epsilon: Any
    delta: Any
    by_level: Any
    renewal: Any


@dataclass(frozen=True)
class StandInSettings:
    id: str = "00" * 16
    purpose: str = "to see which club a street likes"
    epsilon: float = 8.0
    delta: float = 0.0


class StandIn:
    """What `collect.storage` offers, and people besides: `everybody_answers` lets them."""

    def __init__(
        self,
        cap: float = 8.0,
        volunteers: int = 0,
        users: int = USERS,
        renewal: int = 0,
        private_links: bool = False,
    ) -> None:
        graph, self._people = load("town", users=users, neighbourhood=10, degree=8.0, split="random", seed=0)
        labels = np.array(self._people.raw.labels)
        # The server does not know every third.
        labels[::3] = -1
        self.ids = np.array([f"person-{number}" for number in range(users)])
        self.settings = StandInSettings(epsilon=cap)
        # People know their links either way.
        self.private_links = private_links
        public = graph.without_edges() if private_links else graph
        self._graph, self.labels = replace(public, recipe=RandomSplit()), labels
        # Every tenth has not enrolled.
        node = np.array([number for number in range(users) if number % 10])
        one = np.ones(len(node))
        by_level, renewals = (None,) * len(node), np.full(len(node), renewal)
        self._roster = StandInRoster(node, one > 0, cap * one, 0 * one, by_level, renewals)
        self.volunteers = node[:volunteers]
        self._rounds: list[StandInRound] = []
        self._ledgers = Ledger(users, np.where(np.isin(np.arange(users), node), 8.0, 0.0))
        self.kept: list[dict[str, Any]] = []

    def graph(self) -> Graph:
        return self._graph

    def roster(self) -> StandInRoster:
        return self._roster

    def panel(self) -> Panel | None:
        if not len(self.volunteers):
            return None
        return Panel(self.volunteers, self._people.raw.rows()[self.volunteers])

    def rounds(self) -> list[StandInRound]:
        return list(self._rounds)

    def publish(self, plan: Plan, expires: int, study: str = "") -> StandInRound:
        named = self._roster.node if plan.users == "all" else np.array(plan.users)
        asked = named[np.isin(named, self._roster.node)]
        if not len(asked):
            raise InputError("nobody could be asked")
        times = {"published": int(time.time()), "expires": expires}
        self._rounds.append(StandInRound(len(self._rounds) + 1, plan, asked, study, **times))
        return self._rounds[-1]

    def everybody_answers(self, silent: int = 7) -> None:
        """All who are asked answer all open rounds, but for every so-manieth; the rounds are closed."""
        for place, each in enumerate(self._rounds):
            if each.closed:
                continue
            for node in each.asked.tolist():
                if node % silent:
                    part = each.plan.part([node])
                    each.answers[node] = answer(
                        part, self._people.raw.asked(part), self._ledgers, SeededBits(node, each.number)
                    )
            self._rounds[place] = replace(each, closed=True)

    def reports(self, number: int) -> Reports:
        each = self._rounds[number - 1]
        users = range(self._graph.node_count) if each.plan.users == "all" else each.plan.users
        whole = each.plan.part(tuple(users))
        return join_parts(whole, [(whole.part([node]), each.answers[node]) for node in each.answers])

    def forget(self, node: int) -> None:
        for each in self._rounds:
            each.answers.pop(node, None)

    def keep_result(self, card: dict[str, Any]) -> int:
        self.kept.append(card)
        return len(self.kept)
