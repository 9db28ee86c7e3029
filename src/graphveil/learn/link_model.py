"""LINK: a linear model on adjacency rows. Whom a user knows tells the class, homophily or not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from graphveil.graphs.graph import Graph
from graphveil.learn.backbones import Backbone, project
from graphveil.learn.topology import Topology
from graphveil.linear.composition import Input
from graphveil.linear.sparse import SparseMatrix

# Root mean square norm of an input row (of 4, 6 and 8 the best overall, on validation users).
ROW_NORM = 6.0


class LinkModel(Backbone):
    """softmax(AW + b): one weight for each possible neighbour and class (Zheleva and Getoor 2009, Lim et al. 2021).

    It is built from n ``users`` and c ``classes``, and maps adjacency rows (n x n, sparse) to scores (n x c). All weights
    start at zero, so nothing about it is random.
    """

    def __init__(self, users: int, classes: int) -> None:
        super().__init__("relu", 0.0)
        self.conv1 = nn.Linear(users, classes)
        nn.init.zeros_(self.conv1.weight)
        nn.init.zeros_(self.conv1.bias)

    def layer(self, conv: Any, inputs: Input, topology: Topology) -> Tensor:
        out: Tensor = project(inputs, conv.weight) + conv.bias
        return out

    def second(self, hidden: Tensor, topology: Topology) -> Tensor:
        """There is no second layer."""
        return hidden


def adjacency_rows(
    graph: Graph, *, by_degree: bool = False, device: torch.device | str = "cpu"
) -> SparseMatrix:
    """The adjacency matrix as input (n x n), scaled to a public row norm; ``by_degree`` gives every row the same norm."""
    degrees = graph.degrees.astype(np.float64)
    row_norms = np.sqrt(degrees)
    if by_degree:
        values = ROW_NORM / np.repeat(row_norms, graph.degrees)
    else:
        values = np.full(len(graph.indices), ROW_NORM / math.sqrt(max(degrees.mean(), 1.0)))
    shape = (graph.node_count, graph.node_count)
    return SparseMatrix.from_csr(
        graph.indptr, graph.indices, values, shape, symmetric=not by_degree, device=device
    )
