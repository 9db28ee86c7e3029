"""Learning: backbones whose input stays sparse, and the loop that trains them."""

from graphveil.learn.backbones import BACKBONES, GAT, GCN, Backbone, GraphSAGE, build_backbone
from graphveil.learn.sparse import SparseMatrix
from graphveil.learn.topology import Topology
from graphveil.learn.training import Fitted, Schedule, Targets, fit

__all__ = [
    "BACKBONES",
    "GAT",
    "GCN",
    "Backbone",
    "Fitted",
    "GraphSAGE",
    "Schedule",
    "SparseMatrix",
    "Targets",
    "Topology",
    "build_backbone",
    "fit",
]
