"""How a budget is divided over attributes: by how much they matter and how sensitive they are, for some or for all of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.exact import MAX_EPSILON, MIN_EPSILON
from graphveil.mechanisms.features import budget_shares

Numbers = NDArray[np.float64]
# How many different shares there are at most: each has a table of its own, which clients build and verify.
LEVELS = 32


def attribute_shares(importance: Numbers, sensitivity: Numbers, gamma: float) -> Numbers:
    """θ of all attributes (d numbers, which add up to 1): a part γ of the budget by importance, the rest by sensitivity.

    α is divided by its sum, and β so that the β_min + β_max - β_i add up to 1: whatever the units of both, γ is then the part of
    the budget that follows importance. Where all numbers of one of them are 0, it says nothing and counts as flat.

    >>> attribute_shares(np.array([3.0, 1.0]), np.array([1.0, 1.0]), 0.5).tolist()
    [0.625, 0.375]
    """
    alpha = importance if importance.any() else np.ones(len(importance))
    beta = sensitivity if sensitivity.any() else np.ones(len(sensitivity))
    # Divided by the largest first: sums of large numbers could overflow.
    alpha, beta = alpha / alpha.max(), beta / beta.max()
    reversed_sum = float((beta.min() + beta.max() - beta).sum())
    return budget_shares((alpha / alpha.sum()).tolist(), (beta / reversed_sum).tolist(), gamma)


def largest_shares(shares: Numbers, count: int) -> Numbers:
    """The shares of so many attributes with the largest ones, and of all that have as much as the last of them; 0 for others.

    They add up to 1 again. Attributes that nothing tells apart stand or fall together: to choose among them by their numbers
    would be to ask at random.

    >>> largest_shares(np.array([0.5, 0.2, 0.2, 0.1]), 2).round(2).tolist()
    [0.56, 0.22, 0.22, 0.0]
    """
    least = np.sort(shares)[-min(count, len(shares))]
    kept = np.where(shares >= least, shares, 0.0)
    divided: Numbers = kept / kept.sum()
    return divided


def served_shares(shares: Numbers, epsilon: float) -> Numbers:
    """Shares of a budget that each attribute can be answered with, as near to the given ones as they can be.

    A response is built for a value's budget between `MIN_EPSILON` and `MAX_EPSILON`. What is below counts as nothing. Where one
    is above, all shares are drawn towards even ones until none is; even shares must be within these bounds themselves.

    >>> served_shares(np.array([0.9, 0.1]), 25.0).round(2).tolist()
    [0.8, 0.2]
    """
    large = np.where(shares * epsilon >= MIN_EPSILON, shares, 0.0)
    told: Numbers = large / large.sum()
    even, highest = 1 / len(told), float(told.max())
    # A little less, so that no rounding on the way leads above.
    most = MAX_EPSILON / epsilon * (1 - 1e-9)
    if highest <= most:
        return told
    kept = max(0.0, (most - even) / (highest - even)) if highest > even else 0.0
    drawn: Numbers = kept * told + (1 - kept) * even
    return drawn


def rounded_shares(shares: Numbers, levels: int = LEVELS) -> Numbers:
    """The same shares with at most so many different values besides 0: neighbours in size get their mean.

    Sizes are cut into even steps of their logarithm. Means add up to what they are means of, so that no budget is lost.

    >>> rounded_shares(np.array([0.5, 0.0, 0.26, 0.24]), 2).tolist()
    [0.5, 0.0, 0.25, 0.25]
    """
    rounded = np.zeros(len(shares))
    places = np.flatnonzero(shares)
    logs = np.log(shares[places])
    width = float(logs.max() - logs.min())
    steps = np.zeros(len(places), dtype=np.int64)
    if width > 0:
        steps = np.minimum(((logs - logs.min()) / width * levels).astype(np.int64), levels - 1)
    for step in np.unique(steps):
        group = places[steps == step]
        rounded[group] = shares[group].mean()
    return rounded
