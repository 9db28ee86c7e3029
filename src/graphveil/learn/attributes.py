"""Attributes: which to ask for in a second round, how often, and how alike rankings of them are over runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil import denoise
from graphveil.checks import check_whole
from graphveil.errors import InputError
from graphveil.mechanisms import Estimate
from graphveil.mechanisms.reports import even_pointers

Scores = NDArray[np.float64]
# What a split of the budget is chosen for: an attribute whose mean differs between classes by this share of its range, asked
# beside others in a pool of this many attributes a class, by this share of the answers.
NOMINAL_EFFECT, NOMINAL_POOL, NOMINAL_SHARE = 0.25, 2, 0.8
SPLITS = tuple(step / 20 for step in range(2, 19))


@dataclass(frozen=True)
class Target:
    """The attributes that are asked more often, and how many of a user's answers are about them in expectation."""

    pool: tuple[int, ...] = ()
    from_pool: float = 0.0

    @property
    def options(self) -> dict[str, object]:
        """The options of a plan that asks so."""
        return {"pool": list(self.pool), "from_pool": self.from_pool} if self.pool else {}


def ranking(scores: Scores) -> NDArray[np.int64]:
    """Attributes from the highest score to the lowest; of equal ones the smaller number first."""
    return np.argsort(-scores, kind="stable")


def printed_target(scores: Scores, asked: int, rho: float) -> Target:
    """Return TOGL's Eq. 8: everybody answers the m* = ⌊ρm⌋ best attributes, and m - m* of the others.

    Parameters
    ----------
    scores
        The score of each attribute: (d,) float64.
    asked
        The number m of values that a user answers.
    rho
        The share ρ of answers about the best attributes.

    >>> printed_target(np.array([0.1, 0.9, 0.5]), 2, 0.5)
    Target(pool=(1,), from_pool=1.0)
    """
    # A product that rounding has put just below an integer counts as that integer.
    fixed = math.floor(rho * asked * (1 + 2.0**-40))
    return Target(_numbers(ranking(scores)[:fixed]), float(fixed))


def pooled_target(scores: Scores, asked: int, rho: float, size: int) -> Target:
    """Return a target with a share ρ of the answers about the T best attributes; with ρ = 0 no pool.

    The share is smaller where T attributes cannot take so many answers.

    Parameters
    ----------
    scores
        The score of each attribute: (d,) float64.
    asked
        The number of values that a user answers.
    rho
        The share ρ.
    size
        The size T of the pool.

    >>> pooled_target(np.array([0.1, 0.9, 0.5]), 1, 0.5, 2)
    Target(pool=(1, 2), from_pool=0.5)
    """
    _check_size(size, len(scores))
    if rho == 0:
        return Target()
    least = max(0, asked - (len(scores) - size))
    return Target(_numbers(ranking(scores)[:size]), max(float(least), min(rho * asked, float(size), asked)))


def signal(scores: Scores, null: Scores) -> Scores:
    """Return how far each attribute's score is above that of an attribute that says nothing: at least 0.

    ``null`` are scores of attributes that say nothing. The excess over their mean counts by 1 - (how many scores as high chance
    would give)/(how many there are), so that what chance explains counts nothing.
    """
    order = np.sort(null)
    at_least = (len(order) - np.searchsorted(order, scores, side="left")) * (len(scores) / len(order))
    seen = len(scores) - np.searchsorted(np.sort(scores), scores, side="left")
    real = np.clip(1 - at_least / np.maximum(seen, 1), 0.0, 1.0)
    excess: Scores = np.maximum(scores - null.mean(), 0.0) * real
    return excess


def expected_target(
    scores: Scores,
    null: Scores,
    asked: int,
    *,
    before: float = 0.0,
    rho: float | None = None,
    size: int | None = None,
) -> Target:
    """Return the pool and the share of answers with the smallest expected error.

    Attributes count by their `signal`. An attribute that is asked with probability π has a variance of c/(a +
    π), a = ``before``. Let W be the signal of the T best attributes, R that of the d - T others, α = m/T and
    β = m/(d - T): the error W/(a + ρα) + R/(a + (1-ρ)β) is smallest at ρ = (√(Wα)(a + β) - √(Rβ)a)/(√(Wα)β +
    √(Rβ)α). R counts at least as much as the mean of so many scores of attributes that say nothing may be off
    by (one standard error). Where nothing stands out, all attributes are asked alike.

    Parameters
    ----------
    scores
        The score of each attribute: (d,) float64.
    null
        Scores of attributes that say nothing.
    asked
        The number m of values that a user answers.
    before
        What is known already, a: the probability at which an attribute would have to be asked in this round
        to be known as well as it is.
    rho, size
        The share ρ and the size T of the pool, where they are given; at ρ = 1 T is that of the best ρ.
    """
    d, weight = len(scores), signal(scores, null)
    if size is not None:
        _check_size(size, d)
    order = ranking(weight)
    total = np.cumsum(weight[order])
    if total[-1] <= 0 or d == 1 or rho == 0:
        return Target()
    if rho == 1 and size is None:
        best_size = len(expected_target(scores, null, asked, before=before).pool)
        return pooled_target(weight, asked, 1.0, best_size)
    sizes = np.arange(1, d) if size is None else np.array([size])
    inside = total[sizes - 1]
    others = np.maximum(total[-1] - inside, null.std() * np.sqrt(d - sizes))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        alpha, beta = asked / sizes, asked / (d - sizes)
        pooled, rest = np.sqrt(inside * alpha), np.sqrt(others * beta)
        best_shares = (pooled * (before + beta) - rest * before) / (pooled * beta + rest * alpha)
        shares = np.nan_to_num(best_shares, nan=1.0) if rho is None else np.full(len(sizes), rho)
        if rho is None:
            # The best attributes are never asked less often than the others.
            shares = np.maximum(shares, sizes / d)
        shares = np.clip(shares, np.maximum(0, asked - (d - sizes)) / asked, np.minimum(1, sizes / asked))
        left = np.where(sizes < d, (1 - shares) * beta, 0.0)
        errors = inside / (before + shares * alpha) + np.where(others > 0, others / (before + left), 0.0)
    best = 0 if len(sizes) == 1 else int(np.argmin(np.nan_to_num(errors, nan=np.inf)))
    return pooled_target(weight, asked, float(shares[best]), int(sizes[best]))


@dataclass(frozen=True)
class TargetRound:
    """The public numbers of one round at some budget: how many values are asked, and the mean square of an answer."""

    asked: int
    mean_square: float


def expected_error(
    first: TargetRound, second: TargetRound, attributes: int, classes: int, heard: float, *, both: bool = True
) -> float:
    """Return the expected variance of an estimate of an attribute that matters, after both rounds.

    It is in squared half widths. In round 1 the difference of two class means has the variance
    2Cv/(heard·m/d); an attribute with the nominal effect is found with the probability that it comes before
    all but a pool's worth of attributes that say nothing. In round 2 it then has its share of the pool, or
    else of the rest.

    Parameters
    ----------
    first, second
        The public numbers of both rounds.
    attributes, classes
        The numbers d and C.
    heard
        The number of users whose reports reach training users of all classes.
    both
        Whether the estimates of both rounds are added; else only round 2 counts.
    """
    size = min(attributes - 1, NOMINAL_POOL * classes)
    if size < 1:
        return second.mean_square
    noise = 2 * classes * first.mean_square * attributes / (heard * first.asked)
    distance = 2 * NOMINAL_EFFECT / math.sqrt(noise)
    normal = NormalDist()
    chance = 1 - normal.cdf(normal.inv_cdf(1 - size / attributes) - distance)
    pooled = min(1.0, NOMINAL_SHARE * second.asked / size)
    rest = max(second.asked - pooled * size, 0.0) / (attributes - size)
    before = first.asked / attributes / first.mean_square if both else 0.0
    errors = [1 / (before + share / second.mean_square) for share in (pooled, max(rest, 1e-12))]
    return chance * errors[0] + (1 - chance) * errors[1]


def _check_size(size: int, attributes: int) -> None:
    check_whole(size, "pool", least=1, most=attributes, why="the number of attributes")


def _numbers(attributes: NDArray[np.int64]) -> tuple[int, ...]:
    return tuple(sorted(int(attribute) for attribute in attributes))


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
        runs = zip(self.scores, self.seeds, strict=True)
        return tuple(best_attributes(scores, self.top, seed) for scores, seed in runs)

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
        """The similarity of the best attributes of two runs, averaged over all pairs of runs; it needs two."""
        return jaccard(self.tops)

    @property
    def degree_correlation(self) -> float:
        """The mean absolute correlation of the best attributes with the degree, over runs (TOGL, Table 6)."""
        rows = zip(np.abs(self.correlations), self.tops, strict=True)
        return float(np.mean([of_all[best].mean() for of_all, best in rows]))

    def shared(self, other: Ranking) -> NDArray[np.int64]:
        """Return, for each run, how many of the best attributes are also among another ranking's best."""
        pairs = zip(self.tops, other.tops, strict=True)
        return np.array([len(np.intersect1d(own, others)) for own, others in pairs])


def check_top(top: int, attributes: int) -> None:
    """Refuse more best attributes than there are attributes."""
    if not 1 <= top <= attributes:
        raise InputError(f"top must be from 1 to {attributes}, the number of attributes, got {top}")


def best_attributes(scores: Scores, count: int, seed: tuple[int, int]) -> NDArray[np.int64]:
    """Return the attributes with the highest scores, the best first.

    Parameters
    ----------
    scores
        The score of each attribute: (d,) float64.
    count
        The number of attributes to return.
    seed
        Decides among equal scores.

    >>> best_attributes(np.array([0.5, 2.0, 0.1]), 2, (0, 0)).tolist()
    [1, 0]
    """
    drawn = np.random.default_rng(seed).permutation(len(scores))
    return np.lexsort((drawn, -scores))[:count]


def jaccard(sets: Sequence[Iterable[int]]) -> float:
    """Return the similarity of several sets of attributes: the mean of |A ∩ B| / |A ∪ B| over all pairs of them.

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
    """Return the chance that random sets share at least ``least`` attributes with given ones, in all runs together.

    Parameters
    ----------
    size
        The number of attributes.
    top
        The size of each set.
    runs
        The number of runs.
    least
        The number of shared attributes, all runs added up.

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
    sparse = hasattr(features, "multiply")
    squares = features.multiply(features) if sparse else np.square(features, dtype=float)
    second = np.asarray(squares.mean(axis=0), dtype=np.float64).ravel()
    spread = np.sqrt(np.maximum(second - np.square(mean), 0.0))
    both = np.asarray(features.T @ centred, dtype=np.float64).ravel() / len(centred)
    scale = spread * centred.std()
    correlations: NDArray[np.float64] = np.divide(both, scale, out=np.zeros_like(both), where=scale > 0)
    return correlations


def raw_estimate(features: Any, centre: float, *, sparse: bool = True) -> Estimate:
    """Return raw features as if they were what reports are decoded to: only for evaluation.

    A dense matrix counts from the middle of the public range, as reports do.

    Parameters
    ----------
    features
        (users, features), dense or sparse.
    centre
        The middle of the public range.
    sparse
        Whether a sparse matrix may stay as it is: it then counts from 0, which shifts an attribute by a
        constant.
    """
    if hasattr(features, "tocsr") and sparse:
        return denoise.certain_estimate(features)
    rows = features.toarray() if hasattr(features, "toarray") else np.asarray(features)
    users, attributes = rows.shape
    values = np.subtract(rows, centre, dtype=np.float64).ravel()
    return Estimate((users, attributes), even_pointers(users, attributes), None, values, centre, True)
