"""What a model learns towards: labels that are known, or labels that were reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from graphveil.graphs.world import ALONE, World
from graphveil.linear.polynomial import Polynomial

# Below this a probability counts as this, so that its logarithm is finite.
SMALLEST = 1e-12


class Goal(Protocol):
    """What a training loop needs to know: losses, and how good a model is, from what it gives for all users."""

    def train_loss(self, scores: Tensor) -> Tensor:
        """What training makes small."""

    def validation_loss(self, scores: Tensor) -> Tensor:
        """What is smallest at the best epoch."""

    def validation_score(self, scores: Tensor) -> float:
        """How good that is, 0..1."""


@dataclass(frozen=True)
class Targets:
    """What the server may learn from: labels (n numbers, -1 where it knows none) and who trains and validates (n x bool).

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
    world: World = field(default=ALONE, kw_only=True)

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
        if self.world.size == 1:
            return loss(rows, labels)
        count = int(self.world.sum(np.array([len(labels)]))[0])
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
        return add_up(loss, self.world)

    def validation_score(self, scores: Tensor) -> float:
        """How many validation users are predicted as they say (as they report, where labels are private)."""
        right = scores[self.validation_rows].argmax(1) == self.labels[self.validation_rows]
        if self.world.size == 1:
            return float(right.float().mean())
        hits, count = self.world.sum(np.array([int(right.sum()), len(right)]))
        return float(hits / count)


@dataclass(frozen=True)
class DropTargets(Targets):
    """Drop (Sajadmanesh and Gatica-Perez 2021): reported labels are propagated, and so are predictions.

    ``hops`` spreads the reports of training and validation users over the graph; where the most of one class arrives, that
    class is the target of a training user. Predictions take the same way: p ← hops(p · transition), made to sum to one.
    A user without neighbours keeps the own report as target. Validation compares with the reports themselves. ``hops`` is a
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


def add_up(value: Tensor, world: World) -> Tensor:
    """The sum over all workers, without a gradient; the value itself where there is one worker."""
    if world.size == 1:
        return value
    return torch.from_numpy(world.sum(value.detach().cpu().numpy())).to(value)


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
