"""Label propagation: what the labels of those nearby say, without anything to train."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from graphveil.graphs.world import ALONE, World
from graphveil.learn.targets import Targets, add_up
from graphveil.linear.sparse import SparseMatrix

# A little of the classes' shares goes to everybody, so that a user whom no label reaches has probabilities too.
SHARE_WEIGHT = 1e-3


def training_labels(targets: Targets, classes: int) -> Tensor:
    """The labels of training users as rows (users x classes) with a single 1, or with a 1 for each label that a user has.

    They are zeros for everybody else.
    """
    rows = targets.labels.new_zeros((len(targets.labels), classes)).float()
    if targets.labels.ndim == 2:
        rows[targets.train] = targets.labels[targets.train].float()
        return rows
    rows[targets.train.nonzero().ravel(), targets.labels[targets.train]] = 1
    return rows


def class_shares(labels: Tensor, world: World = ALONE) -> Tensor:
    """How common each of c classes is among the labels (n x c) of all workers, counted from 1 so that none is impossible."""
    counts = add_up(labels.sum(dim=0), world) + 1
    return counts / counts.sum()


def spread(labels: Tensor, matrix: SparseMatrix, alpha: float) -> Iterator[Tensor]:
    """Z ← αPZ + (1-α)Y, from Z = Y; yields Z (n x c, as the labels Y) after every hop, without end; P is n x n.

    Source: Zhou et al. (2004), "Learning with local and global consistency". The limit is (1-α)(I-αP)⁻¹Y.
    """
    reached = labels
    while True:
        reached = alpha * (matrix @ reached) + (1 - alpha) * labels
        yield reached


def as_probabilities(reached: Tensor, shares: Tensor) -> Tensor:
    """Labels that have spread (n x c) as probabilities: rows that sum to one, nowhere 0; ``shares`` has c numbers."""
    weights = reached + SHARE_WEIGHT * shares
    return weights / weights.sum(dim=1, keepdim=True)
