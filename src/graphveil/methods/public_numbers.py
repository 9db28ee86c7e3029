"""Public numbers of a graph: what its server knows before anybody is asked, and what answers could add to it."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from graphveil.graphs.graph import UNKNOWN, Graph
from graphveil.methods.structure_posterior import Posterior
from graphveil.methods.veil_answers import usually_open

Floats = NDArray[np.float64]
# Labelled pairs that count beforehand for as many as agree by chance.
STRENGTH = 10.0


@dataclass(frozen=True)
class PublicNumbers:
    """Numbers of a graph that its server knows: sizes, labels, and how sure graph and labels are of everybody else.

    ``degree`` is the mean; ``agreeing`` the share of edges between labelled users who share a class. ``sure`` is how likely the
    likeliest class is on average, where the label is not known, ``doubt`` the entropy in nats; ``left`` is what structure lacks
    on validation users of the graph's metric, 0..1.
    """

    users: int
    dims: int
    classes: int
    trained: int
    validated: int
    degree: float
    agreeing: float
    sure: float
    doubt: float
    left: float

    @classmethod
    def of(cls, graph: Graph, posterior: Posterior) -> PublicNumbers:
        """Those of a graph whose posterior is known; labels are those of users who train and validate."""
        rows = unlabelled_rows(graph, posterior)
        entropy = -(rows * np.log(np.maximum(rows, 1e-12))).sum(axis=1)
        return cls(
            graph.node_count,
            graph.feature_count,
            graph.class_count,
            int(graph.train.sum()),
            int(graph.validation.sum()),
            float(graph.degrees.mean()),
            agreeing_share(graph),
            float(rows.max(axis=1).mean()),
            float(entropy.mean()),
            1 - posterior.validation_score,
        )

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(field.name for field in fields(cls))


def unlabelled_rows(graph: Graph, posterior: Posterior) -> Floats:
    """The calibrated probabilities of those whose label is not used in training."""
    rows: Floats = posterior.rows[~graph.train]
    return rows


def agreeing_share(graph: Graph) -> float:
    """The share of edges between labelled users who share a class; few such edges count little against chance."""
    labels = graph.labels
    held = labels[labels != UNKNOWN]
    shares = np.bincount(held, minlength=graph.class_count) / max(len(held), 1)
    chance = float((shares**2).sum())
    ends = graph.edge_list()
    first, second = labels[ends[0]], labels[ends[1]]
    known = (first != UNKNOWN) & (second != UNKNOWN)
    same = float((first[known] == second[known]).sum())
    return (same + STRENGTH * chance) / (float(known.sum()) + STRENGTH)


def within_reach(rows: Floats, epsilon: float) -> float:
    """What answers could add to the expected accuracy if every row told its class: each user's own answer, no neighbours.

    An answer r of a list of K classes has the chance P(r | c) by k-ary response; the best guess is right with Σ_r max_c q_c·P(r | c).

    >>> round(within_reach(np.array([[0.5, 0.5]]), math.log(3)), 6)
    0.25
    """
    width, _ = usually_open(epsilon, rows.shape[1])
    ordered = -np.sort(-rows, axis=1)
    top, rest = ordered[:, :width], ordered[:, width:].max(axis=1, initial=0.0)
    whole = math.exp(epsilon) + width - 1
    hit, miss = math.exp(epsilon) / whole, 1 / whole
    right = np.zeros(len(rows))
    for place in range(width):
        others = np.delete(top, place, axis=1).max(axis=1, initial=0.0)
        right += np.maximum(np.maximum(hit * top[:, place], miss * others), rest / width)
    # Never worse than the guess without an answer.
    return float(np.maximum(right - ordered[:, 0], 0).mean())
