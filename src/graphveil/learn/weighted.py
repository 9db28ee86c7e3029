"""A graph whose links have weights, made ready for layers; and how the weights are learned with a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from graphveil.learn.backbones import Backbone
from graphveil.learn.targets import SeveralTargets, Targets
from graphveil.learn.topology import Topology
from graphveil.learn.training import Adam, Best, Fitted, Progress, Schedule
from graphveil.linear.pairs import LearnedMatrix, PairPattern
from graphveil.linear.polynomial import Input
from graphveil.linear.sparse import SparseMatrix


class WeightedTopology(Topology):
    """The forms that layers want, of a graph whose links have weights. Attention weighs the links with a weight itself.

    ``weights`` has a number for each pair of ``pattern``; the matrices are n x n.
    """

    def __init__(self, pattern: PairPattern, weights: Tensor) -> None:
        self.pattern, self.weights, self.device = pattern, weights.detach(), pattern.device

    @cached_property
    def gcn(self) -> SparseMatrix:
        """D^-1/2 (A + I) D^-1/2."""
        return self.pattern.matrix(self.pattern.gcn(self.weights))

    @cached_property
    def unlooped(self) -> SparseMatrix:
        """D^-1/2 A D^-1/2."""
        return self.pattern.matrix(self.pattern.unlooped(self.weights))

    @cached_property
    def sum(self) -> SparseMatrix:
        """A + I."""
        return self.pattern.matrix(self.pattern.entries(self.weights, 1.0))

    @cached_property
    def mean(self) -> SparseMatrix:
        """D^-1 A."""
        return self.pattern.matrix(*self.pattern.mean(self.weights))

    @cached_property
    def looped_edges(self) -> Tensor:
        """The links with a weight in both directions and a loop at every user (2 x entries)."""
        there = self.pattern.entries(self.weights, 1.0) > 0
        return torch.stack([self.pattern.columns[there], self.pattern.rows[there]]).long()


class LearnedTopology(WeightedTopology):
    """The same for a GCN alone, with a gradient for the weights."""

    def __init__(self, pattern: PairPattern, weights: Tensor) -> None:
        super().__init__(pattern, weights)
        self.learned = weights

    @property
    def gcn(self) -> LearnedMatrix:  # type: ignore[override]
        """D^-1/2 (A + I) D^-1/2."""
        return self._gcn

    @cached_property
    def _gcn(self) -> LearnedMatrix:
        return LearnedMatrix(self.pattern, self.pattern.gcn(self.learned))


@dataclass(frozen=True)
class LinkObjective:
    """What weights w of reported pairs cost besides the model's loss: ``pull``·(w - reported)² + ``shrink``·w a pair.

    ``reported`` has a number for each of m pairs, and so have weights and gradients.
    """

    reported: Tensor
    pull: float
    shrink: float

    def rest(self) -> Tensor:
        """The best weights as far as nothing else matters: a soft threshold of what was reported."""
        if self.pull == 0:
            return self.reported
        return (self.reported - self.shrink / (2 * self.pull)).clamp(min=0.0)

    def step(self, weights: Tensor, gradient: Tensor, rate: float) -> Tensor:
        """One proximal gradient step: down the smooth part, soft threshold, back into [0, 1]."""
        smooth = weights - rate * (gradient + 2 * self.pull * (weights - self.reported))
        return (smooth - rate * self.shrink).clamp_(0.0, 1.0)


@dataclass(frozen=True)
class Turns:
    """How model and weights take turns: a step for the weights after every ``every`` epochs, of this rate."""

    every: int
    rate: float


def fit_with_links(
    model: Backbone,
    inputs: Callable[[Topology], Input],
    topology: WeightedTopology,
    targets: Targets | SeveralTargets,
    objective: LinkObjective,
    turns: Turns,
    schedule: Schedule,
    progress: Progress | None = None,
) -> tuple[Fitted, Tensor]:
    """Train a GCN and the weights of its links in turn, from those of ``topology``; the best scores and weights.

    The best are those of the epoch with the lowest validation loss: scores n x c, and a weight for each of m pairs.
    ``inputs`` makes the input (n x d) from a topology: denoising runs over the current weights too, but has no gradient for them.
    """
    best, step = Best(targets, schedule, progress), Adam(model, schedule.lr, schedule.weight_decay)
    pattern, weights = topology.pattern, topology.weights
    kept = weights
    features = inputs(topology)
    for epoch in range(schedule.epochs):
        if epoch and epoch % turns.every == 0 and turns.rate > 0:
            gradient = weight_gradient(model, features, pattern, weights, targets)
            weights = objective.step(weights, gradient, turns.rate)
            topology = WeightedTopology(pattern, weights)
            features = inputs(topology)
        hidden = model.first(features, topology)
        model.train()
        loss = targets.train_loss(model.second(hidden, topology))
        with torch.no_grad():
            model.eval()
            scores = model.second(hidden, topology)
        if best.keep(epoch, scores, hidden):
            kept = weights
        if best.enough(epoch):
            break
        step(loss)
    return best.fitted(), kept


def weight_gradient(
    model: Backbone,
    inputs: Input,
    pattern: PairPattern,
    weights: Tensor,
    targets: Targets | SeveralTargets,
) -> Tensor:
    """How the loss of all training users together changes with each of m weights (m numbers), for inputs of n x d.

    Together and not on average: a weight matters to the few users around it, however many others there are.
    """
    model.eval()
    asked = weights.detach().requires_grad_()
    topology = LearnedTopology(pattern, asked)
    loss = targets.train_loss(model(inputs, topology)) * int(targets.train.sum())
    return torch.autograd.grad(loss, asked)[0]
