"""LINK: a linear model on adjacency rows. Whom a user knows tells the class, homophily or not."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graphveil.graphs.graph import Graph
from graphveil.learn.adam import Adam
from graphveil.learn.masked_labels import of_rows
from graphveil.learn.targets import Targets
from graphveil.learn.training import Best, Fitted, Progress, Schedule
from graphveil.linear.sparse import SparseMatrix

# Root mean square norm of an input row (of 4, 6 and 8 the best overall, on validation users).
ROW_NORM = 6.0


class LinkModel(nn.Module):
    """softmax(AW + b): one weight for each possible neighbour and class (Zheleva and Getoor 2009, Lim et al. 2021).

    It is built from m ``neighbours`` and c ``classes``, and maps adjacency rows (n x m, sparse) to scores (n x c). All weights
    start at zero, so nothing about it is random.
    """

    def __init__(self, neighbours: int, classes: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(neighbours, classes))
        self.bias = nn.Parameter(torch.zeros(classes))

    def forward(self, rows: SparseMatrix) -> Tensor:
        """Scores of the classes."""
        scores: Tensor = rows @ self.weight + self.bias
        return scores


@dataclass(frozen=True, eq=False)
class AdjacencyRows:
    """The adjacency matrix as input (n x n): pointers, and a neighbour and a value an entry."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]

    def matrix(
        self, users: NDArray[np.int64], neighbours: NDArray[np.int64], device: torch.device | str = "cpu"
    ) -> SparseMatrix:
        """The rows of some users, with the columns of some neighbours."""
        counts = np.diff(self.indptr)[users]
        ends = np.cumsum(counts)
        entries = np.repeat(self.indptr[users] - (ends - counts), counts) + np.arange(counts.sum())
        column = np.full(len(self.indptr) - 1, -1, dtype=np.int64)
        column[neighbours] = np.arange(len(neighbours))
        columns = column[self.indices[entries]]
        kept = columns >= 0
        pointers = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(kept)])[np.append(0, ends)]
        shape = len(users), len(neighbours)
        return SparseMatrix.from_csr(
            pointers, columns[kept], self.values[entries][kept], shape, device=device
        )

    def neighbours(self, users: NDArray[np.int64]) -> NDArray[np.int64]:
        """Whom any of these users knows."""
        known = np.zeros(len(self.indptr) - 1, dtype=bool)
        mine = np.zeros(len(self.indptr) - 1, dtype=bool)
        mine[users] = True
        known[self.indices[np.repeat(mine, np.diff(self.indptr))]] = True
        return np.flatnonzero(known)


def adjacency_rows(graph: Graph, *, by_degree: bool = False) -> AdjacencyRows:
    """The adjacency matrix, scaled to a public row norm; ``by_degree`` gives every row the same norm."""
    degrees = graph.degrees.astype(np.float64)
    if by_degree:
        values = ROW_NORM / np.repeat(np.sqrt(degrees), graph.degrees)
    else:
        values = np.full(len(graph.indices), ROW_NORM / math.sqrt(max(degrees.mean(), 1.0)))
    return AdjacencyRows(graph.indptr, graph.indices, values)


def fit_link(
    rows: AdjacencyRows,
    classes: int,
    targets: Targets,
    schedule: Schedule,
    progress: Progress | None = None,
) -> Fitted:
    """Train a `LinkModel` of so many classes and return the scores of all users at the lowest validation loss.

    Only neighbours of training users ever get a weight, so nobody else is a column; only rows of training and validation
    users are multiplied before the end.
    """
    device, train, judges = targets.labels.device, targets.train_rows, targets.validation_rows
    neighbours = rows.neighbours(train.cpu().numpy())
    learned, held_out = (rows.matrix(who.cpu().numpy(), neighbours, device) for who in (train, judges))
    model = LinkModel(len(neighbours), classes).to(device)
    best, step = (
        Best(of_rows(targets, judges), schedule, progress),
        Adam(model, schedule.lr, schedule.weight_decay),
    )
    kept, labels = copy.deepcopy(model.state_dict()), targets.labels[train]
    for epoch in range(schedule.epochs):
        with torch.no_grad():
            scores = model(held_out)
        if best.keep(epoch, scores):
            kept = copy.deepcopy(model.state_dict())
        if best.enough(epoch):
            break
        step(targets.loss(model(learned), labels))
    fitted = best.fitted()
    model.load_state_dict(kept)
    everybody = rows.matrix(np.arange(len(targets.labels)), neighbours, device)
    with torch.no_grad():
        return replace(fitted, scores=model(everybody))
