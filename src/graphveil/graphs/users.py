"""Users: what only they hold, and the one way to ask them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.words import SeededWords, SystemWords, Words
from graphveil.errors import InputError, PrivacyError
from graphveil.graphs.graph import UNKNOWN, Graph
from graphveil.graphs.links import LinkPairs, Pairs, shared_links
from graphveil.graphs.metrics import area_under_curve, measure
from graphveil.mechanisms import NeighbourLists, PersonalRows, Reports
from graphveil.mechanisms.rows import row_norms
from graphveil.privacy import Ledger, Plan

Neighbours = tuple[NDArray[np.int64], NDArray[np.int32]]

_evaluating: ContextVar[bool] = ContextVar("evaluating", default=False)


@contextmanager
def evaluation() -> Iterator[None]:
    """Mark code that measures from outside what a method achieved, or what no privacy would achieve.

    Inside, raw features and test labels can be read; a method never runs inside, except one that claims no privacy.
    """
    token = _evaluating.set(True)
    try:
        yield
    finally:
        _evaluating.reset(token)


class Users:
    """The private side of a dataset: features, all labels, levels, neighbour lists, and the ledger that guards them.

    Server-side code reaches them through `report` alone. Each answer is charged first; whoever would overdraw the declared
    budget raises before anything is drawn. ``blind`` users are the control: they answer every question about features
    with a blinded channel, and everything else as usual. ``neighbours`` are the users' own lists, as row pointers and
    neighbours.
    """

    def __init__(
        self,
        features: Any,
        labels: NDArray[np.int64],
        *,
        neighbours: Neighbours | None = None,
        levels: Any = None,
        ledger: Ledger | None = None,
        words: Words | None = None,
        blind: bool = False,
        test_links: LinkPairs | None = None,
    ) -> None:
        self._features = features
        self._labels = labels
        self._neighbours = neighbours
        self._levels = None if levels is None else _checked_levels(levels, len(labels))
        self._words = SystemWords() if words is None else words
        self._blind = blind
        self._test_links = test_links
        self.declared = ledger is not None
        self.ledger = Ledger(len(labels), 0.0) if ledger is None else ledger
        if features is not None and features.shape[0] != len(labels):
            raise InputError(f"features must have one row a user ({len(labels)}), got {features.shape[0]}")

    def __len__(self) -> int:
        return len(self._labels)

    def declare(
        self,
        epsilon: Any = 0.0,
        delta: Any = 0.0,
        *,
        by_level: Sequence[float] | None = None,
        seed: int | None = None,
        blind: bool = False,
    ) -> Users:
        """The same users with fresh books and this budget (one for all, or one a user).

        ``by_level`` are the public budgets of the levels: each user has that of the own level besides. A seed makes their
        answers repeatable, as a simulation needs them.
        """
        if by_level is not None:
            epsilon = np.asarray(epsilon, dtype=np.float64) + self._level_budgets(by_level)
        return Users(
            self._features,
            self._labels,
            neighbours=self._neighbours,
            levels=self._levels,
            ledger=Ledger(len(self), epsilon, delta),
            words=SystemWords() if seed is None else SeededWords(seed),
            blind=blind,
            test_links=self._test_links,
        )

    def _level_budgets(self, budgets: Sequence[float]) -> NDArray[np.float64]:
        if self._levels is None:
            raise InputError(_MISSING["level"])
        highest = int(self._levels.max(initial=1))
        if highest > len(budgets):
            raise InputError(
                f"there are budgets for {len(budgets)} levels and a user of level {highest}: give more budgets"
            )
        return np.asarray(budgets, dtype=np.float64)[self._levels - 1]

    def with_levels(self, levels: Any) -> Users:
        """The same users, each with the privacy level that they chose (1, 2, …); before a budget is declared."""
        if self.declared:
            raise InputError("levels are chosen before a budget is declared: users.with_levels(…).declare(…)")
        return Users(
            self._features,
            self._labels,
            neighbours=self._neighbours,
            levels=levels,
            test_links=self._test_links,
        )

    def with_test_links(self, test: LinkPairs, neighbours: Neighbours) -> Users:
        """The same users where links are to be predicted: they hold the test pairs, and list the training links alone."""
        if self.declared:
            raise PrivacyError(
                "these users have declared a budget: hold links out before that, with the users that were loaded"
            )
        return Users(
            self._features, self._labels, neighbours=neighbours, levels=self._levels, test_links=test
        )

    def report(self, plan: Plan) -> Reports:
        """Answer a plan: charge it, then randomize. Where users choose a level, each is charged that level's budget."""
        mechanism = plan.build()
        private = self._asked_with_levels(plan) if mechanism.personal else self._asked(plan)
        self.ledger.charge(plan, mechanism.costs(private))
        if self._blind and plan.subject == "features":
            mechanism = mechanism.blind()
        return mechanism.randomize(private, self._words)

    def evaluate(self, outcome: Any, graph: Graph) -> float:
        """How well a server did on the test users, by the graph's metric; their labels never leave this side.

        ``outcome`` holds a row of scores or a predicted class for every user. A method must not choose anything by this
        number, so users that have declared a budget give it to evaluation code only.
        """
        self._check_evaluation(graph)
        return measure(graph.metric, outcome, self._labels, graph.test, graph.class_count)

    def evaluate_links(self, score: Callable[[Pairs], NDArray[Any]], graph: Graph) -> float:
        """How well a server tells test links from pairs that are none: the area under the ROC curve.

        ``score`` gives a number for each of the pairs it is asked for, the higher the likelier linked; their order tells
        nothing. A graph whose edges hold a test link is refused: what was learned from it knows the answer.
        """
        self._check_evaluation(graph)
        if self._test_links is None:
            raise InputError(
                "these users hold no test links: make them with hold_out_links(graph, users, seed)"
            )
        leaked = shared_links(graph, self._test_links.linked)
        if leaked:
            raise PrivacyError(
                f"the graph's edges hold {leaked} of the {len(self._test_links.linked)} test links: "
                "learn from the training links alone"
            )
        pairs, linked = self._test_links.mixed(0)
        return area_under_curve(score(pairs), linked)

    def evaluate_norms(self, predicted: Any, graph: Graph) -> float:
        """How far predicted norms of feature rows are from those of the test users, on average (mean absolute error).

        ``predicted`` holds a number for every user. As with `evaluate`, nothing of a test user leaves this side.
        """
        self._check_evaluation(graph)
        if self._features is None:
            raise InputError(_MISSING["features"])
        if not graph.test.any():
            raise InputError("the test split is empty: there is nobody to evaluate on")
        array = np.asarray(predicted)
        if array.shape != (len(self),) or array.dtype.kind not in "iuf" or not np.isfinite(array).all():
            raise InputError(
                f"norms must be {len(self)} finite numbers, one a user, got {array.dtype} of shape {array.shape}"
            )
        test = np.flatnonzero(graph.test)
        return float(np.abs(array[test] - row_norms(self._features[test])[:, 0]).mean())

    def _check_evaluation(self, graph: Graph) -> None:
        if self.declared and not _evaluating.get():
            raise PrivacyError(
                "users in a collection answer reports only: evaluate with the users that were loaded, after the method"
            )
        if len(self) != graph.node_count:
            raise InputError(
                f"the graph has {graph.node_count} users, these are {len(self)}: load both together"
            )

    @property
    def features(self) -> Any:
        """The raw features; only for evaluation."""
        if self._features is None:
            raise InputError(_MISSING["features"])
        return self._reveal("features", self._features)

    @property
    def labels(self) -> NDArray[np.int64]:
        """All labels, those of test users included; only for evaluation."""
        labels: NDArray[np.int64] = self._reveal("labels", self._labels)
        return labels

    @property
    def have_levels(self) -> bool:
        """Whether users have chosen privacy levels; which ones stays theirs."""
        return self._levels is not None

    @property
    def levels(self) -> NDArray[np.int64]:
        """The privacy levels that users chose; only for evaluation."""
        if self._levels is None:
            raise InputError(_MISSING["level"])
        levels: NDArray[np.int64] = self._reveal("levels", self._levels)
        return levels

    @property
    def neighbours(self) -> Neighbours:
        """Every user's own list of neighbours (row pointers and neighbours); only for evaluation."""
        if self._neighbours is None:
            raise InputError(_MISSING["links"])
        neighbours: Neighbours = self._reveal("neighbour lists", self._neighbours)
        return neighbours

    def _asked(self, plan: Plan) -> Any:
        """What a plan asks for, of those that it asks; refused where it is not there."""
        if plan.subject == "links":
            return self._asked_lists(plan)
        private = {"features": self._features, "label": self._labels, "level": self._levels}.get(plan.subject)
        if private is None:
            raise InputError(
                _MISSING.get(plan.subject, f"these users answer no question about {plan.subject}")
            )
        if plan.users != "all":
            private = private[self._chosen(plan)]
        if plan.of == "norm":
            return row_norms(private)
        if plan.subject == "label" and (private == UNKNOWN).any():
            raise InputError(
                f"{int((private == UNKNOWN).sum())} of the users asked have no label to report: ask the others"
            )
        return private

    def _asked_with_levels(self, plan: Plan) -> PersonalRows:
        """The rows of those that a plan asks, each with the level that its user chose."""
        rows = self._asked(plan)
        if self._levels is None:
            raise InputError(_MISSING["level"])
        return PersonalRows(self._levels if plan.users == "all" else self._levels[self._chosen(plan)], rows)

    def _asked_lists(self, plan: Plan) -> NeighbourLists:
        """The lists of those that a plan asks, each with the number of its user."""
        if self._neighbours is None:
            raise InputError(_MISSING["links"])
        if plan.dims != len(self):
            raise InputError(
                f"a plan for links must say how many users there are, {len(self)}, got {plan.dims}"
            )
        lists = NeighbourLists(np.arange(len(self)), *self._neighbours)
        return lists if plan.users == "all" else lists.of(self._chosen(plan))

    def _chosen(self, plan: Plan) -> NDArray[np.int64]:
        chosen = np.array(plan.users, dtype=np.int64)
        if chosen.size and int(chosen.max()) >= len(self):
            raise InputError(f"users must lie in 0..{len(self) - 1}, the plan asks user {int(chosen.max())}")
        return chosen

    def _reveal(self, what: str, value: Any) -> Any:
        if not _evaluating.get():
            raise PrivacyError(
                f"raw {what} stay with the users: ask for a report with users.report(plan); "
                "only evaluation code may read them, inside `with evaluation():`"
            )
        return value

    def __repr__(self) -> str:
        return f"Users({len(self)}{', blind' if self._blind else ''}, {self.ledger!r})"


_MISSING = {
    "features": "these users hold no features: the graph came without any, so only structure and labels can be used",
    "links": "these users hold no lists of neighbours: load them together with a graph",
    "level": "these users have chosen no privacy levels: give them with users.with_levels(levels)",
}


def _checked_levels(levels: Any, users: int) -> NDArray[np.int64]:
    array = np.array(levels)
    if array.shape != (users,) or array.dtype.kind not in "iu" or (users and int(array.min()) < 1):
        raise InputError(f"levels must be {users} integers of at least 1, one a user")
    array = array.astype(np.int64)
    array.setflags(write=False)
    return array
