"""Scores of pairs of users from a public graph alone, and boosted trees over several of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from graphveil.graphs.graph import Graph, Mask

Pairs = NDArray[np.int64]
Scores = NDArray[np.float64]
# Users whose rows are held at the same time, and pairs that are scored at the same time.
USERS_AT_ONCE, PAIRS_AT_ONCE = 64, 8192


def degree_scores(graph: Graph, pairs: Pairs) -> Scores:
    """log(1 + d_u) + log(1 + d_v): those who have many links get more (Barabási and Albert 1999)."""
    logs = np.log1p(graph.degrees)
    scores: Scores = logs[pairs[:, 0]] + logs[pairs[:, 1]]
    return scores


def smaller_degree(graph: Graph, pairs: Pairs) -> Scores:
    """min(d_u, d_v): 0 says that nothing is known of one of them."""
    smaller: Scores = graph.degrees[pairs].min(axis=1).astype(np.float64)
    return smaller


def adamic_adar(graph: Graph, pairs: Pairs, at_once: int = PAIRS_AT_ONCE) -> Scores:
    """Σ over common neighbours a of 1 / log d_a (Adamic and Adar 2003)."""
    # A common neighbour of two users has at least two neighbours.
    return _common_neighbours(graph, pairs, 1 / np.log(np.maximum(graph.degrees, 2)), at_once)


def resource_allocation(graph: Graph, pairs: Pairs, at_once: int = PAIRS_AT_ONCE) -> Scores:
    """Σ over common neighbours a of 1 / d_a (Zhou, Lü and Zhang 2009)."""
    return _common_neighbours(graph, pairs, 1 / np.maximum(graph.degrees, 1), at_once)


def walk_scores(graph: Graph, pairs: Pairs, hops: int, at_once: int = USERS_AT_ONCE) -> Scores:
    """S^k_uv for k = 1..hops, a column each (m x hops), with S = D^-1/2 A D^-1/2: all walks of a length, by their chance."""
    matrix = normalised_links(graph)
    scores = np.zeros((len(pairs), hops))
    # Walks start at the user with fewer links, whichever comes first in the pair.
    first, second = pairs.min(axis=1), pairs.max(axis=1)
    swap = graph.degrees[first] > graph.degrees[second]
    starts, ends = np.where(swap, second, first), np.where(swap, first, second)
    for users, chosen, places in _by_user(starts, at_once):
        goals = ends[chosen]
        reached = matrix[users].T.toarray(order="C")
        scores[chosen, 0] = reached[goals, places]
        for hop in range(1, hops):
            if hop == hops - 1:
                scores[chosen, hop] = _one_step(matrix, goals, reached, places)
            else:
                reached = matrix @ reached
                scores[chosen, hop] = reached[goals, places]
    return scores


def three_step_paths(graph: Graph, pairs: Pairs) -> Scores:
    """Σ_{a~u, b~v} [a ~ b] / (d_a d_b) = √(d_u d_v) S³_uv (Kovács et al. 2019, degrees undamped)."""
    return by_degrees(graph, pairs, walk_scores(graph, pairs, 3)[:, 2])


def page_rank(walks: Scores, alpha: float) -> Scores:
    """Σ_k α^k S^k_uv over the walks at hand: personalized PageRank, but for one factor a user (Page et al. 1999)."""
    scores: Scores = walks @ alpha ** np.arange(1, walks.shape[1] + 1)
    return scores


def by_degrees(graph: Graph, pairs: Pairs, scores: Scores) -> Scores:
    """√(d_u d_v) times a score: back from the normalised links to links."""
    degrees = graph.degrees
    times: Scores = scores * np.sqrt(degrees[pairs[:, 0]] * degrees[pairs[:, 1]])
    return times


def normalised_links(graph: Graph, tau: float = 0.0) -> Any:
    """(D + τ)^-1/2 A (D + τ)^-1/2, a sparse matrix of scipy, n x n."""
    degrees = graph.degrees + tau
    inverse = 1 / np.sqrt(np.where(degrees > 0, degrees, 1.0))
    first, second = graph.edge_list()
    values = (inverse[first] * inverse[second]).astype(np.float32)
    return csr_array((values, graph.indices, graph.indptr), shape=(graph.node_count, graph.node_count))


def _common_neighbours(graph: Graph, pairs: Pairs, weights: Scores, at_once: int) -> Scores:
    """Σ over common neighbours of their weights."""
    ones = np.ones(len(graph.indices))
    links = csr_array((ones, graph.indices, graph.indptr), shape=(graph.node_count, graph.node_count))
    scores = np.zeros(len(pairs))
    for start in range(0, len(pairs), at_once):
        part = pairs[start : start + at_once]
        scores[start : start + at_once] = links[part[:, 0]].multiply(links[part[:, 1]]) @ weights
    return scores


def _one_step(matrix: Any, goals: Any, reached: Any, places: Any) -> Scores:
    """(S reached) at the goals alone, each for the walks from one place."""
    rows = matrix[goals]
    which = np.repeat(np.arange(len(goals)), np.diff(rows.indptr))
    steps = rows.data * reached[rows.indices, places[which]]
    scores: Scores = np.bincount(which, weights=steps, minlength=len(goals)).astype(np.float64)
    return scores


def _by_user(starts: NDArray[np.int64], at_once: int) -> Iterator[tuple[Any, Any, Any]]:
    """The users where pairs start, some at a time: with them their pairs, and at which of these users each starts."""
    users, number = np.unique(starts, return_inverse=True)
    order = np.argsort(number, kind="stable")
    for first in range(0, len(users), at_once):
        last = min(first + at_once, len(users))
        chosen = order[slice(*np.searchsorted(number[order], [first, last]))]
        yield users[first:last], chosen, number[chosen] - first


# With fewer pairs there is nothing to fit.
FEWEST_PAIRS = 200
FOLDS = 5


class PairTrees:
    """Gradient boosting (Friedman 2001) of small trees on the scores of known pairs, few and slow, on one thread.

    ``scores`` has m numbers by name, one a pair; ``linked`` says of each pair whether it is a link.
    """

    def __init__(self, scores: Mapping[str, Scores], linked: Mask) -> None:
        self.names = list(scores)
        columns = self._columns(scores)
        self.model = _fit(columns, linked)
        self.unseen = np.zeros(len(linked))
        fold = np.arange(len(linked)) % FOLDS
        for left_out in range(FOLDS):
            fitted = _fit(columns[fold != left_out], linked[fold != left_out])
            self.unseen[fold == left_out] = _odds(fitted, columns[fold == left_out])

    def __call__(self, scores: Mapping[str, Scores]) -> Scores:
        """Log odds of a link. Those of the known pairs, each from trees that have not seen it, are ``unseen``."""
        return _odds(self.model, self._columns(scores))

    def _columns(self, scores: Mapping[str, Scores]) -> NDArray[np.float64]:
        return np.stack([scores[name] for name in self.names], axis=1)


def _fit(columns: NDArray[np.float64], linked: Mask) -> Any:
    model = HistGradientBoostingClassifier(
        max_iter=100, learning_rate=0.05, max_leaf_nodes=8, early_stopping=False, random_state=0
    )
    with threadpool_limits(1):
        return model.fit(columns, linked)


def _odds(model: Any, columns: NDArray[np.float64]) -> Scores:
    with threadpool_limits(1):
        odds: Scores = model.decision_function(columns)
    return odds
