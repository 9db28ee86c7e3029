"""Scores of pairs of users: from a public graph alone, by its spectrum, by boosted trees, and by Hadamard products of embeddings (LDP-GE)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from graphveil import linear
from graphveil.graphs.graph import Graph, Mask
from graphveil.graphs.links import KnownLinks, LinkPairs, Pairs
from graphveil.graphs.metrics import area_under_curve
from graphveil.learn.training import Schedule

Scores = NDArray[np.float64]
# Users whose rows are held at the same time, and pairs that are scored at the same time.
USERS_AT_ONCE, PAIRS_AT_ONCE = 64, 8192


def degree_scores(graph: Graph, pairs: Pairs) -> Scores:
    """log(1 + d_u) + log(1 + d_v): those who have many links get more (Barabási and Albert 1999)."""
    return np.asarray(np.log1p(graph.degrees)[pairs].sum(axis=1))


def smaller_degree(graph: Graph, pairs: Pairs) -> Scores:
    """min(d_u, d_v): 0 says that nothing is known of one of them."""
    return np.asarray(graph.degrees[pairs].min(axis=1), dtype=np.float64)


def adamic_adar(graph: Graph, pairs: Pairs) -> Scores:
    """Return Σ over common neighbours a of 1 / log d_a (Adamic and Adar 2003)."""
    # A common neighbour of two users has at least two neighbours.
    return _common_neighbours(graph, pairs, 1 / np.log(np.maximum(graph.degrees, 2)))


def resource_allocation(graph: Graph, pairs: Pairs) -> Scores:
    """Return Σ over common neighbours a of 1 / d_a (Zhou, Lü and Zhang 2009)."""
    return _common_neighbours(graph, pairs, 1 / np.maximum(graph.degrees, 1))


def walk_scores(graph: Graph, pairs: Pairs, hops: int, at_once: int = USERS_AT_ONCE) -> Scores:
    """Return S^k_uv for k = 1..hops, with S = D^-1/2 A D^-1/2: all walks of a length, by their chance.

    Parameters
    ----------
    pairs
        (m, 2) int64.
    hops
        The longest walk; the result is (m, hops).
    at_once
        The number of users of a block.
    """
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


def page_rank(walks: Scores, alpha: float) -> Scores:
    """Σ_k α^k S^k_uv over the walks at hand: personalized PageRank, but for one factor a user (Page et al. 1999)."""
    return np.asarray(walks @ alpha ** np.arange(1, walks.shape[1] + 1))


def by_degrees(graph: Graph, pairs: Pairs, scores: Scores) -> Scores:
    """Return √(d_u d_v) times a score: back from the normalised links to links.

    Parameters
    ----------
    pairs
        (m, 2) int64.
    scores
        (m,).
    """
    return np.asarray(scores * np.sqrt(graph.degrees[pairs].prod(axis=1)))


def normalised_links(graph: Graph, tau: float = 0.0) -> Any:
    """(D + τ)^-1/2 A (D + τ)^-1/2, a sparse matrix of scipy, n x n."""
    degrees = graph.degrees + tau
    inverse = 1 / np.sqrt(np.where(degrees > 0, degrees, 1.0))
    first, second = graph.edge_list()
    values = (inverse[first] * inverse[second]).astype(np.float32)
    return csr_array((values, graph.indices, graph.indptr), shape=(graph.node_count, graph.node_count))


def _common_neighbours(graph: Graph, pairs: Pairs, weights: Scores) -> Scores:
    """Σ over common neighbours of their weights."""
    ones = np.ones(len(graph.indices))
    links = csr_array((ones, graph.indices, graph.indptr), shape=(graph.node_count, graph.node_count))
    return _in_blocks(pairs, lambda part: links[part[:, 0]].multiply(links[part[:, 1]]) @ weights)


def _in_blocks(pairs: Pairs, score: Callable[[Pairs], Any]) -> Scores:
    """The scores of all pairs, computed for some at a time."""
    blocks = [pairs[start : start + PAIRS_AT_ONCE] for start in range(0, len(pairs), PAIRS_AT_ONCE)]
    return np.concatenate([np.zeros(0), *map(score, blocks)])


def _one_step(matrix: Any, goals: Any, reached: Any, places: Any) -> Scores:
    """(S reached) at the goals alone, each for the walks from one place."""
    rows = matrix[goals]
    which = np.repeat(np.arange(len(goals)), np.diff(rows.indptr))
    steps = rows.data * reached[rows.indices, places[which]]
    return np.asarray(np.bincount(which, weights=steps, minlength=len(goals)), dtype=np.float64)


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


# τ in mean degrees: without it the directions are spent on small parts of the graph that hang together loosely.
TAU = 0.3
# How often the basis is made orthogonal, and how often it is multiplied in between.
ROUNDS, STEPS = 8, 4


@dataclass(frozen=True, eq=False)
class Spectrum:
    """V and λ with S ≈ V diag(λ) Vᵀ, the largest |λ| first: a truncated SVD of a symmetric matrix.

    ``rows`` is V, n users x k directions, ``values`` are the k numbers λ. Pairs are m x 2, their scores m numbers.
    """

    rows: NDArray[np.float32]
    values: NDArray[np.float32]

    def products(self, pairs: Pairs, rank: int) -> Scores:
        """Σ_j λ_j V_uj V_vj over the first directions."""

        def of_part(part: Pairs) -> Any:
            both = self.rows[part[:, 0], :rank] * self.rows[part[:, 1], :rank]
            return (both * self.values[:rank]).sum(axis=1)

        return _in_blocks(pairs, of_part)

    def cosines(self, pairs: Pairs, rank: int) -> Scores:
        """Return the products divided by the lengths √(Σ_j |λ_j| V_uj²): 0 for users without links."""
        lengths = np.sqrt((self.rows[:, :rank] ** 2 * np.abs(self.values[:rank])).sum(axis=1))
        lengths = np.where(lengths > 0, lengths, 1.0)
        return np.asarray(self.products(pairs, rank) / (lengths[pairs[:, 0]] * lengths[pairs[:, 1]]))

    def embedding(self, rank: int) -> NDArray[np.float32]:
        """V diag(|λ|^½): a row a user, n x rank."""
        return np.asarray(self.rows[:, :rank] * np.sqrt(np.abs(self.values[:rank])))


def spectrum(graph: Graph, rank: int) -> Spectrum:
    """The largest eigenvalues of S = (D + τ)^-1/2 A (D + τ)^-1/2 and their vectors (τ: Qin and Rohe 2013).

    ``rank`` is how many, at most n. By subspace iteration from a fixed start, so that the result is the same each time
    (Halko et al. 2011). It takes graphs with many equal eigenvalues or few links, where Lanczos iterations are slow or
    fail.
    """
    # On one thread: more of them add up in another order.
    with threadpool_limits(1):
        return _spectrum(graph, min(rank, graph.node_count))


def _spectrum(graph: Graph, rank: int) -> Spectrum:
    users = graph.node_count
    matrix = normalised_links(graph, TAU * float(graph.degrees.mean()))
    width = min(rank + rank // 4 + 4, users)
    basis = np.random.default_rng(0).standard_normal((users, width)).astype(np.float32)
    # Users without links have no part in it.
    basis[graph.degrees == 0] = 0
    for _ in range(ROUNDS):
        for _ in range(STEPS):
            basis = matrix @ basis
        basis = np.linalg.qr(basis)[0]
    values, turn = np.linalg.eigh(basis.T @ (matrix @ basis))
    order = np.argsort(-np.abs(values), kind="stable")[:rank]
    return Spectrum(np.ascontiguousarray(basis @ turn[:, order]), values[order])


Rows = NDArray[np.float32]
# Shares of the score that the public columns may start with: chosen by the validation pairs.
PUBLIC_SHARES = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
# So many training links make an epoch at most: all columns of all links of a large graph would take minutes.
LINKS_AN_EPOCH = 20_000
LINKS_A_STEP = 1024
# Adam's own constants (Kingma and Ba 2015).
DECAY, DECAY_SQUARES, TINY = 0.9, 0.999, 1e-8


def fit_links(
    rows: Rows,
    public: int,
    links: KnownLinks,
    schedule: Schedule,
    seed: int,
    progress: Callable[[int, int, float], None] | None = None,
) -> tuple[Rows, float]:
    """Fit weights w of the score Σ_j w_j z_uj z_vj, by a pairwise loss (Wang et al. 2021).

    The loss is log(1 + e^-(linked - unlinked)). The weights that are best on the validation pairs are returned, and the area under
    the curve there.

    All columns of reports start alike, so that the score is the inner product of two embeddings. Training
    links are edges of the graph that rows were propagated over, and so look more alike than links that are
    not known; the epoch that is best on validation pairs, which are not edges, is taken, the start included.

    Parameters
    ----------
    rows
        A row z for each user: (n, k). There are k weights.
    public
        The number of last columns that are public; they start with the share of the score that is best on the
        validation pairs.
    links
        The known links.
    schedule
        The epochs, the rate (a share of a weight's first value) and the patience.
    progress
        A function that is called as training goes on.
    """
    weights = _start(rows, public, links.validation)
    best, highest, since = weights, _auc(rows, weights, links.validation), 0
    if schedule.epochs == 0:
        return best, highest
    scale = max(_spread(rows, weights, links.train), TINY)
    start = weights / scale
    weights, rate = start.copy(), schedule.lr * float(np.abs(start).mean())
    mean, squares, step = np.zeros_like(weights), np.zeros_like(weights), 0
    for epoch in range(schedule.epochs):
        for linked, unlinked in _batches(links.train, [seed, epoch]):
            slopes = _slopes(rows, weights, linked, unlinked)
            up, down = (linear.weights_gradient(rows, pairs, slopes) for pairs in (linked, unlinked))
            gradient = up - down
            step += 1
            mean = DECAY * mean + (1 - DECAY) * gradient
            squares = DECAY_SQUARES * squares + (1 - DECAY_SQUARES) * gradient**2
            size = np.sqrt(squares / (1 - DECAY_SQUARES**step)) + TINY
            weights = (weights - rate * mean / (1 - DECAY**step) / size).astype(np.float32)
        auc = _auc(rows, weights, links.validation)
        best, highest, since = (weights, auc, 0) if auc > highest else (best, highest, since + 1)
        if progress is not None:
            progress(epoch + 1, schedule.epochs, 1 - auc)
        if since == schedule.patience:
            break
    return best, highest


def _start(rows: Rows, public: int, validation: LinkPairs) -> Rows:
    """Equal weights for the reports' columns, and the best of a few for the public ones."""
    own: Rows = (np.arange(rows.shape[1]) < rows.shape[1] - public).astype(np.float32)
    shared: Rows = 1 - own
    if not public:
        return own
    mixed, linked = validation.mixed(0)
    reported, known = (linear.weighted_products(rows, mixed, each) for each in (own, shared))
    size = np.std(reported) / max(float(np.std(known)), TINY)
    areas = {share: area_under_curve(reported + share * size * known, linked) for share in PUBLIC_SHARES}
    share = max(areas, key=lambda share: areas[share])
    return (own + share * size * shared).astype(np.float32)


def _batches(pairs: LinkPairs, seed: list[int]) -> Iterator[tuple[Pairs, Pairs]]:
    """An epoch of links, each beside a pair that is none, in random order."""
    random = np.random.default_rng(seed)
    first, second = (
        random.permutation(len(side))[:LINKS_AN_EPOCH] for side in (pairs.linked, pairs.unlinked)
    )
    for place in range(0, len(first), LINKS_A_STEP):
        part = slice(place, place + LINKS_A_STEP)
        yield pairs.linked[first[part]], pairs.unlinked[second[part]]


def _slopes(rows: Rows, weights: Rows, linked: Pairs, unlinked: Pairs) -> Rows:
    """Return the derivative of the mean loss of these comparisons by each difference."""
    gaps = linear.weighted_products(rows, linked, weights) - linear.weighted_products(rows, unlinked, weights)
    slopes: Rows = (-1 / (1 + np.exp(np.minimum(gaps, 80))) / len(gaps)).astype(np.float32)
    return slopes


def _spread(rows: Rows, weights: Rows, pairs: LinkPairs) -> float:
    """The standard deviation of scores of training pairs."""
    some = np.concatenate([side[:LINKS_A_STEP] for side in (pairs.linked, pairs.unlinked)])
    return float(np.std(linear.weighted_products(rows, some, weights)))


def _auc(rows: Rows, weights: Rows, pairs: LinkPairs) -> float:
    mixed, linked = pairs.mixed(0)
    return area_under_curve(linear.weighted_products(rows, mixed, weights), linked)
