"""Reported links as the server sees them: which pairs, how plausible they are, common neighbours, and the graph taken for true."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from graphveil.errors import InputError
from graphveil.graphs.graph import symmetric_csr
from graphveil.mechanisms import Mechanism, Reports
from graphveil.mechanisms.links import link_mechanism
from graphveil.settings import available_gigabytes

# What a pair takes at most while its weight is learned: 150 to 200 bytes, measured on facebook with 3 and 8 million pairs.
BYTES_A_PAIR = 200
# Steps that counting common neighbours may take.
MOST_STEPS = 3_000_000_000
# Above this probability of a wrong answer a quarter of all pairs is reported by mistake.
DENSE = 0.25
# Shares of links nearer to 0 or 1 count as this near.
SMALLEST = 1e-12
# Reports that make a group of their own, and standard deviations of its density that noise explains.
RARE, DEVIATIONS = 30, 3.0


@dataclass(frozen=True, eq=False)
class ReportedLinks:
    """The pairs that were reported (m x 2, the larger number first), and what is known in public about the others.

    ``users`` is how many there are, ``flip`` the probability q that an answer about a pair is wrong. ``silent`` users have not
    answered for their pairs: about these nothing is known. With ``both`` every pair is answered by its two users, and ``yes`` says
    how many of them named it (all of them, where it is None). Where users pass on only a share of their yeses, ``kept`` is that
    share for each user. ``degrees`` are reported ones, whose noise has the variance ``degree_variance``.
    """

    users: int
    flip: float
    pairs: NDArray[np.int32]
    silent: NDArray[np.bool_] | None = None
    both: bool = False
    yes: NDArray[np.int64] | None = None
    kept: NDArray[np.float64] | None = None
    degrees: NDArray[np.float64] | None = None
    degree_variance: float = 0.0

    @classmethod
    def of(cls, reports: Reports) -> ReportedLinks:
        """From the reports of all users, in their order; some may not have answered."""
        mechanism = link_mechanism(reports.mechanism)
        if reports.asked != mechanism.size:
            raise InputError(f"a graph takes reports of all {mechanism.size} users, not {reports.asked}")
        both = mechanism.ends == "both"
        pointers, codes = mechanism.neighbours(reports)
        users = np.repeat(reports.places.astype(np.int32), np.diff(pointers))
        others = codes.astype(np.int32)
        mechanism.check_owners(reports, reports.places)
        pairs, yes = np.stack([users, others], axis=1), None
        if both:
            numbers = pairs.max(axis=1).astype(np.int64) * reports.asked + pairs.min(axis=1)
            numbers, yes = np.unique(numbers, return_counts=True)
            pairs = np.stack(np.divmod(numbers, reports.asked), axis=1).astype(np.int32)
        degrees = mechanism.degrees(reports)
        return cls(
            reports.asked,
            mechanism.flip,
            pairs,
            None if reports.answered is None else ~reports.answered,
            both,
            yes,
            None if degrees is None else _of_all(reports, mechanism.kept(degrees, reports.places)),
            # Numbers of links to smaller users alone say too little of a degree.
            None if degrees is None or not mechanism.whole_degrees else _of_all(reports, degrees),
            mechanism.degree_variance,
        )

    @property
    def answer_count(self) -> int:
        """The number of answers about pairs."""
        silent = np.empty(0, dtype=np.int64) if self.silent is None else np.flatnonzero(self.silent)
        if self.both:
            return (self.users - 1) * (self.users - len(silent))
        return self.users * (self.users - 1) // 2 - int(silent.sum())

    @property
    def yeses(self) -> NDArray[np.float64]:
        """The number of yeses that each reported pair stands for: those that were passed on, over the share that is."""
        yes = np.ones(len(self.pairs)) if self.yes is None else self.yes.astype(np.float64)
        if self.kept is None or self.both:
            return yes
        return np.asarray(yes / np.maximum(self.kept[self.pairs[:, 0]], 1e-12))

    @property
    def log_ratios(self) -> NDArray[np.float64]:
        """log P[answers | linked] / P[answers | not linked] of each reported pair: yeses against noes."""
        each = math.log((1 - self.flip) / self.flip) if self.flip > 0 else math.inf
        if not self.both:
            return np.full(len(self.pairs), each)
        asked = np.full(len(self.pairs), 2)
        if self.silent is not None:
            asked -= self.silent[self.pairs].sum(axis=1)
        assert self.yes is not None
        return np.asarray((2 * self.yes - asked) * each)

    @property
    def density(self) -> float:
        """The share of all pairs that is linked, estimated from the reported ones; an estimate below 0 counts as 0."""
        return float(density(np.array(self.yeses.sum()), np.array(self.answer_count), self.flip))

    def plausibilities(self, most_steps: int = MOST_STEPS) -> NDArray[np.float64]:
        """The probability that each of m reported pairs is linked, given how many reported neighbours the two have in common.

        Their own answer is not part of that number. So among all pairs with c common neighbours, reported or not, the
        share that is reported is q + (1-2q)·(the share that is linked), which gives the density of links there, and
        Bayes the rest. A count that is rare is joined with the next smaller ones, a density that is within three standard
        deviations of that of all pairs counts as the same, and more common neighbours never make a link less plausible.
        Where counting takes more than ``most_steps`` steps, common neighbours are too many to say much, and all pairs
        are alike.
        """
        return posterior(self._log_odds(most_steps) + self._prior(), self.log_ratios)

    def _prior(self) -> NDArray[np.float64] | float:
        """By how much reported degrees change the log odds of each reported pair."""
        if self.degrees is None or not len(self.pairs):
            return 0.0
        prior = DegreePrior.of(shrunk_degrees(self.degrees, self.degree_variance))
        overall = 2 * prior.expected_links / max(self.users * (self.users - 1), 1)
        return prior.log_odds(self.pairs) - float(log_odds(np.array(overall)))

    def _log_odds(self, most_steps: int) -> NDArray[np.float64]:
        """The log odds that each reported pair is linked, whatever it has answered itself."""
        degrees = np.bincount(self.pairs.ravel(), minlength=self.users)
        if int((degrees.astype(np.int64) ** 2).sum()) > most_steps or not len(self.pairs):
            return np.full(len(self.pairs), float(log_odds(np.array(self.density))))
        pointers, neighbours = symmetric_csr(self.pairs, self.users)
        answering = np.ones(self.users, dtype=np.int64)
        if self.silent is not None:
            answering[self.silent] = 0
        common, totals = common_neighbours(pointers, neighbours, answering, self.both)
        totals[0] = self.answer_count - totals[1:].sum()
        reported = np.bincount(common, weights=self.yeses, minlength=len(totals))
        groups = _joined(np.bincount(common, minlength=len(totals)), RARE)
        yeses, answers = (np.bincount(groups, weights=each) for each in (reported, totals))
        by_group = _rising_density(yeses, answers, self.flip)
        return log_odds(by_group)[groups[common]]


def density(reported: NDArray[Any], pairs: NDArray[Any], flip: float) -> NDArray[np.float64]:
    """Estimate the share of pairs that is linked from how many are reported: (share - q)/(1 - 2q), within 0 and 1.

    Parameters
    ----------
    reported, pairs
        The number of reported pairs and of all pairs in each group: arrays of one shape, which the result has
        too.
    flip
        The chance q that an answer is flipped.
    """
    return np.clip(_unbiased_density(reported, pairs, flip), 0.0, 1.0)


def _unbiased_density(reported: NDArray[Any], pairs: NDArray[Any], flip: float) -> NDArray[np.float64]:
    share: NDArray[np.float64] = (reported / np.maximum(pairs, 1) - flip) / (1 - 2 * flip)
    return share


def _rising_density(reported: NDArray[Any], pairs: NDArray[Any], flip: float) -> NDArray[np.float64]:
    """The density of some groups of pairs, which rises from group to group, without differences that noise explains."""
    overall = _unbiased_density(reported.sum(), pairs.sum(), flip)
    apart = _unbiased_density(reported, pairs, flip) - overall
    noise = flip * (1 - flip) / np.maximum(pairs, 1) / (1 - 2 * flip) ** 2
    sure = np.maximum(1 - DEVIATIONS**2 * noise / np.maximum(apart**2, 1e-300), 0.0)
    rising: NDArray[np.float64] = isotonic_regression(overall + sure * apart, weights=np.maximum(pairs, 1)).x
    return np.clip(rising, 0.0, 1.0)


def log_odds(share: NDArray[Any]) -> NDArray[np.float64]:
    """log ρ/(1-ρ), finite for 0 and 1.

    >>> float(log_odds(np.array(0.5)))
    0.0
    """
    inside = np.clip(share, SMALLEST, 1 - SMALLEST)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def posterior(prior: NDArray[np.float64], ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probability of a link from its log odds and the log ratio of what was answered (Bayes)."""
    return np.asarray(1 / (1 + np.exp(-np.clip(prior + ratio, -700, 700))))


def _of_all(reports: Reports, numbers: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers of those who answered, for everybody; of the others the mean is as good a guess as any."""
    everybody = np.full(reports.asked, float(numbers.mean()) if len(numbers) else 0.0)
    everybody[reports.places] = numbers
    return everybody


def _joined(counts: NDArray[np.int64], least: int) -> NDArray[np.int64]:
    """A group for each place, in order, such that every group but the first counts at least so many."""
    groups = np.zeros(len(counts), dtype=np.int64)
    held = 0
    for place in range(len(counts) - 1, -1, -1):
        held += int(counts[place])
        groups[place] = 0
        if held >= least and place:
            groups[place], held = 1, 0
    return np.cumsum(groups)


def refuse_too_many(mechanism: Mechanism, max_memory: float | None, *, dense: bool = False) -> None:
    """Refuse links whose noise alone would not fit into memory, or names most pairs.

    It follows from public numbers, before anything is drawn. Mechanisms that report about as many pairs as
    there are links always fit.

    Parameters
    ----------
    max_memory
        The allowed gigabytes; by default what the machine has left.
    dense
        Whether a graph that is nearly complete is allowed.
    """
    mechanism = link_mechanism(mechanism)
    if mechanism.as_many_as_links:
        return
    pairs = mechanism.size * (mechanism.size - 1) // 2
    # All that can be known before anybody has answered.
    mistaken = pairs * mechanism.flip
    needed = mistaken * BYTES_A_PAIR / 1e9
    allowed = available_gigabytes() if max_memory is None else max_memory
    name = f"{mechanism.name} at epsilon {mechanism.claim.epsilon:g}"
    found = f"{name} reports about {mistaken:,.0f} of {pairs:,} pairs by mistake"
    fewer = "give a larger --link-epsilon, take --link-mechanism dprr, which reports about as many pairs as there are links"
    if mechanism.flip > DENSE and not dense:
        raise InputError(f"{found}, which says nearly nothing: {fewer}, or go on with --allow-dense")
    if needed > allowed:
        limit = "this machine has left" if max_memory is None else "--max-memory allows"
        taken = f"which take {needed:.1f} GB, above the {allowed:.1f} GB that {limit}"
        raise InputError(f"{found}, {taken}: {fewer}, or raise --max-memory")


Variant = Literal["plain", "hard", "soft", "hybrid"]
# Pairs that are less plausible than this are left out of soft weights, and of hybrid ones.
SOFT_LEAST, HYBRID_LEAST = 0.01, 0.1
# From here on a link is as good as known.
SURE = 0.9


@dataclass(frozen=True, eq=False)
class PrivateGraph:
    """Pairs (m x 2) with a weight of more than 0 each. ``left_out`` is how many links are expected among all pairs that are not here,
    as far as pairs were reported.
    """

    pairs: NDArray[np.int32]
    weights: NDArray[np.float64]
    left_out: float


def private_graph(reports: Reports, variant: Variant, seed: int) -> PrivateGraph:
    """Return the graph that is left of reported links, by a rule of public numbers and reports alone.

    What a curator publishes is taken as it is.

    Parameters
    ----------
    reports
        The reports about links.
    variant
        ``plain`` is randomized response as it is, thinned at random to as many pairs as there are links in
        expectation (EdgeRand's density correction). The others weigh each pair by the probability p that it
        is linked (BLINK: Bayes from a prior and the answers; here the prior knows common neighbours too):
        ``hard`` keeps p > 1/2 with weight 1, ``soft`` weighs by p, ``hybrid`` by p², which nearly forgets
        what is unlikely, and by 1 what is all but sure.
    seed
        The seed of the thinning.
    """
    if reports.mechanism.trust == "curator":
        owners = np.repeat(reports.places, reports.lengths)
        pairs = np.stack([owners, reports.codes.astype(np.int64)], axis=1).astype(np.int32)
        return PrivateGraph(pairs, np.ones(len(pairs)), 0.0)
    links = ReportedLinks.of(reports)
    if variant == "plain":
        return _thinned(links, seed)
    chances = links.plausibilities()
    kept, weights = {
        "hard": (chances > 0.5, np.ones(len(chances))),
        "soft": (chances > SOFT_LEAST, chances),
        "hybrid": (chances > HYBRID_LEAST, np.where(chances < SURE, chances**2, 1.0)),
    }[variant]
    return PrivateGraph(links.pairs[kept], weights[kept], float(chances[~kept].sum()))


def _thinned(links: ReportedLinks, seed: int) -> PrivateGraph:
    """As many reported pairs as there are links in expectation, drawn at random; all of them where that is more."""
    expected = round(links.density * links.users * (links.users - 1) / 2)
    count = min(expected, len(links.pairs))
    chosen = np.sort(np.random.default_rng([seed, 8]).permutation(len(links.pairs))[:count])
    left_out = float(expected * (1 - count / max(len(links.pairs), 1)))
    return PrivateGraph(links.pairs[chosen], np.ones(count), left_out)


Floats = NDArray[np.float64]
# Users whose degrees are within this share of each other have one parameter.
STEP = 0.02
# A degree counts as at least this share of the mean one: nobody is sure to have no link.
LEAST_SHARE = 0.2
ITERATIONS, CLOSE = 500, 1e-6


@dataclass(frozen=True, eq=False)
class DegreePrior:
    """P[i and j are linked] = 1/(1 + e^-(β_i + β_j)), with one β for all users of about the same degree.

    ``beta`` has a number for each group, ``group`` the group of each user, ``counts`` how many users a group has.

    Source: the β-model (Chatterjee, Diaconis and Sly 2011) as BLINK (Zhu, Tan and Xiao 2023) uses it. There every user has a
    parameter and every step an n x n matrix; users with the same degree have the same parameter, so groups give the same.
    """

    beta: Floats
    group: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, degrees: Floats) -> DegreePrior:
        """The prior in which users have these degrees in expectation (β by fixed-point iteration)."""
        users = len(degrees)
        inside = np.clip(degrees, 1e-3, max(users - 1.0, 1e-3))
        steps = np.round(np.log(inside) / np.log1p(STEP)).astype(np.int64)
        _, group, counts = np.unique(steps, return_inverse=True, return_counts=True)
        wanted = np.bincount(group, weights=inside) / counts
        beta = np.log(wanted) - 0.5 * np.log(max(float(inside.sum()), 1e-3))
        for _ in range(ITERATIONS):
            # Σ_j 1/(e^-β_j + e^β_i) over all others j, group by group.
            shares = 1 / (np.exp(-beta)[None, :] + np.exp(beta)[:, None])
            sums = shares @ counts - np.diagonal(shares)
            moved = 0.5 * (beta + np.log(wanted) - np.log(np.maximum(sums, 1e-300)))
            done = np.abs(moved - beta).max() < CLOSE
            beta = moved
            if done:
                break
        return cls(beta, group, counts)

    def log_odds(self, pairs: NDArray[np.integer]) -> Floats:
        """β_i + β_j of each pair."""
        return np.asarray(self.beta[self.group[pairs[:, 0]]] + self.beta[self.group[pairs[:, 1]]])

    @property
    def expected_links(self) -> float:
        """The expected number of links."""
        chances = 1 / (1 + np.exp(-(self.beta[:, None] + self.beta[None, :])))
        ordered = self.counts @ chances @ self.counts - self.counts @ np.diagonal(chances)
        return float(ordered / 2)


def shrunk_degrees(noisy: Floats, variance: Floats | float) -> Floats:
    """Degrees between what was measured and the mean of all, by how much of the differences is noise.

    d̄ + (v/(v + σ²))·(d - d̄), with σ² the variance of the noise and v what is left of the variance of all measurements
    without it (empirical Bayes). A negative measurement, of which there are many at small budgets, so is no negative degree.

    >>> shrunk_degrees(np.array([2.0, 4.0]), 0.0).tolist()
    [2.0, 4.0]
    """
    noise = np.broadcast_to(np.asarray(variance, dtype=np.float64), noisy.shape)
    mean = max(float(noisy.mean()), 0.1)
    spread = max(float(noisy.var() - noise.mean()), 0.0)
    kept = np.divide(spread, spread + noise, out=np.ones_like(noise), where=spread + noise > 0)
    return np.maximum(mean + kept * (noisy - mean), LEAST_SHARE * mean)


Numbers = NDArray[np.int64]


def common_neighbours(
    indptr: Numbers, indices: NDArray[np.int32], answering: Numbers, both: bool
) -> tuple[Numbers, Numbers]:
    """Count the common neighbours of each linked pair, and the answers about pairs with each number of them.

    Pairs have the larger number first, in the order of the rows; answers are counted for 1, 2, … common
    neighbours. The work is the sum of the squares of all degrees.

    Parameters
    ----------
    indptr, indices
        The links of n users in both directions, sorted.
    answering
        1 for users who answer.
    both
        Whether both users answer about a pair; else only the one with the larger number does.
    """
    degrees = np.diff(indptr)
    # Two users have no more neighbours in common than the second busiest user has.
    most = int(np.sort(degrees)[-2]) if len(degrees) > 1 else 0
    common, totals = _count(indptr, indices, answering, both, most + 1)
    return common, totals


@numba.njit(cache=True, nogil=True)
def _count(indptr: Any, indices: Any, answering: Any, both: bool, size: int) -> Any:
    users = len(indptr) - 1
    seen, reached = np.zeros(users, dtype=np.int64), np.empty(users, dtype=np.int32)
    common, totals = np.empty(len(indices) // 2, dtype=np.int64), np.zeros(size, dtype=np.int64)
    pair = 0
    for user in range(users):
        count = 0
        for place in range(indptr[user], indptr[user + 1]):
            middle = indices[place]
            for step in range(indptr[middle], indptr[middle + 1]):
                other = indices[step]
                if other >= user:
                    break
                if seen[other] == 0:
                    reached[count] = other
                    count += 1
                seen[other] += 1
        for place in range(indptr[user], indptr[user + 1]):
            other = indices[place]
            if other >= user:
                break
            common[pair] = seen[other]
            pair += 1
        for place in range(count):
            other = reached[place]
            answers = answering[user] + answering[other] if both else answering[user]
            totals[seen[other]] += answers
            seen[other] = 0
    return common, totals
