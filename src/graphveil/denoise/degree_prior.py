"""The β-model as a prior for links: how likely two users are linked, from noisy degrees, without a matrix of all pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
        """How many links there are in expectation."""
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
