"""Calibration: temperatures by which probabilities become as sure as they are right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from graphveil.graphs.part import Group

Rows = NDArray[np.float64]
# Below this a probability counts as this, so that its logarithm is finite.
SMALLEST = 1e-9
# A bin has a temperature of its own where so many users judge it, and there are no more bins than this.
USERS_A_BIN, MOST_BINS = 150, 6
# Logarithms of temperatures are taken to be normal, the pooled one around 0 and those of bins around the pooled one.
POOLED_SPREAD, BIN_SPREAD = 1.0, 0.3
# Temperatures are searched between 1/32 and 32.
WIDEST = float(np.log(32.0))


@dataclass(frozen=True)
class Temperatures:
    """A temperature for each bin of some number that all users have: bin b ends below ``edges[b]``."""

    edges: NDArray[np.float64]
    values: NDArray[np.float64]

    def of(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The temperature of each user."""
        each: NDArray[np.float64] = self.values[bins_of(numbers, self.edges)]
        return each


def tempered(rows: NDArray[np.floating], temperatures: NDArray[np.float64], *, several: bool = False) -> Rows:
    """Return probabilities to the power 1/T, made to sum to one again.

    Parameters
    ----------
    rows
        Probabilities: (users, classes).
    temperatures
        T for each row: (users,) float64.
    several
        Whether users have several labels each: every label and its absence are made to sum to one.

    >>> tempered(np.array([[0.2, 0.8]]), np.array([0.5])).round(4).tolist()
    [[0.0588, 0.9412]]
    """
    wide = np.clip(rows.astype(np.float64), SMALLEST, 1.0)
    if several:
        absent = np.clip(1 - rows.astype(np.float64), SMALLEST, 1.0)
        odds = (np.log(wide) - np.log(absent)) / temperatures[:, None]
        rates: Rows = 1 / (1 + np.exp(-odds))
        return rates
    powers = np.log(wide) / temperatures[:, None]
    weights = np.exp(powers - powers.max(axis=1, keepdims=True))
    shares: Rows = weights / weights.sum(axis=1, keepdims=True)
    return shares


def log_losses(rows: Rows, labels: NDArray[np.int64], transition: Rows | None = None) -> Rows:
    """Return the loss of each user, in nats: (users,) float64.

    Parameters
    ----------
    rows
        Probabilities: (users, classes).
    labels
        The class of each user, (users,) int64; or (users, labels) of 0 and 1, where the loss is the mean of
        all labels.
    transition
        (c, c), where labels are reports: the loss is that of the report that the class makes likely.
    """
    if labels.ndim == 2:
        right = np.where(labels > 0, rows, 1 - rows)
        several: Rows = -np.log(np.maximum(right, SMALLEST)).mean(axis=1)
        return several
    predicted = rows if transition is None else rows @ transition
    one: Rows = -np.log(np.maximum(predicted[np.arange(len(labels)), labels], SMALLEST))
    return one


def bins_of(numbers: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """The bin of each number."""
    return np.searchsorted(edges, numbers, side="right").astype(np.int64)


def bin_edges(numbers: NDArray[np.float64], users_a_bin: int = USERS_A_BIN) -> NDArray[np.float64]:
    """The edges that divide the users who judge into bins of about the same size: none where they are few."""
    count = min(MOST_BINS, max(1, len(numbers) // users_a_bin))
    return np.unique(np.quantile(numbers, np.arange(1, count) / count)) if count > 1 else np.empty(0)


def fit_temperatures(
    rows: NDArray[np.floating],
    labels: NDArray[np.int64],
    numbers: NDArray[np.float64],
    edges: NDArray[np.float64],
    transition: Rows | None = None,
) -> Temperatures:
    """Fit the temperatures by which probabilities lose least against labels, one for each bin of users.

    Each is the likeliest one where its logarithm is normal beforehand (`BIN_SPREAD`), so that a bin which
    says little keeps the pooled temperature, and few users keep 1.

    Parameters
    ----------
    rows
        Probabilities: (m, c).
    labels
        (m,) int64, or (m, labels) of 0 and 1.
    numbers
        The number by which each user is put into a bin: (m,) float64.
    edges
        The edges between bins.
    transition
        (c, c), where labels are reports.
    """

    def loss_of(chosen: NDArray[np.int64]) -> Callable[[float], float]:
        part, of_part = rows[chosen], labels[chosen]

        def loss(log_temperature: float) -> float:
            same = np.full(len(part), np.exp(log_temperature))
            warm = tempered(part, same, several=labels.ndim == 2)
            return float(log_losses(warm, of_part, transition).sum())

        return loss

    pooled = _likeliest(loss_of(np.arange(len(rows))), 0.0, POOLED_SPREAD)
    if not len(edges):
        return Temperatures(edges, np.exp([pooled]))
    bins = bins_of(numbers, edges)
    members = (np.flatnonzero(bins == place) for place in range(len(edges) + 1))
    return Temperatures(edges, np.exp([_likeliest(loss_of(each), pooled, BIN_SPREAD) for each in members]))


def calibrated(
    rows: NDArray[np.floating],
    labels: NDArray[np.int64],
    numbers: NDArray[np.float64],
    judges: Group,
    transition: Rows | None = None,
) -> tuple[Rows, Temperatures]:
    """Calibrate probabilities in bins of a number a user, on the labels of those who judge.

    Judges are divided into two halves, and the rows of each are calibrated on the labels of the other, so
    that nobody's own label is in their row. Everybody else has the temperatures that all judges give, which
    are returned too.

    Parameters
    ----------
    rows
        Probabilities of n users: (n, c).
    labels
        Labels; only those of judges are read.
    numbers
        The number by which each user is put into a bin: (n,) float64.
    judges
        The users who judge.
    transition
        (c, c), where labels are reports.
    """
    theirs, their_labels, their_numbers = (judges.rows(array) for array in (rows, labels, numbers))
    edges = bin_edges(their_numbers)
    # Every other judge in the order of their numbers: both halves have as many users of each bin.
    order = np.argsort(their_numbers, kind="stable")
    halves = order[::2], order[1::2]

    def fitted(chosen: NDArray[np.int64]) -> Temperatures:
        of_chosen = theirs[chosen], their_labels[chosen], their_numbers[chosen]
        return fit_temperatures(*of_chosen, edges, transition)

    everything = fitted(np.arange(judges.size))
    of_judges = np.empty(judges.size)
    for half, other in (halves, halves[::-1]):
        of_judges[half] = fitted(other).of(their_numbers[half])
    each = everything.of(numbers)
    each[judges.users] = of_judges[judges.places]
    return tempered(rows, each, several=labels.ndim == 2), everything


def _likeliest(loss: Callable[[float], float], centre: float, spread: float) -> float:
    """The logarithm of a temperature of the least loss, where it is normal beforehand."""
    found = minimize_scalar(
        lambda value: loss(value) + (value - centre) ** 2 / (2 * spread**2),
        bounds=(-WIDEST, WIDEST),
        method="bounded",
        options={"xatol": 1e-3},
    )
    return float(found.x)
