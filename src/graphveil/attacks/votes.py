"""Votes about attributes, as documents have them, and users whose answers are overheard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.graphs.users import Users
from graphveil.mechanisms import Estimate, Reports
from graphveil.privacy import Plan, Respondents


class OverheardUsers:
    """The same respondents, with every report that they send kept in ``heard`` too."""

    def __init__(self, users: Respondents) -> None:
        self._users = users
        self.heard: list[tuple[Plan, Reports]] = []

    def report(self, plan: Plan) -> Reports:
        """Answer as always, while somebody listens."""
        reports = self._users.report(plan)
        self.heard.append((plan, reports))
        return reports

    def features_heard(self) -> list[Reports]:
        """The reports about everybody's values, round after round; those about norms are not among them."""
        return [
            reports
            for plan, reports in self.heard
            if (plan.subject, plan.of, plan.users) == ("features", "values", "all")
        ]


# Votes of so many attributes are counted at a time.
BLOCK = 64

Votes = NDArray[np.int32]
Guesses = NDArray[np.bool_]


@dataclass(frozen=True)
class AttackResult:
    """How often the attacker is right about whether an attribute of a user is above the middle of the public range.

    ``accuracy`` is over all users and attributes; ``commonest`` is what always guessing each attribute's commonest value
    would get, which needs no report. ``balanced`` is the mean of both values' hit rates, averaged over the attributes that
    have both values: 0.5 for whoever knows nothing about a single user, however rare a value is; None where no attribute
    has both. ``heard`` is the share of guesses that rest on a vote; the others are "below".
    """

    accuracy: float
    balanced: float | None
    commonest: float
    heard: float


def neighbour_vote(estimate: Estimate | Sequence[Estimate], graph: Graph, attributes: Any) -> Guesses:
    """For every user and each of some attributes, what most reports of the user's neighbours say.

    A reported value above the middle of the public range is a vote for "above", one below it for "below"; what was not
    reported is no vote, and a tie is guessed as "below". Several rounds of reports all vote. Nothing private is read.

    Source: TOGL, App. D.5, "Empirical resistance to inference attacks".
    """
    estimates = [estimate] if isinstance(estimate, Estimate) else list(estimate)
    chosen = _checked(attributes, graph)
    guesses = np.zeros((graph.node_count, len(chosen)), dtype=bool)
    ballots = [_Ballots(one, graph) for one in estimates]
    adjacency = _adjacency(graph)
    for block in _blocks(len(chosen)):
        cast = _cast(ballots, chosen[block])
        guesses[:, block] = adjacency @ cast > 0
    return guesses


def attribute_inference(
    graph: Graph,
    users: Users,
    reports: Reports | Sequence[Reports] | None,
    attributes: Any = None,
    *,
    own: bool = False,
) -> AttackResult:
    """How well a vote of the neighbours' reports guesses everybody's attributes (all of them unless some are named).

    ``reports`` are what the attacker saw, one round or several; None is no privacy: everybody's raw row is seen. ``own``
    lets the attacker see the target's own report as well: where it says something, it decides, and `guess_bound` holds for
    it; elsewhere neighbours vote. Guesses come from reports and links alone; only what counts them reads what is private.
    """
    chosen = _checked(np.arange(graph.feature_count) if attributes is None else attributes, graph)
    rounds = [reports] if isinstance(reports, Reports) else reports
    truth = users.raw.rows()
    seen: list[_Ballots | _RawBallots]
    seen = (
        [_RawBallots(truth, graph)] if rounds is None else [_Ballots(one.estimate(), graph) for one in rounds]
    )
    if not seen or any(ballots.users != graph.node_count for ballots in seen):
        raise InputError(
            f"reports must be those of all {graph.node_count} users, in their order, one round at least"
        )
    adjacency, tally = _adjacency(graph), _Tally()
    answers = _RawBallots(truth, graph)
    for block in _blocks(len(chosen)):
        cast = _cast(seen, chosen[block])
        votes = adjacency @ cast
        if own:
            votes = np.where(cast != 0, cast, votes)
        tally.add(votes, answers.votes(chosen[block]) > 0)
    return tally.result()


class _Ballots:
    """Reports as votes: +1 above the middle of the public range, -1 below, 0 where nothing was reported."""

    def __init__(self, estimate: Estimate, graph: Graph) -> None:
        self.users = estimate.shape[0]
        matrix = estimate.to_scipy().copy()
        matrix.data = np.sign(matrix.data + (estimate.offset - _middle(graph)))
        self._columns = matrix.tocsc()

    def votes(self, attributes: NDArray[np.int64]) -> Votes:
        """A column for each of some attributes."""
        columns: Votes = self._columns[:, attributes].toarray().astype(np.int32)
        return columns


class _RawBallots:
    """Raw rows as votes: everybody says the truth about every attribute."""

    def __init__(self, features: Any, graph: Graph) -> None:
        self.users = features.shape[0]
        self._middle = _middle(graph)
        self._sparse = hasattr(features, "tocsc")
        self._columns = features.tocsc() if self._sparse else features

    def votes(self, attributes: NDArray[np.int64]) -> Votes:
        """A column for each of some attributes."""
        columns = self._columns[:, attributes]
        values = columns.toarray() if self._sparse else np.asarray(columns)
        return np.where(values > self._middle, 1, -1).astype(np.int32)


class _Tally:
    """Counts what was guessed right, block by block."""

    def __init__(self) -> None:
        self._right = self._commonest = self._heard = self._all = 0
        self._rates: list[NDArray[np.float64]] = []

    def add(self, votes: Votes, truth: Guesses) -> None:
        """Votes and the truth of some attributes, a column each."""
        guesses = votes > 0
        above = truth.sum(axis=0)
        below = len(truth) - above
        hits, rejections = (guesses & truth).sum(axis=0), (~guesses & ~truth).sum(axis=0)
        self._right += int(hits.sum() + rejections.sum())
        self._commonest += int(np.maximum(above, below).sum())
        self._heard += int((votes != 0).sum())
        self._all += truth.size
        both = (above > 0) & (below > 0)
        self._rates.append((hits[both] / above[both] + rejections[both] / below[both]) / 2)

    def result(self) -> AttackResult:
        """What all of it comes to."""
        rates = np.concatenate(self._rates)
        return AttackResult(
            self._right / self._all,
            float(rates.mean()) if rates.size else None,
            self._commonest / self._all,
            self._heard / self._all,
        )


def _cast(ballots: Sequence[_Ballots | _RawBallots], attributes: NDArray[np.int64]) -> Votes:
    """The votes of all rounds together."""
    total = ballots[0].votes(attributes)
    for more in ballots[1:]:
        total = total + more.votes(attributes)
    return total


def _blocks(count: int) -> Iterator[slice]:
    return (slice(start, min(start + BLOCK, count)) for start in range(0, count, BLOCK))


def _adjacency(graph: Graph) -> Any:
    from scipy.sparse import csr_array

    ones = np.ones(len(graph.indices), dtype=np.int32)
    return csr_array((ones, graph.indices, graph.indptr), shape=(graph.node_count, graph.node_count))


def _middle(graph: Graph) -> float:
    if graph.public_range is None:
        raise InputError(
            f"{graph.name} has no features, so there is no attribute to infer: take another graph"
        )
    return graph.public_range.centre


def _checked(attributes: Any, graph: Graph) -> NDArray[np.int64]:
    _middle(graph)
    chosen = np.atleast_1d(np.asarray(attributes))
    if chosen.ndim != 1 or not chosen.size or chosen.dtype.kind not in "iu":
        raise InputError(f"attributes must be one integer or several, got {attributes!r}")
    if not 0 <= int(chosen.min()) <= int(chosen.max()) < graph.feature_count:
        raise InputError(
            f"attributes must lie in 0..{graph.feature_count - 1}, got {int(chosen.min())}..{int(chosen.max())}"
        )
    return chosen.astype(np.int64)
