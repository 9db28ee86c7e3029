"""The training loop: full batch, Adam, and the model of the lowest validation loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from graphveil.learn.backbones import Backbone, Input
from graphveil.learn.topology import Topology

# Told after each epoch: how many are done, how many there may be, the validation loss.
Progress = Callable[[int, int, float], None]


@dataclass(frozen=True)
class Schedule:
    """How to train."""

    epochs: int = 500
    lr: float = 0.01
    weight_decay: float = 1e-3
    patience: int | None = None


@dataclass(frozen=True)
class Targets:
    """What the server may learn from: labels (-1 where it knows none) and who trains and validates."""

    labels: Tensor
    train: Tensor
    validation: Tensor


@dataclass(frozen=True)
class Fitted:
    """The scores of all users at the best epoch, and how good it was on the validation users."""

    scores: Tensor
    epoch: int
    validation_loss: float
    validation_accuracy: float


def fit(
    model: Backbone,
    inputs: Input,
    topology: Topology,
    targets: Targets,
    schedule: Schedule,
    progress: Progress | None = None,
) -> Fitted:
    """Train and return the scores of the epoch with the lowest validation loss.

    One pass through the first layer serves training and validation: both see the weights before the step.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=schedule.lr, weight_decay=schedule.weight_decay)
    train_labels, validation_labels = targets.labels[targets.train], targets.labels[targets.validation]
    best: Fitted | None = None
    for epoch in range(schedule.epochs):
        hidden = model.first(inputs, topology)
        model.train()
        loss = functional.cross_entropy(model.second(hidden, topology)[targets.train], train_labels)
        with torch.no_grad():
            model.eval()
            scores = model.second(hidden, topology)
            held_out = scores[targets.validation]
            validation_loss = float(functional.cross_entropy(held_out, validation_labels))
        if best is None or validation_loss < best.validation_loss:
            accuracy = float((held_out.argmax(1) == validation_labels).float().mean())
            best = Fitted(scores, epoch, validation_loss, accuracy)
        if progress is not None:
            progress(epoch + 1, schedule.epochs, validation_loss)
        if schedule.patience is not None and epoch - best.epoch >= schedule.patience:
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert best is not None
    return best
