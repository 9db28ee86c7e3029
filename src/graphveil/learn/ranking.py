"""Rankings of attributes over runs: how alike their best attributes are, beside chance, and how they depend on the degree."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.mechanisms import Estimate
from graphveil.mechanisms.reports import even_pointers

Scores = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ranking:
    """Scores of attributes in some runs (runs x attributes), and the correlation of each attribute with the degree.

    ``seeds`` break ties at random, each run's own: many attributes can have the score 0, and the same ones would else be the
    best in every run.
    """

    scores: Scores
    correlations: Scores
    top: int
    seeds: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        check_top(self.top, self.scores.shape[1])

    @cached_property
    def tops(self) -> tuple[NDArray[np.int64], ...]:
        """The best attributes of each run."""
        return tuple(
            best_attributes(scores, self.top, seed)
            for scores, seed in zip(self.scores, self.seeds, strict=True)
        )

    @property
    def mean(self) -> Scores:
        """The mean score of each attribute over runs."""
        mean: Scores = self.scores.mean(axis=0)
        return mean

    @property
    def order(self) -> NDArray[np.int64]:
        """Attributes by their mean score, the best first; of equal ones the smaller number."""
        return np.argsort(-self.mean, kind="stable")

    @property
    def times_in_top(self) -> NDArray[np.int64]:
        """In how many runs each attribute is among the best."""
        return np.bincount(np.concatenate(self.tops), minlength=self.scores.shape[1])

    @property
    def jaccard(self) -> float:
        """How alike the best attributes of two runs are, over all pairs of runs; it needs two."""
        return jaccard(self.tops)

    @property
    def degree_correlation(self) -> float:
        """The mean absolute correlation of the best attributes with the degree, over runs (TOGL, Table 6)."""
        rows = zip(np.abs(self.correlations), self.tops, strict=True)
        return float(np.mean([of_all[best].mean() for of_all, best in rows]))

    def shared(self, other: Ranking) -> NDArray[np.int64]:
        """How many of the best attributes of each run are among the best of another ranking's same run."""
        pairs = zip(self.tops, other.tops, strict=True)
        return np.array([len(np.intersect1d(own, others)) for own, others in pairs])


def check_top(top: int, attributes: int) -> None:
    """Refuse more best attributes than there are attributes."""
    if not 1 <= top <= attributes:
        raise InputError(f"top must be from 1 to {attributes}, the number of attributes, got {top}")


def best_attributes(scores: Scores, count: int, seed: tuple[int, int]) -> NDArray[np.int64]:
    """The attributes with the highest scores, the best first; of equal ones, any, as the seed says.

    >>> best_attributes(np.array([0.5, 2.0, 0.1]), 2, (0, 0)).tolist()
    [1, 0]
    """
    drawn = np.random.default_rng(seed).permutation(len(scores))
    return np.lexsort((drawn, -scores))[:count]


def jaccard(sets: Sequence[Iterable[int]]) -> float:
    """How alike several sets of attributes are: the mean of |A ∩ B| / |A ∪ B| over all pairs of them.

    >>> jaccard([{1, 2}, {2}])
    0.5
    """
    pairs = list(combinations([{int(one) for one in each} for each in sets], 2))
    if not pairs:
        raise InputError(f"at least two sets are needed to compare them, got {len(sets)}")
    return float(np.mean([len(a & b) / len(a | b) if a | b else 1.0 for a, b in pairs]))


def chance_jaccard(size: int, top: int) -> float:
    """The expected Jaccard similarity of two random sets of ``top`` of ``size`` attributes: Σ_i P(i) i/(2k - i).

    >>> chance_jaccard(2, 1), chance_jaccard(5, 5)
    (0.5, 1.0)
    """
    return float(sum(chance * i / (2 * top - i) for i, chance in enumerate(_sharing(size, top))))


def chance_of_sharing(size: int, top: int, runs: int, least: int) -> float:
    """How likely random sets share at least so many attributes with given ones of the same size, in all runs together.

    >>> chance_of_sharing(4, 1, 2, 1)
    0.4375
    """
    total = np.ones(1)
    for _ in range(runs):
        total = np.convolve(total, _sharing(size, top))
    return min(1.0, float(total[least:].sum()))


def _sharing(size: int, top: int) -> Scores:
    """The chance that a random set shares 0, 1, …, k attributes with a given one: hypergeometric."""
    ways = [math.comb(top, i) * math.comb(size - top, top - i) for i in range(top + 1)]
    return np.array([each / math.comb(size, top) for each in ways])


def degree_correlations(features: Any, degrees: Any) -> NDArray[np.float64]:
    """Pearson's correlation of each attribute with the number of neighbours; 0 for one that everybody has alike.

    >>> degree_correlations(np.array([[0, 1, 1], [1, 1, 0]]), np.array([2, 4])).tolist()
    [1.0, 0.0, -1.0]
    """
    centred = np.asarray(degrees, dtype=np.float64) - np.mean(degrees)
    mean = np.asarray(features.mean(axis=0), dtype=np.float64).ravel()
    squares = (
        features.multiply(features) if hasattr(features, "multiply") else np.square(features, dtype=float)
    )
    spread = np.sqrt(
        np.maximum(np.asarray(squares.mean(axis=0), dtype=np.float64).ravel() - np.square(mean), 0.0)
    )
    both = np.asarray(features.T @ centred, dtype=np.float64).ravel() / len(centred)
    scale = spread * centred.std()
    correlations: NDArray[np.float64] = np.divide(both, scale, out=np.zeros_like(both), where=scale > 0)
    return correlations


def raw_estimate(features: Any, centre: float, *, sparse: bool = True) -> Estimate:
    """Raw features as if they were what reports are decoded to: only for evaluation.

    A dense matrix counts from the middle of the public range, as reports do. A sparse one stays as it is if it may: it then
    counts from 0, which shifts an attribute by a constant.
    """
    if hasattr(features, "tocsr") and sparse:
        matrix = features.tocsr().sorted_indices()
        pointers, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
        return Estimate(matrix.shape, pointers, indices, matrix.data.astype(np.float64), 0.0, True)
    rows = features.toarray() if hasattr(features, "toarray") else np.asarray(features)
    users, attributes = rows.shape
    values = np.subtract(rows, centre, dtype=np.float64).ravel()
    return Estimate((users, attributes), even_pointers(users, attributes), None, values, centre, True)
