"""Graph: what the server may know, with the raw rows of volunteers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from graphveil.checks import check_array
from graphveil.errors import InputError
from graphveil.graphs.collective import SINGLE_PROCESS, Collective
from graphveil.mechanisms.reports import gathered
from graphveil.mechanisms.rows import PublicRange

if TYPE_CHECKING:
    from graphveil.graphs.links import KnownLinks
    from graphveil.graphs.panel import Panel
    from graphveil.graphs.splits import SplitRecipe

Mask = NDArray[np.bool_]
# The row of each link's other end, from a row for each user.
RowsOfEnds = Callable[[NDArray[Any]], NDArray[Any]]
Metric = Literal["accuracy", "roc_auc", "f1"]
METRICS: tuple[Metric, ...] = ("accuracy", "roc_auc", "f1")
UNKNOWN = -1
# A link whose probability is p counts p²: so much where it is as likely as not.
LIKELY = 0.25
MAX_NODES = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Graph:
    """The public side of a dataset: who is connected to whom, the labels of training and validation users, the split.

    Edges are stored in both directions as CSR, sorted, without self-loops or repeats. ``labels`` holds -1 where the
    server does not know the label: for all test users, and for users whose label nobody knows. Where a user may have any
    number of labels (`multilabel`), it is a matrix, users x labels, of 0 and 1, and ``class_count`` counts its columns; the row
    of a user is known or -1 as a whole. ``recipe`` is how the
    split was drawn; with it, `resplit` draws the next one. ``links`` are the known pairs where links are to be predicted:
    then the edges are the training links alone. ``weights`` say how much each entry of ``indices`` counts, where links are not
    known for sure; None where all count 1. ``panel`` are volunteers, who gave the server their raw rows; None where there are none.
    ``ids`` are what users are called elsewhere, text or integers, where they have a name; everywhere here they are numbered 0, 1, …
    """

    name: str
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    feature_count: int
    public_range: PublicRange | None
    binary: bool
    class_count: int
    labels: NDArray[np.int64]
    train: Mask
    validation: Mask
    test: Mask
    metric: Metric = "accuracy"
    feature_names: tuple[str, ...] | None = None
    recipe: SplitRecipe | None = None
    links: KnownLinks | None = None
    weights: NDArray[np.float64] | None = None
    panel: Panel | None = None
    ids: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        if (self.labels[self.test] != UNKNOWN).any():
            raise InputError("a graph must not carry labels of test users: they belong to the users")
        if self.metric not in METRICS:
            raise InputError(f"metric must be one of {', '.join(METRICS)}, got {self.metric!r}")
        if self.multilabel and self.metric != "f1":
            one = f"leave metric out, or choose one label with label=0..{self.class_count - 1}"
            raise InputError(f"users have several labels each, which f1 measures, not {self.metric}: {one}")
        if self.metric == "roc_auc" and self.class_count != 2:
            raise InputError(f"roc_auc compares two classes, not {self.class_count}: take accuracy")
        names, features = self.feature_names, self.feature_count
        if names is not None and len(names) != features:
            raise InputError(f"feature_names must name all {features} features, got {len(names)}")
        if self.links is not None and (leaked := shared_links(self, self.links.validation.linked)):
            raise InputError(f"the graph's edges hold {leaked} of the links that validate: leave those out")
        if self.weights is not None and self.weights.shape != self.indices.shape:
            raise InputError(f"weights must be {len(self.indices)} numbers, one a direction of an edge")
        if self.panel is not None:
            self.panel.check(self)
        if self.ids is not None:
            _check_ids(self.ids, self.node_count)
        for array in (self.indptr, self.indices, self.labels, self.train, self.validation, self.test):
            array.setflags(write=False)

    @property
    def feature_range(self) -> PublicRange:
        """The public range of features; refused where there are none."""
        if self.public_range is None:
            raise InputError(
                f"{self.name} has no features: take another graph, or structure, which needs none"
            )
        return self.public_range

    @property
    def node_count(self) -> int:
        """n, the number of users."""
        return len(self.indptr) - 1

    @property
    def collective(self) -> Collective:
        """Those who learn from this graph together: where it is whole, one process alone."""
        return SINGLE_PROCESS

    @property
    def total_count(self) -> int:
        """The users of the whole graph, where this is a part of one (`GraphPart`); else n."""
        return self.node_count

    def count(self, users: Mask) -> int:
        """Return the number of marked users, over all parts."""
        return int(users.sum())

    def other_ends(self, users: NDArray[np.int64]) -> tuple[NDArray[np.int64], RowsOfEnds]:
        """The links of some users (ascending numbers): how many each has, and a function from a row for each user of this graph to the
        row of each link's other end."""
        pointers, at = gathered(self.indptr, users)
        others = self.indices[at]
        return np.diff(pointers), lambda rows: rows[others]

    @property
    def edge_count(self) -> int:
        """The number of undirected edges."""
        return len(self.indices) // 2

    @property
    def multilabel(self) -> bool:
        """Whether a user may have any number of labels instead of one class."""
        return self.labels.ndim == 2

    @property
    def degrees(self) -> NDArray[np.int64]:
        """The number of neighbours of each user: (users,) int64."""
        return np.diff(self.indptr)

    def edge_list(self) -> NDArray[np.int64]:
        """Every edge in both directions (2 x entries), as PyG's ``edge_index``."""
        return np.stack([self.edge_rows(), self.indices.astype(np.int64)])

    def edge_rows(self) -> NDArray[np.int64]:
        """The user at whom each entry of ``indices`` is stored."""
        return np.repeat(np.arange(self.node_count), self.degrees)

    def pairs(self) -> NDArray[np.int64]:
        """Every edge once (edges x 2), the smaller number first."""
        both = self.edge_list()
        return np.ascontiguousarray(both[:, both[0] < both[1]].T)

    def pair_weights(self) -> NDArray[np.float64]:
        """Return the weight of each of `pairs`: (pairs,) float64, 1 where the graph has no weights."""
        once = self.edge_rows() < self.indices
        return np.ones(int(once.sum())) if self.weights is None else self.weights[once]

    @property
    def weighted_degrees(self) -> NDArray[np.float64]:
        """The sum of the weights of each user's edges: (users,) float64."""
        if self.weights is None:
            return self.degrees.astype(np.float64)
        sums = np.bincount(self.edge_rows(), weights=self.weights, minlength=self.node_count)
        return np.asarray(sums, dtype=np.float64)

    def with_edges(self, pairs: NDArray[np.integer], weights: NDArray[np.float64] | None = None) -> Graph:
        """The same graph with other edges (pairs of users in any order, each once where they have weights)."""
        matrix = _symmetric(pairs, self.node_count, weights)
        return replace(
            self,
            indptr=matrix.indptr.astype(np.int64),
            indices=matrix.indices.astype(np.int32, copy=False),
            weights=None if weights is None else matrix.data,
        )

    def unweighted(self, least: float = LIKELY) -> Graph:
        """The same graph for those who cannot weigh: edges that count at least so much, all alike."""
        if self.weights is None:
            return self
        return self.with_edges(self.pairs()[self.pair_weights() >= least])

    def with_labels(self, labels: NDArray[np.int64]) -> Graph:
        """The same graph with other labels: what the server knows where users report them."""
        return replace(self, labels=labels)

    def known_of(self, users: Mask) -> Graph:
        """The same graph where only these users train and validate: the labels of the others are not known."""
        return replace(self, train=self.train & users, validation=self.validation & users)

    def without_labels(self) -> Graph:
        """The same graph before any label is known; the split stays."""
        return self.with_labels(np.full(self.labels.shape, UNKNOWN, dtype=np.int64))

    def without_edges(self) -> Graph:
        """The same users before any link is known."""
        return self.with_edges(np.empty((0, 2), dtype=np.int64))

    def without_panel(self) -> Graph:
        """The same graph before anybody has volunteered."""
        return self if self.panel is None else replace(self, panel=None)

    def __repr__(self) -> str:
        classes = "labels" if self.multilabel else "classes"
        split = "/".join(str(int(mask.sum())) for mask in (self.train, self.validation, self.test))
        volunteers = "" if self.panel is None else f", {len(self.panel)} volunteers"
        sizes = f"{self.node_count} users, {self.edge_count} edges, {self.feature_count} features"
        return f"Graph({self.name}, {sizes}, {self.class_count} {classes}, {split}{volunteers})"


def labelled(labels: NDArray[np.int64]) -> Mask:
    """Whose label, or whose row of several labels, is known."""
    known: Mask = labels != UNKNOWN
    return np.asarray(known.all(axis=1)) if known.ndim == 2 else known


def usual_metric(labels: NDArray[Any] | None) -> Metric:
    """The metric of a graph that names none: accuracy, and f1 where users have several labels each."""
    return "f1" if labels is not None and labels.ndim == 2 and labels.shape[1] > 1 else "accuracy"


def _check_ids(ids: NDArray[Any], users: int) -> None:
    """Refuse ids that do not tell all users apart."""
    check_array(ids, "ids", f"{users} texts or integers, one a user", "iuU", (users,))
    if len(np.unique(ids)) != users:
        raise InputError("ids must be all different: two users have the same one")
    ids.setflags(write=False)


def pair_codes(pairs: NDArray[np.int64], nodes: int) -> NDArray[np.int64]:
    """One number a pair."""
    codes: NDArray[np.int64] = pairs[:, 0] * nodes + pairs[:, 1]
    return codes


def shared_links(graph: Graph, pairs: NDArray[np.int64]) -> int:
    """Return the number of these pairs that are linked in the graph."""
    nodes = graph.node_count
    return int(np.isin(pair_codes(pairs, nodes), pair_codes(graph.pairs(), nodes)).sum())


def symmetric_csr(pairs: Any, nodes: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Edges in both directions, sorted, from pairs in any order; self-loops and repeats are dropped.

    >>> indptr, indices = symmetric_csr(np.array([[0, 1], [1, 0], [2, 2]]), 3)
    >>> indptr.tolist(), indices.tolist()
    ([0, 1, 2, 2], [1, 0])
    """
    matrix = _symmetric(pairs, nodes)
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False)


def _symmetric(pairs: Any, nodes: int, weights: NDArray[np.float64] | None = None) -> Any:
    """The symmetric CSR matrix of pairs in any order, without loops: their weights, else True."""
    from scipy.sparse import coo_array

    pairs = np.asarray(pairs)
    if pairs.size == 0:
        pairs = np.empty((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        hint = ": transpose it" if pairs.ndim == 2 and pairs.shape[0] == 2 else ""
        got = f"{pairs.dtype} of shape {pairs.shape}"
        raise InputError(f"edges must be pairs of integers (E x 2), got {got}{hint}")
    if nodes > MAX_NODES:
        raise InputError(f"a graph may have at most {MAX_NODES} users, got {nodes}")
    if pairs.size and not 0 <= int(pairs.min()) <= int(pairs.max()) < nodes:
        raise InputError(f"edges must name users 0..{nodes - 1}, got {int(pairs.min())}..{int(pairs.max())}")
    apart = pairs[:, 0] != pairs[:, 1]
    first, second = (pairs[apart, side].astype(np.int32) for side in (0, 1))
    both = (np.concatenate([first, second]), np.concatenate([second, first]))
    values = np.ones(2 * len(first), dtype=bool) if weights is None else np.tile(weights[apart], 2)
    return coo_array((values, both), shape=(nodes, nodes)).tocsr()
