"""A graph made ready for layers, with or without weights of its links, each form built when first asked for; and dropout among its users."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from graphveil import linear
from graphveil.errors import InputError
from graphveil.graphs.collective import SINGLE_PROCESS, Collective
from graphveil.graphs.graph import Graph
from graphveil.graphs.part import GraphPart
from graphveil.linear.propagation import gcn_matrix, mean_matrix, sum_matrix
from graphveil.linear.sparse import Device, SparseMatrix

# A value takes 16 random bits, so that the share is rounded to a multiple of 2^-16.
LEVELS = 1 << 16


def dropout(values: Tensor, share: float, training: bool, numbers: Tensor | None = None) -> Tensor:
    """Set a random share of the values to 0 and scale the others up, in training; else return the values.

    Parameters
    ----------
    values
        A row for each of n users.
    share
        The share that is dropped, in [0, 1), rounded to a multiple of 2^-16.
    numbers
        The number of each row among those of all workers (n): rows get what they would have got with all of them
        here. By default they are all there are.
    """
    level = min(round(share * LEVELS), LEVELS - 1)
    if not training or level == 0:
        return values
    if not values.is_cpu:
        return functional.dropout(values, share)
    key = torch.randint(-(2**63), 2**63 - 1, ()).numpy().view(np.uint64)[()]
    rows = np.empty(0, dtype=np.int64) if numbers is None else numbers.numpy()
    dropped: Callable[..., Tensor] = _Dropped.apply
    return dropped(values, (rows, key, level))


class _Dropped(torch.autograd.Function):
    """What is dropped is drawn again for the gradient, and not remembered."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, drawn: tuple[Any, Any, int]) -> Tensor:
        ctx.drawn = drawn
        return _drop(values, drawn)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return _drop(gradients[0], ctx.drawn), None


def _drop(values: Tensor, drawn: tuple[Any, Any, int]) -> Tensor:
    from graphveil.linear.compiled import drop

    given = values.detach().contiguous()
    out = torch.empty_like(given)
    drop(given.flatten(1).numpy(), *drawn, out.flatten(1).numpy())
    return out


class Topology:
    """The edges of a graph of n users, as the matrices (n x n, sparse) and lists that layers pass messages by, on a device."""

    # Those who learn together, each with a part of the users; and the numbers of a part's users among all, None where they are all
    # there are.
    collective: Collective = SINGLE_PROCESS
    numbers: Tensor | None = None

    def __init__(self, graph: Graph, device: Device = "cpu") -> None:
        self.graph, self.device = graph, torch.device(device)
        if isinstance(graph, GraphPart):
            self.collective, self.numbers = graph.collective, torch.from_numpy(graph.original)

    @cached_property
    def gcn(self) -> SparseMatrix:
        """D^-1/2 (A + I) D^-1/2."""
        return gcn_matrix(self.graph, device=self.device)

    @cached_property
    def ordered(self) -> SparseMatrix:
        """The GCN's matrix, with products that are the same to the bit however a graph in memory is divided; others travel faster."""
        graph = self.graph
        if isinstance(graph, GraphPart) and not graph.on_disk:
            ordered: SparseMatrix = graph.ordered_gcn_matrix()
            return ordered
        return self.gcn

    @cached_property
    def unlooped(self) -> SparseMatrix:
        """D^-1/2 A D^-1/2: denoisers leave out one's own report, whose noise has been drawn already."""
        return gcn_matrix(self.graph, loops=False, device=self.device)

    @cached_property
    def sum(self) -> SparseMatrix:
        """A + I."""
        return sum_matrix(self.graph, device=self.device)

    @cached_property
    def mean(self) -> SparseMatrix:
        """D^-1 A."""
        return mean_matrix(self.graph, device=self.device)

    @cached_property
    def looped_edges(self) -> Tensor:
        """All edges in both directions and a loop at every user (2 x entries), for layers that weigh each edge
        themselves; of edges with weights those that are likelier than not.
        """
        if isinstance(self.graph, GraphPart):
            others = "take gcn, sage, gin, appnp, sgc, ssgc or mlp, or leave --workers out"
            raise InputError(
                f"gat's attention needs every edge in one place, not divided among workers: {others}"
            )
        edges = torch.from_numpy(self.graph.unweighted().edge_list())
        loops = torch.arange(self.graph.node_count).expand(2, -1)
        return torch.cat([edges, loops], dim=1).to(self.device)

    @cached_property
    def edge_index(self) -> Tensor:
        """All edges in both directions without loops (2 x entries), as PyG's layers take them."""
        edges = self.looped_edges
        return edges[:, edges[0] != edges[1]]


class WeightedTopology(Topology):
    """The forms that layers want, of a graph whose links have weights. Attention weighs the links with a weight itself.

    ``weights`` has a number for each pair of ``pattern``; the matrices are n x n.
    """

    def __init__(self, pattern: linear.PairPattern, weights: Tensor) -> None:
        self.pattern, self.weights, self.device = pattern, weights, pattern.device

    @cached_property
    def gcn(self) -> Any:
        """D^-1/2 (A + I) D^-1/2; with a gradient for the weights where they require one, which a GCN alone can use."""
        values = self.pattern.gcn(self.weights)
        return (
            linear.LearnedMatrix(self.pattern, values)
            if values.requires_grad
            else self.pattern.matrix(values)
        )

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
