"""Denoisers: what a server does to reports before it learns from them. All of it is post-processing and costs nothing.

A module is loaded when one of its names is first used.
"""

from typing import TYPE_CHECKING

from graphveil.lazy import load_later

if TYPE_CHECKING:
    from graphveil.denoise.adaptive import AdaptiveResidual
    from graphveil.denoise.aggregators import AGGREGATORS, HOA, Aggregator, KProp, Residual
    from graphveil.denoise.blocks import ROWS_AT_ONCE, propagated_once
    from graphveil.denoise.certain import certain_estimate
    from graphveil.denoise.components import Components, find_components
    from graphveil.denoise.constant import with_constant
    from graphveil.denoise.drop import spread_labels
    from graphveil.denoise.energy import HopEnergies, dirichlet_energy, energy_over_hops
    from graphveil.denoise.flexprop import FlexProp, user_weights
    from graphveil.denoise.forgetful import forgetful_mean
    from graphveil.denoise.link_graph import PrivateGraph, Variant, private_graph
    from graphveil.denoise.links import ReportedLinks, refuse_too_many
    from graphveil.denoise.pagerank import PageRank, PageRankPlan
    from graphveil.denoise.shrink import NFR, GroupLasso, Shrinkage
else:
    __getattr__, __dir__ = load_later(
        __name__,
        {
            "adaptive": ("AdaptiveResidual",),
            "aggregators": ("AGGREGATORS", "HOA", "Aggregator", "KProp", "Residual"),
            "blocks": ("ROWS_AT_ONCE", "propagated_once"),
            "certain": ("certain_estimate",),
            "components": ("Components", "find_components"),
            "constant": ("with_constant",),
            "drop": ("spread_labels",),
            "energy": ("HopEnergies", "dirichlet_energy", "energy_over_hops"),
            "flexprop": ("FlexProp", "user_weights"),
            "forgetful": ("forgetful_mean",),
            "links": ("ReportedLinks", "refuse_too_many"),
            "link_graph": ("PrivateGraph", "Variant", "private_graph"),
            "pagerank": ("PageRank", "PageRankPlan"),
            "shrink": ("NFR", "GroupLasso", "Shrinkage"),
        },
    )

__all__ = [
    "AGGREGATORS",
    "HOA",
    "NFR",
    "ROWS_AT_ONCE",
    "AdaptiveResidual",
    "Aggregator",
    "Components",
    "FlexProp",
    "GroupLasso",
    "HopEnergies",
    "KProp",
    "PageRank",
    "PageRankPlan",
    "PrivateGraph",
    "ReportedLinks",
    "Residual",
    "Shrinkage",
    "Variant",
    "certain_estimate",
    "dirichlet_energy",
    "energy_over_hops",
    "find_components",
    "forgetful_mean",
    "private_graph",
    "propagated_once",
    "refuse_too_many",
    "spread_labels",
    "user_weights",
    "with_constant",
]
