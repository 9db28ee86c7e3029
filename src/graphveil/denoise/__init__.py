"""Denoisers: what a server does to reports before it learns from them. All of it is post-processing and costs nothing."""

from graphveil.denoise.aggregators import AGGREGATORS, HOA, Aggregator, KProp, Residual
from graphveil.denoise.blocks import propagated_once
from graphveil.denoise.drop import spread_labels
from graphveil.denoise.energy import dirichlet_energy, energy_over_hops
from graphveil.denoise.pagerank import PageRank, PageRankPlan
from graphveil.denoise.shrink import NFR, GroupLasso, Shrinkage

__all__ = [
    "AGGREGATORS",
    "HOA",
    "NFR",
    "Aggregator",
    "GroupLasso",
    "KProp",
    "PageRank",
    "PageRankPlan",
    "Residual",
    "Shrinkage",
    "dirichlet_energy",
    "energy_over_hops",
    "propagated_once",
    "spread_labels",
]
