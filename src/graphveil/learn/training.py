"""The training loop: full batch, Adam, and the model of the lowest validation loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from graphveil.errors import InputError
from graphveil.learn.backbones import Backbone
from graphveil.learn.inputs import thinned
from graphveil.learn.targets import Goal
from graphveil.learn.topology import Topology
from graphveil.linear.composition import Input

# Told after each epoch: how many are done, how many there may be, the validation loss.
Progress = Callable[[int, int, float], None]


@dataclass(frozen=True)
class Schedule:
    """How to train."""

    epochs: int = 500
    lr: float = 0.01
    weight_decay: float = 1e-3
    patience: int | None = None
    # The share of the input's entries that each epoch leaves out.
    input_dropout: float = 0.0


@dataclass(frozen=True)
class Fitted:
    """The scores of all users at the best epoch, how good it was on what validates, and the first layer's result."""

    scores: Tensor
    epoch: int
    validation_loss: float
    validation_score: float
    hidden: Tensor | None = None


def fit(
    model: Backbone,
    inputs: Input,
    topology: Topology,
    targets: Goal,
    schedule: Schedule,
    progress: Progress | None = None,
) -> Fitted:
    """Train and return the scores of the epoch with the lowest validation loss.

    One pass through the first layer serves training and validation: both see the weights before the step. Only with
    dropout on the input does training need a pass of its own.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=schedule.lr, weight_decay=schedule.weight_decay)
    best: Fitted | None = None
    for epoch in range(schedule.epochs):
        hidden = model.first(inputs, topology)
        model.train()
        seen = hidden
        if schedule.input_dropout:
            seen = model.first(thinned(inputs, schedule.input_dropout), topology)
        loss = targets.train_loss(model.second(seen, topology))
        with torch.no_grad():
            model.eval()
            scores = model.second(hidden, topology)
            validation_loss = float(targets.validation_loss(scores))
        if best is None or validation_loss < best.validation_loss:
            best = Fitted(scores, epoch, validation_loss, targets.validation_score(scores), hidden.detach())
        if progress is not None:
            progress(epoch + 1, schedule.epochs, validation_loss)
        if schedule.patience is not None and epoch - best.epoch >= schedule.patience:
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return converged(best)


def converged(best: Fitted | None) -> Fitted:
    """The best epoch, if it is one: a loss that is not a number from the first epoch on is refused."""
    if best is None or not math.isfinite(best.validation_loss):
        raise InputError(
            "the validation loss is not a finite number: give a smaller learning rate (lr) or a smaller input_share"
        )
    return best
