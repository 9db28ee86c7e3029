"""Backbones by name: the library's own, and any module of torch from outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphveil.learn.backbones import APPNP, GAT, GCN, GIN, MLP, SGC, SSGC, Backbone, GraphSAGE
from graphveil.learn.outside_backbone import outside_backbone
from graphveil.registry import Registry

BACKBONES = Registry[Callable[..., Backbone]](
    "backbone",
    {
        "gcn": GCN,
        "sage": GraphSAGE,
        "gat": GAT,
        "gin": GIN,
        "appnp": APPNP,
        "sgc": SGC,
        "ssgc": SSGC,
        "mlp": MLP,
    },
    group="graphveil.backbones",
    adapt=outside_backbone,
)


def build_backbone(name: str, inputs: int, hidden: int, classes: int, **options: Any) -> Backbone:
    """A backbone by name, from d inputs over h hidden columns to c classes; ``options`` are those of its class."""
    return BACKBONES.find(name)(inputs, hidden, classes, **options)
