"""A graph made ready for layers, with or without weights of its links, each form built when first asked for; and dropout among its users."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphveil import linear
from graphveil.errors import InputError
from graphveil.graphs.collective import SINGLE_PROCESS, Collective
from graphveil.graphs.graph import Graph
from graphveil.graphs.part import GraphPart
from graphveil.linear.propagation import gcn_matrix, mean_matrix, sum_matrix
from graphveil.linear.sparse import Device, SparseMatrix

# A value takes 16 random bits, so four of them share a word; the share is rounded to a multiple of 2^-16.
VALUES_A_WORD, LEVELS = 4, 1 << 16
# Where most values are somebody else's, so many rows are drawn at a time; a multiple of the values that share a word.
ROWS_AT_ONCE = 1 << 18


class RowSubset:
    """Rows of a larger matrix: how many it has, and where these stand in it."""

    def __init__(self, total: int, places: NDArray[np.int64]) -> None:
        self.total = total
        self.order = torch.from_numpy(np.argsort(places, kind="stable"))
        self.places = torch.from_numpy(np.ascontiguousarray(places))[self.order]

    def blocks(self) -> Iterator[tuple[int, Tensor, Tensor]]:
        """Some rows of the larger matrix at a time: how many, which of them are here, and which of the rows here these are."""
        for begin in range(0, self.total, ROWS_AT_ONCE):
            end = min(begin + ROWS_AT_ONCE, self.total)
            low, high = torch.searchsorted(self.places, torch.tensor([begin, end])).tolist()
            yield end - begin, self.places[low:high] - begin, self.order[low:high]


def dropout(values: Tensor, share: float, training: bool, among: RowSubset | None = None) -> Tensor:
    """Set a random share of the values to 0 and scale the others up, in training; else return the values.

    torch's own dropout draws a number for every value, which takes several times as long.

    Parameters
    ----------
    values
        Of any shape, which stays.
    share
        The share that is dropped, in [0, 1).
    among
        The places of these rows among those of other workers: rows get what they would have got with all of
        them here. Everything is drawn, and what belongs to others is left.
    """
    level = min(round(share * LEVELS), LEVELS - 1)
    if not training or level == 0:
        return values
    if among is None:
        kept = _kept(values.numel(), level, values.device).view(values.shape)
    else:
        kept = torch.empty(values.shape, dtype=torch.bool, device=values.device)
        for rows, here, own in among.blocks():
            drawn = _kept(rows * values.shape[1:].numel(), level, values.device)
            kept[own] = drawn.view(rows, *values.shape[1:])[here]
    thinned: Callable[..., Tensor] = _Thinned.apply
    return thinned(values, kept, LEVELS / (LEVELS - level))


class _Thinned(torch.autograd.Function):
    """Values that are kept, times a factor, and others at 0. For the gradient a byte a value is remembered, and not a number."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, kept: Tensor, factor: float) -> Tensor:
        ctx.kept, ctx.factor = kept, factor
        return kept.to(values.dtype).mul_(factor).mul_(values)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = gradients
        return ctx.kept.to(gradient.dtype).mul_(ctx.factor).mul_(gradient), None, None


def _kept(count: int, level: int, device: torch.device) -> Tensor:
    """Draw which values are kept, each with the chance 1 - level/2^16."""
    words = -(-count // VALUES_A_WORD)
    drawn = torch.randint(-(2**63), 2**63 - 1, (words,), device=device).view(torch.int16)
    return drawn[:count] >= level - LEVELS // 2


class Topology:
    """The edges of a graph of n users, as the matrices (n x n, sparse) and lists that layers pass messages by, on a device."""

    # Those who learn together, each with a part of the users; and where the users of a part stand among all, for what is drawn for
    # everybody: None where they are all there are.
    collective: Collective = SINGLE_PROCESS
    everybody: RowSubset | None = None

    def __init__(self, graph: Graph, device: Device = "cpu") -> None:
        self.graph, self.device = graph, torch.device(device)
        if isinstance(graph, GraphPart):
            self.collective, self.everybody = graph.collective, RowSubset(graph.total, graph.original)

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
