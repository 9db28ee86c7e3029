"""Logistic regression of several classes with an L1 penalty, on a matrix that is only known by its products.

    (1/n) Σ_i ℓ(y_i, W h_i + b) + λ‖W‖₁,   ℓ the softmax cross-entropy   (TOGL, Eq. 7; the intercept b is not penalised)

By FISTA (Beck and Teboulle 2009) with restarts (O'Donoghue and Candès 2015). Columns are centred on the way, which changes
no optimum but the intercept's: then weights and intercept do not disturb each other, and each has its own step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

Product = Callable[[Tensor], Tensor]
# The largest eigenvalue of the softmax's second derivative, diag(p) - ppᵀ.
CURVATURE = 0.5
# Power iteration comes from below: so many rounds, and so much on top.
POWER_ROUNDS, POWER_MARGIN = 30, 1.1
# Weights that move by less than this share of the largest have arrived.
ARRIVED = 1e-5


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows H by their products, H W and Hᵀ V, in double precision; and the classes 0..c-1 of the rows, each of them there."""

    times: Product
    transposed_times: Product
    features: int
    labels: Tensor

    @cached_property
    def members(self) -> Tensor:
        """Rows x classes: 1 where a row is of a class."""
        return functional.one_hot(self.labels).double()

    @cached_property
    def step(self) -> float:
        """1/L, L the Lipschitz constant of the gradient for the weights."""
        start = np.random.default_rng(0).standard_normal((self.features, 1))
        vector, size = torch.from_numpy(start).to(self.labels.device), 0.0
        for _ in range(POWER_ROUNDS):
            vector = self.transposed_times(centred(self.times(vector / vector.norm())))
            size = float(vector.norm())
            if size == 0:
                return 1.0
        return len(self.labels) / (CURVATURE * POWER_MARGIN * size)

    @property
    def strongest(self) -> float:
        """The smallest λ at which all weights are 0."""
        shares = self.members.mean(0)
        return float(self.transposed_times(shares - self.members).abs().max()) / len(self.labels)


@dataclass(frozen=True, eq=False)
class Model:
    """Weights (features x classes), the intercept, and the scores H W of the rows it was fitted to, intercept aside."""

    weights: Tensor
    intercept: Tensor
    scores: Tensor

    def moved(self, other: Model, share: float) -> Model:
        """This plus a share of the way from the other to it."""
        return Model(
            self.weights + share * (self.weights - other.weights),
            self.intercept + share * (self.intercept - other.intercept),
            self.scores + share * (self.scores - other.scores),
        )


def centred(values: Tensor) -> Tensor:
    """Each column less its mean."""
    return values - values.mean(0)


def solve_path(problem: Problem, strengths: Sequence[float], iterations: int) -> Iterator[Model]:
    """The models of these λ, each started from the one before: best from the largest to the smallest."""
    shares = problem.members.mean(0)
    empty = torch.zeros(problem.features, len(shares), dtype=torch.float64, device=shares.device)
    model = Model(empty, shares.log(), torch.zeros_like(problem.members))
    for strength in strengths:
        model = _solve(problem, strength, model, iterations)
        yield Model(model.weights, model.intercept - model.scores.mean(0), model.scores)


def _solve(problem: Problem, strength: float, model: Model, iterations: int) -> Model:
    """FISTA; the intercept here belongs to centred scores."""
    ahead, pace = model, 1.0
    for _ in range(iterations):
        new = _proximal_step(problem, strength, ahead)
        change = new.weights - model.weights
        if float(((ahead.weights - new.weights) * change).sum()) > 0:
            pace = 1.0
        faster = (1 + (1 + 4 * pace**2) ** 0.5) / 2
        ahead, model, pace = new.moved(model, (pace - 1) / faster), new, faster
        if float(change.abs().max()) <= ARRIVED * float(new.weights.abs().max()):
            break
    return model


def _proximal_step(problem: Problem, strength: float, at: Model) -> Model:
    """A step down the loss, then a soft threshold for the weights."""
    chances = (centred(at.scores) + at.intercept).softmax(1)
    slopes = (chances - problem.members) / len(problem.labels)
    weights = at.weights - problem.step * problem.transposed_times(centred(slopes))
    weights = functional.softshrink(weights, problem.step * strength)
    return Model(weights, at.intercept - slopes.sum(0) / CURVATURE, problem.times(weights))
