"""Learning: backbones whose input stays sparse, and the loop that trains them."""

from graphveil.learn.backbones import (
    APPNP,
    BACKBONES,
    GAT,
    GCN,
    GIN,
    MLP,
    SGC,
    SSGC,
    Backbone,
    GraphSAGE,
    build_backbone,
)
from graphveil.learn.targets import DropTargets, Targets
from graphveil.learn.topology import Topology
from graphveil.learn.training import Fitted, Schedule, fit

__all__ = [
    "APPNP",
    "BACKBONES",
    "GAT",
    "GCN",
    "GIN",
    "MLP",
    "SGC",
    "SSGC",
    "Backbone",
    "DropTargets",
    "Fitted",
    "GraphSAGE",
    "Schedule",
    "Targets",
    "Topology",
    "build_backbone",
    "fit",
]
