"""The goals that models learn towards: one class, several labels, several tasks, links; known or reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from graphveil import linear
from graphveil.graphs.collective import SINGLE_PROCESS, Collective
from graphveil.graphs.graph import Graph
from graphveil.graphs.links import LinkPairs
from graphveil.graphs.metrics import area_under_curve, micro_f1
from graphveil.linear.sparse import Device, Polynomial

# Below this a probability counts as this, so that its logarithm is finite.
SMALLEST = 1e-12


class Goal(Protocol):
    """The goal of a training loop: losses, and how good a model is, from what it gives for all users."""

    def train_loss(self, scores: Tensor) -> Tensor:
        """The loss that training makes small."""

    def validation_loss(self, scores: Tensor) -> Tensor:
        """The loss that is smallest at the best epoch."""

    def validation_score(self, scores: Tensor) -> float:
        """Return the score on what validates, 0..1."""


@dataclass(frozen=True)
class Targets:
    """Labels that the server may learn from (n numbers, -1 where it knows none) and who trains and validates (n x bool).

    Scores have a row a user and a column a class, n x c; ``transition`` is c x c.
    ``transition`` says how reported labels come about: the probability of reporting j (column) for the true class i (row).
    With it the loss is forward corrected (Patrini et al. 2017): predictions go through the transition before they are
    compared with the reports, so that a model of the true classes has the smallest loss. Validation does the same.

    Where several workers hold a part of the users each, a training loss is this worker's share of the mean over all of them, so
    that losses and gradients of all workers add up to those of everybody; what validates is everybody's for each of them.
    """

    labels: Tensor
    train: Tensor
    validation: Tensor
    transition: Tensor | None = None
    collective: Collective = field(default=SINGLE_PROCESS, kw_only=True)

    @cached_property
    def train_rows(self) -> Tensor:
        """The numbers of the training users: found once, while a mask is searched whenever it is used."""
        return self.train.nonzero().ravel()

    @cached_property
    def validation_rows(self) -> Tensor:
        """The numbers of the validation users."""
        return self.validation.nonzero().ravel()

    def loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        """The mean loss of m rows of scores (m x c) against m labels; of several workers, each one's share of it."""
        if self.transition is None:
            return self._mean(functional.cross_entropy, scores, labels)
        return self._mean(functional.nll_loss, log(scores.softmax(1) @ self.transition), labels)

    def _mean(self, loss: Callable[..., Tensor], rows: Tensor, labels: Tensor) -> Tensor:
        if self.collective.size == 1:
            return loss(rows, labels)
        count = int(self.collective.sum(np.array([len(labels)]))[0])
        return loss(rows, labels, reduction="sum") / count

    def probabilities(self, scores: Tensor) -> Tensor:
        """The probability of each class for each user, n x c."""
        return scores.softmax(1)

    def train_loss(self, scores: Tensor) -> Tensor:
        """The loss of the training users, given the scores of all users."""
        return self.loss(scores[self.train_rows], self.labels[self.train_rows])

    def validation_loss(self, scores: Tensor) -> Tensor:
        """The loss of the validation users, given the scores of all users."""
        loss = self.loss(scores[self.validation_rows], self.labels[self.validation_rows])
        return add_up(loss, self.collective)

    def validation_score(self, scores: Tensor) -> float:
        """Return the share of validation users whose label (or report, where labels are private) is predicted."""
        right = scores[self.validation_rows].argmax(1) == self.labels[self.validation_rows]
        if self.collective.size == 1:
            return float(right.float().mean())
        hits, count = self.collective.sum(np.array([int(right.sum()), len(right)]))
        return float(hits / count)


@dataclass(frozen=True)
class DropTargets(Targets):
    """Drop (Sajadmanesh and Gatica-Perez 2021): reported labels are propagated, and so are predictions.

    ``hops`` spreads the reports of training and validation users over the graph; where the most of one class arrives, that
    class is the target of a training user. Predictions take the same way: p ← hops(p · transition), made to sum to one.
    A user without neighbours keeps their report as target. Validation compares with the reports themselves. ``hops`` is a
    map of n x c, ``spread_labels`` has n classes.
    """

    hops: Polynomial | None = None
    spread_labels: Tensor | None = None

    def train_loss(self, scores: Tensor) -> Tensor:
        """The loss of the training users, given the scores of all users."""
        assert self.hops is not None and self.spread_labels is not None and self.transition is not None
        reports = scores.softmax(1) @ self.transition
        arriving = (self.hops @ reports)[self.train_rows]
        weight = arriving.sum(1, keepdim=True)
        share = torch.where(weight > 0, arriving / weight.clamp_min(SMALLEST), reports[self.train_rows])
        return self._mean(functional.nll_loss, log(share), self.spread_labels[self.train_rows])


def spread_labels(labels: Tensor, known: Tensor, classes: int, hops: Polynomial) -> Tensor:
    """Return the class of which most arrives at each user, when known labels spread: n numbers.

    A user at whom nothing arrives keeps their label.

    Parameters
    ----------
    labels
        n numbers below ``classes``.
    known
        Whether the label of each user counts.
    hops
        The hops along which labels spread.
    """
    rows = torch.zeros(len(labels), classes, device=labels.device)
    rows[known.nonzero().ravel(), labels[known]] = 1
    arriving = hops @ rows
    return torch.where(arriving.sum(1) > 0, arriving.argmax(1), labels)


def add_up(value: Tensor, collective: Collective) -> Tensor:
    """The sum over all workers, without a gradient; the value itself where there is one worker."""
    if collective.size == 1:
        return value
    return torch.from_numpy(collective.sum(value.detach().cpu().numpy())).to(value)


def true_classes(reported: Tensor, transition: Tensor | None) -> Tensor:
    """Probabilities of the true classes (n x c) from those of reported ones (n x c): the transition undone, within 0 and 1.

    The transition (c x c) must be given in double precision: at small budgets its rows are nearly equal.
    """
    if transition is None:
        return reported
    undone: Tensor = torch.linalg.solve(transition, reported.double(), left=False)
    rows = undone.clamp_min(SMALLEST)
    return (rows / rows.sum(1, keepdim=True)).to(reported)


def log(probabilities: Tensor) -> Tensor:
    """The logarithm, finite at 0."""
    return torch.log(probabilities.clamp_min(SMALLEST))


@dataclass(frozen=True)
class MultilabelTargets(Targets):
    """Labels are n x L, each 0 or 1; a row is -1 where it is not known. Scores are n x L, each the log-odds of one label.

    The loss is the binary cross-entropy, averaged over users and labels. A label is predicted where its sigmoid is above one
    half, and the score is the F1 over all users and labels at once (micro-F1).
    """

    def loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        """The mean loss of m rows of scores (m x L) against m rows of labels."""
        return functional.binary_cross_entropy_with_logits(scores, labels.to(scores))

    def probabilities(self, scores: Tensor) -> Tensor:
        """The probability of each label of each user, n x L."""
        return scores.sigmoid()

    def validation_score(self, scores: Tensor) -> float:
        """The micro-F1 of the validation users."""
        predicted, held = (rows[self.validation_rows] > 0 for rows in (scores, self.labels))
        return micro_f1(predicted.cpu().numpy(), held.cpu().numpy())


@dataclass(frozen=True)
class SeveralTargets:
    """Two heads (TOGL, Table 13): the last column of the scores predicts a number, all others the classes.

    The loss is that of the classes plus ``weight`` times the mean squared error against what users report of the number (NaN
    for those who did not answer, who do not count). The
    reports are unbiased, so noise moves no minimum: E(p - (y + noise))² = (p - y)² + a constant. The classes
    alone choose the epoch: the noise of the reports would choose another one, for the worse of the classes. Scores are
    n x (c + 1), ``reported`` has n numbers.
    """

    classes: Targets
    reported: Tensor
    weight: float = 1.0

    @property
    def train(self) -> Tensor:
        """The training users."""
        return self.classes.train

    def train_loss(self, scores: Tensor) -> Tensor:
        """Both losses of the training users, given the scores of all users."""
        return self.classes.train_loss(scores[:, :-1]) + self._error(scores, self.classes.train_rows)

    def validation_loss(self, scores: Tensor) -> Tensor:
        """The loss of the validation users' classes."""
        return self.classes.validation_loss(scores[:, :-1])

    def validation_score(self, scores: Tensor) -> float:
        """Return the share of validation users whose class is predicted."""
        return self.classes.validation_score(scores[:, :-1])

    def _error(self, scores: Tensor, rows: Tensor) -> Tensor:
        rows = rows[self.reported[rows].isfinite()]
        if not len(rows):
            return scores.new_zeros(())
        return self.weight * functional.mse_loss(scores[rows, -1], self.reported[rows])


class LinkTargets:
    """Embeddings of all users are decoded by inner products: the larger ⟨H_u, H_v⟩, the likelier a link.

    The loss is pairwise (Wang et al. 2021): every training link is compared with a pair that is none, drawn anew each time,
    and loses log(1 + e^-(difference)). The model is chosen by the area under the ROC curve over the validation pairs.
    ``scores`` are the embeddings H, a row a user: n x h.
    """

    def __init__(self, graph: Graph, device: Device = "cpu") -> None:
        assert graph.links is not None
        self.train = _Pairs(graph.links.train, graph.node_count, device)
        self.validation = _Pairs(graph.links.validation, graph.node_count, device)

    def train_loss(self, scores: Tensor) -> Tensor:
        """The pairwise loss of the training pairs, given the embeddings of all users."""
        linked, unlinked = self.train.scores(scores)
        order = torch.randperm(len(unlinked)).to(scores.device)
        return functional.softplus(unlinked[order] - linked).mean()

    def validation_loss(self, scores: Tensor) -> Tensor:
        """Return 1 minus the area under the curve: what counts in the end, however scores are scaled."""
        return torch.tensor(1 - self.validation_score(scores))

    def validation_score(self, scores: Tensor) -> float:
        """The area under the curve over the validation pairs."""
        with torch.no_grad():
            linked, unlinked = self.validation.scores(scores)
        if not (linked.isfinite().all() and unlinked.isfinite().all()):
            return float("nan")
        wanted = np.arange(len(linked) + len(unlinked)) < len(linked)
        return area_under_curve(torch.cat([linked, unlinked]).cpu().numpy(), wanted)


class _Pairs:
    """Linked pairs and others, in one list."""

    def __init__(self, pairs: LinkPairs, users: int, device: Device) -> None:
        self.linked = len(pairs.linked)
        self.products = linear.PairProducts(np.concatenate([pairs.linked, pairs.unlinked]), users, device)

    def scores(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """The scores of the linked pairs, and of the others."""
        every = self.products(rows)
        return every[: self.linked], every[self.linked :]


class InnerProducts:
    """Σ_j w_j H_uj H_vj for the m pairs that are asked for (m x 2); ``rows`` is H, n x h, and ``weights`` has h numbers."""

    def __init__(self, rows: NDArray[np.float32], weights: NDArray[np.float32] | None = None) -> None:
        self.rows = rows
        self.weights = np.ones(rows.shape[1], dtype=np.float32) if weights is None else weights

    def __call__(self, pairs: NDArray[np.int64]) -> NDArray[np.float32]:
        return linear.weighted_products(self.rows, pairs, self.weights)
