"""Posteriors from answers about classes: tables of answers, evidence spread along edges and weighed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array, diags_array
from scipy.special import log_softmax, softmax

from graphveil.graphs.graph import Graph
from graphveil.graphs.part import GraphPart, Group
from graphveil.learn.calibration import bin_edges, bins_of, log_losses
from graphveil.learn.public_model import fit_logistic
from graphveil.linear.propagation import scaled_matrix
from graphveil.linear.sparse import SparseMatrix

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Gather = Callable[[NDArray[Any]], NDArray[Any]]

# A bin of certainty has a table of its own where so many users judge it.
USERS_A_BIN = 250
# So many users' worth a table counts beforehand: the pooled one as flat, those of bins as the pooled one.
STRENGTH = 20.0
# Rounds in which tables are fitted to labels that were reported.
ROUNDS = 30


@dataclass(frozen=True, eq=False)
class ClassAnswers:
    """Questions to some users and their answers: lists of classes (users x K), and the place that each reported.

    ``certainty`` is how likely the likeliest class of each was; ``least`` is what any answer has for a chance by the channel.
    """

    users: Whole
    lists: Whole
    places: Whole
    certainty: Floats
    least: float

    def ranks(self, classes: int) -> Whole:
        """Return the position of each class in each list, (users, classes) int; K for a class that is not listed."""
        ranks = np.full((len(self.users), classes), self.lists.shape[1])
        np.put_along_axis(ranks, self.lists, np.arange(self.lists.shape[1])[None, :], axis=1)
        return ranks


@dataclass(frozen=True, eq=False)
class JudgedAnswers:
    """Answers beside the classes that they may tell of: ``answers`` are places among those asked, ``likely`` what is known of
    each class (pairs x classes: a 1 where it is known, else the chances that a report leaves), ``folds`` 0 or 1."""

    answers: Whole
    likely: Floats
    folds: Whole


def class_evidence(
    asked: ClassAnswers, judged: JudgedAnswers, classes: int, told: ClassAnswers | None = None
) -> tuple[Floats, Floats]:
    """Return the log-likelihood of each answer under each class (users asked x classes), centred at 0.

    The first array has two such matrices: by judges of fold 1 (for users of fold 0), and by those of fold 0
    (for users of fold 1). The second is one matrix, by all judges.

    Parameters
    ----------
    asked
        The answers to decode.
    judged
        The answers whose users' classes are known or likely.
    classes
        The number of classes.
    told
        The answers that are judged, where these are not all among ``asked``.
    """
    told = asked if told is None else told
    edges = bin_edges(told.certainty[judged.answers], USERS_A_BIN)
    ranks, bins = asked.ranks(classes), bins_of(asked.certainty, edges)
    told_ranks, told_bins = told.ranks(classes), bins_of(told.certainty, edges)

    def decoded(chosen: Whole) -> Floats:
        tables = _tables(told, judged, chosen, told_ranks, told_bins, len(edges) + 1)
        logs = np.log(tables[bins[:, None], ranks, asked.places[:, None]])
        centred: Floats = logs - logs.mean(axis=1, keepdims=True)
        return centred

    by_fold = [decoded(np.flatnonzero(judged.folds != fold)) for fold in (0, 1)]
    return np.stack(by_fold), decoded(np.arange(len(judged.answers)))


def _tables(
    asked: ClassAnswers, judged: JudgedAnswers, chosen: Whole, ranks: Whole, bins: Whole, count: int
) -> Floats:
    """P(place | rank) for each bin (bins x ranks x places), by expectation and maximisation where classes are not certain."""
    width = asked.lists.shape[1]
    answers, likely = judged.answers[chosen], judged.likely[chosen]
    own_ranks, own_places, own_bins = ranks[answers], asked.places[answers], bins[answers]
    certain = bool(((likely == 0) | (likely == 1)).all())
    tables = np.full((count, width + 1, width), 1 / width)
    for _ in range(1 if certain else ROUNDS):
        chances = likely * tables[own_bins[:, None], own_ranks, own_places[:, None]]
        chances /= np.maximum(chances.sum(axis=1, keepdims=True), 1e-300)
        places = (own_bins[:, None] * (width + 1) + own_ranks) * width + own_places[:, None]
        counts = np.bincount(places.ravel(), chances.ravel(), minlength=tables.size).reshape(tables.shape)
        pooled = counts.sum(axis=0) + STRENGTH / width
        pooled /= pooled.sum(axis=1, keepdims=True)
        tables = counts + STRENGTH * pooled
        tables /= tables.sum(axis=2, keepdims=True)
        tables = np.maximum(tables, asked.least)
        tables /= tables.sum(axis=2, keepdims=True)
    return tables


# Probabilities below this count as this.
SMALLEST = 1e-6
# What is tried in spreading: how much evidence counts, and how much neighbours do.
EVIDENCE_WEIGHTS = (0.3, 0.5, 0.7, 1.0, 1.4)
NEIGHBOUR_WEIGHTS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
SPREADING = ("both", "root")
# Steps of spreading, each of which goes half the way.
STEPS, DAMPING = 6, 0.4
FOLDS = 5
# How strongly weights keep to those of the spread, and the inverse penalty of weights for each class.
RIDGE = 1.0
PENALTY, ITERATIONS = 0.3, 100
# Weights for each class need so many validation users, and see what counts for the class itself alone: the prior, what the spread
# adds to it, and one's own answer.
MANY_JUDGES, OWN = 1000, 3
# How many standard errors lower a loss must be before answers are used.
CLEARLY = 2.0


@dataclass(frozen=True, eq=False)
class ValidationUsers:
    """Validation users of all workers: who, their labels, which of two halves each belongs to, and how labels were reported, if
    they were."""

    group: Group
    labels: NDArray[np.int64]
    folds: NDArray[np.int64]
    transition: Floats | None

    @property
    def users(self) -> NDArray[np.int64]:
        """Those who are here."""
        return self.group.users

    def losses(self, rows: Floats) -> Floats:
        """The loss of each, from the probabilities of everybody who is here."""
        return log_losses(self.group.rows(rows), self.labels, self.transition)


@dataclass(frozen=True, eq=False)
class PosteriorCandidate:
    """Probabilities with answers (n x C), those that they are to be compared with, and how they came about."""

    rows: Floats
    beside: Floats
    detail: str


def edge_operators(graph: Graph) -> dict[str, Any]:
    """Return the matrices by which neighbours are combined, by name.

    ``mean`` is the mean of the neighbours, ``both`` their sum over the roots of both degrees, and ``root``
    their sum over the root of one's own degree.
    """
    if isinstance(graph, GraphPart) and graph.on_disk:
        powers = {"mean": (1.0, 0.0), "both": (0.5, 0.5), "root": (0.5, 0.0)}
        return {name: _OnDisk(scaled_matrix(graph, *power)) for name, power in powers.items()}
    if isinstance(graph, GraphPart):
        gather = graph.neighbourhood.gather
        found = _operators(graph.neighbourhood.pattern, gather)
        return {name: _Gathering(matrix, gather) for name, matrix in found.items()}
    weights = np.ones(len(graph.indices)) if graph.weights is None else graph.weights
    return _operators(csr_array((weights, graph.indices, graph.indptr), shape=(graph.node_count,) * 2))


def _operators(matrix: Any, gather: Gather = lambda rows: rows) -> dict[str, Any]:
    """The three matrices from that of the links, in which rows are users who are here and columns those users and their neighbours."""
    degrees = np.maximum(np.asarray(matrix.sum(axis=1)).ravel(), 1.0)
    root, others = diags_array(degrees**-0.5), diags_array(gather(degrees**-0.5))
    found = {
        "mean": diags_array(1 / degrees) @ matrix,
        "both": root @ matrix @ others,
        "root": root @ matrix,
    }
    return {name: each.tocsr().astype(np.float32) for name, each in found.items()}


@dataclass(frozen=True, eq=False)
class _Gathering:
    """A worker's rows of a matrix over all users: the rows of neighbours elsewhere are fetched before a product."""

    matrix: Any
    gather: Gather

    def __matmul__(self, rows: NDArray[Any]) -> Any:
        return self.matrix @ self.gather(rows)


@dataclass(frozen=True, eq=False)
class _OnDisk:
    """A matrix whose entries stay on disk, for arrays; in single precision, as the others are."""

    matrix: SparseMatrix

    def __matmul__(self, rows: NDArray[Any]) -> Any:
        single = torch.from_numpy(np.ascontiguousarray(rows, dtype=np.float32))
        return self.matrix.multiply(single).numpy().astype(rows.dtype)


def with_answers(
    graph: Graph, prior: Floats, evidence: Floats, by_fold: Floats, judges: ValidationUsers
) -> list[PosteriorCandidate]:
    """Return everybody's posterior, in several ways; the one with the lowest loss comes first.

    The ways are the spread, weights that all classes share, and with many judges weights for each class, if
    they have the lowest loss; weights are to be compared with such weights of the prior alone.

    Parameters
    ----------
    prior
        The probabilities before answers: (n, C).
    evidence
        The log-likelihoods of answers: (n, C).
    by_fold
        The same without the labels of one half of the judges each: (2, n, C). A judge's own evidence never
        rests on that judge's label. (What neighbours' answers say rests on tables in which it is one of
        many.)
    judges
        The validation users who choose.
    """
    prior = np.maximum(prior, SMALLEST)
    prior /= prior.sum(axis=1, keepdims=True)
    operators = edge_operators(graph)
    own = evidence.copy()
    for fold in (0, 1):
        chosen = judges.users[judges.folds[judges.group.places] == fold]
        own[chosen] = by_fold[fold][chosen]
    rows, detail = _best_spread(prior, own, operators, judges)
    features = _features(prior, own, rows, operators)
    ways = [
        PosteriorCandidate(rows, prior, detail),
        PosteriorCandidate(
            _weighed(features, judges), _weighed(features[:, :, :1], judges), f"{detail}, weighed"
        ),
    ]
    if judges.group.size >= MANY_JUDGES and judges.transition is None:
        each = _by_class(features[:, :, :OWN].reshape(len(features), -1), judges, prior.shape[1])
        least = min(float(judges.losses(way.rows).mean()) for way in ways)
        if float(judges.losses(each).mean()) < least:
            alone = _by_class(np.log(prior), judges, prior.shape[1])
            ways.append(PosteriorCandidate(each, alone, f"{detail}, weighed by class"))
    return sorted(ways, key=lambda way: float(judges.losses(way.rows).mean()))


def clearly_better(
    answered: PosteriorCandidate, judges: ValidationUsers, metric: Callable[[Floats], float], before: float
) -> bool:
    """Return whether answers lower the validation loss by more than chance would, without lowering the metric.

    With fewer than two judges chance cannot be measured, and the answer is no.

    Parameters
    ----------
    answered
        The probabilities with answers, and those to compare them with.
    judges
        The validation users.
    metric
        The metric of probabilities.
    before
        The metric without answers.
    """
    if judges.group.size < 2:
        return False
    fewer = judges.losses(answered.beside) - judges.losses(answered.rows)
    error = float(fewer.std()) / np.sqrt(len(fewer))
    return bool(float(fewer.mean()) > CLEARLY * error and metric(answered.rows) >= before)


def spread_evidence(prior: Floats, evidence: Floats, operator: Any, neighbours: float) -> Floats:
    """Return b = softmax(log q + L + β·W(b - q)), a step at a time.

    What neighbours' answers have changed counts for one's own class. In single precision: it is done for many
    weights, and only the best is kept.

    Parameters
    ----------
    prior
        q: (n, C).
    evidence
        L, the log-likelihoods of answers: (n, C).
    operator
        W: see `edge_operators`.
    neighbours
        The weight β of neighbours.
    """
    base = (np.log(prior) + evidence).astype(np.float32)
    # Made as the rows are, so that where nothing was answered nothing changes at all.
    before = _softmax(np.log(prior).astype(np.float32))
    rows = _softmax(base.copy())
    for _ in range(STEPS if neighbours else 0):
        moved = operator @ (rows - before)
        moved *= np.float32(neighbours)
        moved += base
        rows += np.float32(1 - DAMPING) * (_softmax(moved) - rows)
    wide: Floats = rows.astype(np.float64)
    wide /= wide.sum(axis=1, keepdims=True)
    return wide


def _softmax(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Shares of each row, in place; few columns are gone through one by one, which is faster than along rows."""
    top = scores[:, 0].copy()
    for column in range(1, scores.shape[1]):
        np.maximum(top, scores[:, column], out=top)
    scores -= top[:, None]
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores


def _best_spread(
    prior: Floats, evidence: Floats, operators: dict[str, Any], judges: ValidationUsers
) -> tuple[Floats, str]:
    """The spread with the lowest loss on validation users: how neighbours count first, then how much answers do, twice."""
    ways = [("mean", 0.0), *((name, weight) for name in SPREADING for weight in NEIGHBOUR_WEIGHTS)]

    @cache
    def loss(weight: float, way: tuple[str, float]) -> float:
        rows = spread_evidence(prior, weight * evidence, operators[way[0]], way[1])
        return float(judges.losses(rows).mean())

    weight = EVIDENCE_WEIGHTS[len(EVIDENCE_WEIGHTS) // 2]
    for _ in range(2):
        way = min(ways, key=lambda each: loss(weight, each))
        weight = min(EVIDENCE_WEIGHTS, key=lambda each: loss(each, way))
        ways = [other for other in ways if other[0] == way[0]]
    name, neighbours = way
    rows = spread_evidence(prior, weight * evidence, operators[name], neighbours)
    return rows, f"answers times {weight:g}, neighbours ({name}) times {neighbours:g}"


def _features(prior: Floats, evidence: Floats, rows: Floats, operators: dict[str, Any]) -> Floats:
    """Numbers that may count for a class of a user (n x C x kinds), centred: the first two add up to the spread's own logarithms."""
    mean, both = operators["mean"], operators["both"]
    before, moved = np.log(prior), rows - prior
    near = mean @ evidence
    step = mean @ moved
    kinds = [
        before,
        np.log(np.maximum(rows, SMALLEST)) - before,
        evidence,
        near,
        mean @ near,
        step,
        mean @ step,
        both @ moved,
        both @ evidence,
    ]
    return np.stack([kind - kind.mean(axis=1, keepdims=True) for kind in kinds], axis=2)


def _for_all(
    rows: Floats,
    own: Floats,
    judges: ValidationUsers,
    predict: Callable[[Floats, NDArray[np.int64], Floats], Floats],
) -> Floats:
    """Probabilities of everybody, by what those who judge teach; for themselves five-fold, by the others of them.

    Parameters
    ----------
    rows, own
        What is known of everybody (n x …), and of those who judge.
    judges
        Those who judge.
    predict
        Makes probabilities from rows and labels to learn from, and rows to predict.
    """
    everybody, folds = predict(own, judges.labels, rows), np.arange(judges.group.size) % FOLDS
    theirs = np.empty((judges.group.size, everybody.shape[1]))
    for fold in range(FOLDS):
        held = folds == fold
        theirs[held] = predict(own[~held], judges.labels[~held], own[held])
    everybody[judges.users] = theirs[judges.group.places]
    return everybody


def _weighed(features: Floats, judges: ValidationUsers) -> Floats:
    """Probabilities by weights that all classes share: a conditional logit, kept near the spread."""
    start = np.zeros(features.shape[2])
    start[:2] = 1.0

    def predict(known: Floats, labels: NDArray[np.int64], rows: Floats) -> Floats:
        weights = _conditional_logit(known, labels, judges.transition, start)
        return np.asarray(softmax(rows @ weights, axis=1))

    return _for_all(features, judges.group.rows(features), judges, predict)


def _conditional_logit(
    features: Floats, labels: NDArray[np.int64], transition: Floats | None, start: Floats
) -> Floats:
    """The weights of the least penalised loss, where reported labels are as likely as the transition makes them."""
    if not len(labels):
        return start
    scale = np.sqrt((features**2).mean(axis=(0, 1))) + 1e-9
    scaled, centre = features / scale, start * scale
    flat, every = scaled.reshape(-1, scaled.shape[2]), np.arange(len(labels))

    def loss(weights: Floats) -> tuple[float, Floats]:
        chances = softmax((flat @ weights).reshape(scaled.shape[:2]), axis=1)
        # How likely the label that came is for each class.
        coming = np.zeros_like(chances) if transition is None else transition[:, labels].T
        if transition is None:
            coming[every, labels] = 1.0
        whole = np.maximum((chances * coming).sum(axis=1, keepdims=True), 1e-300)
        slope = chances - chances * coming / whole
        apart = weights - centre
        value = -np.log(whole).sum() + RIDGE / 2 * (apart**2).sum()
        return float(value), slope.ravel() @ flat + RIDGE * apart

    found: Floats = minimize(loss, centre, jac=True, method="L-BFGS-B").x / scale
    return found


def _by_class(columns: Floats, judges: ValidationUsers, classes: int) -> Floats:
    """Probabilities by weights for each class (multinomial regression)."""
    own = judges.group.rows(columns)
    centre, width = own.mean(axis=0), own.std(axis=0) + 1e-6
    everybody, own = ((rows - centre) / width for rows in (columns, own))
    return _for_all(everybody, own, judges, partial(_regressed, classes=classes))


def _regressed(features: Floats, labels: NDArray[np.int64], of: Floats, *, classes: int) -> Floats:
    rows = np.full((len(of), classes), SMALLEST)
    if len(np.unique(labels)) < 2:
        rows[:, labels[0]] = 1.0
        return rows
    model = fit_logistic(features, labels, PENALTY, ITERATIONS)
    rows[:, model.classes_] = model.predict_proba(of)
    return rows


def log_rows(rows: Floats) -> Floats:
    """Logarithms of probabilities, none of which is too small."""
    return np.asarray(log_softmax(np.log(np.maximum(rows, SMALLEST)), axis=1))
