"""A graph made ready for layers: each form is built when it is first asked for, once."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.graphs.part import GraphPart
from graphveil.graphs.world import ALONE, World
from graphveil.learn.dropout import Among
from graphveil.linear.propagation import gcn_matrix, mean_matrix, sum_matrix
from graphveil.linear.sight import ordered_gcn
from graphveil.linear.sparse import SparseMatrix


class Topology:
    """The edges of a graph of n users, as the matrices (n x n, sparse) and lists that layers pass messages by, on a device."""

    # Those who learn together, each with a part of the users; and where the users of a part stand among all, for what is drawn for
    # everybody: None where they are all there are.
    world: World = ALONE
    everybody: Among | None = None

    def __init__(self, graph: Graph, device: torch.device | str = "cpu") -> None:
        self.graph, self.device = graph, torch.device(device)
        if isinstance(graph, GraphPart):
            self.world, self.everybody = graph.world, Among(graph.total, graph.original)

    @cached_property
    def gcn(self) -> SparseMatrix:
        """D^-1/2 (A + I) D^-1/2."""
        return gcn_matrix(self.graph, device=self.device)

    @cached_property
    def ordered(self) -> SparseMatrix:
        """The same, with products that are the same to the bit however a graph in memory is divided; others travel faster."""
        graph = self.graph
        return ordered_gcn(graph) if isinstance(graph, GraphPart) and graph.blocks is None else self.gcn

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
            raise InputError(
                "layers that weigh each edge themselves, as gat's attention does, need every edge in one place, and each worker holds a "
                "part of the graph: take gcn, sage, gin, appnp, sgc, ssgc or mlp, or leave --workers out"
            )
        edges = torch.from_numpy(self.graph.unweighted().edge_list())
        loops = torch.arange(self.graph.node_count).expand(2, -1)
        return torch.cat([edges, loops], dim=1).to(self.device)

    @cached_property
    def edge_index(self) -> Tensor:
        """All edges in both directions without loops (2 x entries), as PyG's layers take them."""
        edges = self.looped_edges
        return edges[:, edges[0] != edges[1]]
