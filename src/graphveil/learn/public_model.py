"""A public model that gives a class to a row: learned from volunteers' raw rows, or from private reports of others."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import diags_array
from scipy.special import log_softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from graphveil.graphs.collective import SINGLE_PROCESS, Collective

Floats = NDArray[np.float64]

# What is tried on volunteers: inverse weights of the penalty, and what scores are multiplied by.
PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0)
TEMPERATURES = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0)
FOLDS = 5
ITERATIONS = 200
# Classes that a volunteer without a label has with less than this are left out.
LEAST_SHARE = 0.02
# A class that no volunteer is of gets this score: nothing is known that speaks for it.
UNSEEN = -20.0
# Rounds of the fit of a spike and a slab.
SPIKE_ROUNDS = 100
# Digits of a mean product of classes that sums in any order agree in.
GRAM_DIGITS = 9
# What scores of a model that reports have taught are multiplied by. Chosen on validation users of co-cs, co-phy and citeseer (few
# labels) and pubmed, seeds 100 and 101, of 0.15, 0.3, 0.6 and 1.
REPORT_TEMPERATURE = 0.8


@dataclass(frozen=True, eq=False)
class LinearModel:
    """A linear model: scores are ``weights``·x + ``bias`` (classes x values), of the row over its length where ``unit``.

    ``gain`` is what a row tells of its class, in nats, on rows that did not teach it; ``own`` are the scores of those that did,
    each by a model that the others taught, where there are any.
    """

    weights: Floats
    bias: Floats
    unit: bool
    gain: float
    own: Floats | None = None

    def scores(self, rows: Any) -> Floats:
        """The scores of some rows (users x values), dense or sparse."""
        given = unit_rows(rows) if self.unit else rows
        scores: Floats = np.asarray(given @ self.weights.T) + self.bias
        return scores


def unit_rows(rows: Any) -> Any:
    """Rows over their length; rows of zeros stay as they are."""
    squares = rows.multiply(rows).sum(axis=1) if hasattr(rows, "tocsr") else (rows**2).sum(axis=1)
    length = np.sqrt(np.asarray(squares, dtype=np.float64)).ravel()
    length[length == 0] = 1.0
    if not hasattr(rows, "tocsr"):
        return rows / length[:, None]
    scaled = rows.tocsr().astype(np.float64)
    scaled.data /= np.repeat(length, np.diff(scaled.indptr))
    return scaled


def fit_rows(rows: Any, targets: Floats, seed: int) -> LinearModel:
    """Fit a logistic regression to volunteers' rows, whose classes are certain or likely.

    Penalty, temperature and whether rows are divided by their length, or rare values count more, are chosen
    by five-fold cross-validation, by the loss. How common classes are among volunteers is taken out of the
    scores: elsewhere it is another.

    Parameters
    ----------
    rows
        (users, values).
    targets
        The probabilities of the classes: (users, classes).
    """
    prior = _shares(targets)
    folds = np.random.default_rng(seed).permutation(len(targets)) % FOLDS
    best: tuple[float, float, float, str, Floats] | None = None
    rarity, sparse = _rarity(rows), hasattr(rows, "tocsr")
    spaces = {
        "unit": _Space.of(unit_rows(rows)),
        "plain": _Space.of(rows),
        "rare": _Space.of((rows @ diags_array(rarity)).tocsr() if sparse else rows * rarity),
    }
    for kind, space in spaces.items():
        for penalty in PENALTIES:
            raw = np.zeros(targets.shape)
            for fold in range(FOLDS):
                held = folds == fold
                weights, bias = _regression(space.points[~held], targets[~held], penalty)
                raw[held] = space.points[held] @ weights.T + bias
            ratios = log_softmax(raw, axis=1) - np.log(prior)
            for temperature in TEMPERATURES:
                loss = _loss(np.log(prior) + temperature * ratios, targets)
                if best is None or loss < best[0]:
                    best = loss, penalty, temperature, kind, temperature * ratios
    assert best is not None
    loss, penalty, temperature, kind, own = best
    weights, bias = _regression(spaces[kind].points, targets, penalty)
    bias = temperature * (bias - np.log(prior))
    lifted = temperature * spaces[kind].lifted(weights) * (rarity if kind == "rare" else 1.0)
    gain = _loss(np.broadcast_to(np.log(prior), targets.shape), targets) - loss
    return LinearModel(lifted, bias, kind == "unit", gain, own)


def _shares(targets: Floats) -> Floats:
    """Return the share of each class among volunteers, counted from 1 so that none is impossible."""
    shares: Floats = (targets.sum(axis=0) + 1) / (len(targets) + targets.shape[1])
    return shares


def _rarity(rows: Any) -> Floats:
    """log((n+1)/(m+1)) + 1 for a value that m of n rows have (inverse document frequency)."""
    counts = np.asarray((rows != 0).sum(axis=0), dtype=np.float64).ravel()
    return np.asarray(np.log((rows.shape[0] + 1) / (counts + 1)) + 1)


@dataclass(frozen=True, eq=False)
class _Space:
    """Rows in coordinates of their own span: a penalised regression is the same there, with fewer columns."""

    points: Floats
    basis: Any

    @classmethod
    def of(cls, rows: Any) -> _Space:
        gram = np.asarray((rows @ rows.T).todense() if hasattr(rows, "tocsr") else rows @ rows.T, dtype=float)
        values, vectors = np.linalg.eigh(gram)
        kept = values > values.max(initial=0.0) * 1e-10
        roots = np.sqrt(values[kept])
        # rows = points · (vectors / roots)' · rows
        return cls(vectors[:, kept] * roots, (rows.T @ (vectors[:, kept] / roots)).T)

    def lifted(self, weights: Floats) -> Floats:
        """Weights of points as weights of values."""
        lifted: Floats = np.asarray(weights @ self.basis)
        return lifted


def _regression(points: Floats, targets: Floats, penalty: float) -> tuple[Floats, Floats]:
    """Weights (classes x columns) and biases of a multinomial regression on classes that are certain or likely."""
    who, what = np.nonzero(targets >= LEAST_SHARE)
    weights, bias = np.zeros((targets.shape[1], points.shape[1])), np.full(targets.shape[1], UNSEEN)
    if len(np.unique(what)) < 2:
        # Nothing is learned but the classes' shares, which are taken out of the scores again.
        return weights, np.log(_shares(targets))
    # Rows of zeros alone have no column to learn from: what is left are the classes' shares.
    given = points if points.shape[1] else np.zeros((len(points), 1))
    model = fit_logistic(given[who], what, penalty, ITERATIONS, targets[who, what])
    coefficients = model.coef_[:, : points.shape[1]]
    if len(model.classes_) == 2:
        weights[model.classes_] = np.stack([-coefficients[0], coefficients[0]]) / 2
        bias[model.classes_] = np.array([-model.intercept_[0], model.intercept_[0]]) / 2
    else:
        weights[model.classes_], bias[model.classes_] = coefficients, model.intercept_
    return weights, bias


def fit_logistic(
    rows: Floats, labels: Any, penalty: float, iterations: int, weights: Floats | None = None
) -> LogisticRegression:
    """Fit a multinomial regression.

    Parameters
    ----------
    rows
        (users, values).
    labels
        The class of each row: (users,).
    penalty
        The inverse weight of the penalty.
    iterations
        The most iterations.
    weights
        By how much each row counts: (users,).
    """
    with warnings.catch_warnings():
        # A penalty that is hardly there is never quite at its end, and another is chosen where that matters.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(C=penalty, max_iter=iterations)
        return model.fit(rows, labels, sample_weight=weights)


def _loss(scores: Floats, targets: Floats) -> float:
    return float(-(targets * log_softmax(scores, axis=1)).sum(axis=1).mean())


@dataclass(frozen=True, eq=False)
class Means:
    """The distance of each class's mean row from that of all (classes x values), as far as reports tell it from noise.

    ``signal`` says how much more than noise the reports have to say, in numbers of noise: 0 where it is all noise.
    """

    centre: Floats
    apart: Floats
    signal: float


def learn_means(
    reports: Any, likely: Floats, noise: Floats, collective: Collective = SINGLE_PROCESS
) -> Means:
    """Estimate the mean rows of classes from unbiased reports of users whose classes are likely.

    Reports are regressed on the classes. In the eigenbasis of the classes' Gram matrix the errors of
    different rows are independent, with known variances: each row is shrunk by a spike and a slab.

    Parameters
    ----------
    reports
        (users, values).
    likely
        The probabilities of the classes: (users, classes).
    noise
        The variance of each value: (values,).
    collective
        The workers; users of all of them count.
    """
    about = likely - column_means(likely, collective)
    users = max(int(collective.sum(np.array([len(likely)]))[0]), 1)
    # Classes that are equally common have no directions of their own: without this a last digit would choose them.
    gram = np.round(collective.sum(about.T @ about) / users, GRAM_DIGITS) * users
    values, vectors = np.linalg.eigh(gram)
    kept = values > max(values.max(initial=0.0) * 1e-6, 1e-9)
    values, vectors = values[kept], vectors[:, kept]
    found = collective.sum(np.asarray((reports.T @ (about @ vectors)).T)) / values[:, None]
    errors = noise / values[:, None]
    shrunk = np.array(list(map(_spike_and_slab, found, errors))).reshape(found.shape)
    signal = max(float((found**2 / errors - 1).sum()), 0.0)
    return Means(column_means(reports, collective), vectors @ shrunk, signal)


def column_means(rows: Any, collective: Collective = SINGLE_PROCESS) -> Floats:
    """The mean of each column of rows (dense or sparse), over those of all workers."""
    if collective.size == 1:
        return np.asarray(rows.mean(axis=0), dtype=np.float64).ravel()
    sums = collective.sum(np.asarray(rows.sum(axis=0), dtype=np.float64).ravel())
    return np.asarray(sums / max(int(collective.sum(np.array([rows.shape[0]]))[0]), 1))


def _spike_and_slab(found: Floats, error: Floats) -> Floats:
    """Posterior means of numbers that are 0 or normal, and were found with normal errors of known variances."""
    slab = max(float((found**2 - error).mean()), 1e-3 * float(error.mean())) * 2
    share = 0.5
    with np.errstate(over="ignore"):
        for _ in range(SPIKE_ROUNDS):
            whole = error + slab
            apart = np.log(whole / error) + found**2 * (1 / whole - 1 / error)
            odds = np.log(share / (1 - share)) - apart / 2
            held = 1 / (1 + np.exp(-odds))
            share = float(np.clip(held.mean(), 0.01, 0.99))
            excess = float((held * (found**2 - error)).sum() / max(held.sum(), 1e-9))
            slab = max(excess, 1e-4 * float(error.mean()))
    shrunk: Floats = held * found * slab / (slab + error)
    return shrunk


def model_of_means(means: Means, spread: Floats, unit: bool) -> LinearModel:
    """Return the model of rows that are normal around the mean of their class.

    Parameters
    ----------
    means
        The mean rows of the classes.
    spread
        The variances, the same in all classes: (values,).
    """
    weights = REPORT_TEMPERATURE * means.apart / spread
    bias = -(weights * (means.centre + means.apart / 2)).sum(axis=1)
    gain = float((means.apart**2 / spread).sum(axis=1).mean() / 2)
    return LinearModel(weights, bias, unit, gain)
