"""Denoisers: what a server does to reports before it learns from them. All of it is post-processing and costs nothing.

A module is loaded when one of its names is first used.
"""

# ruff: noqa: I001 -- names that are exported stand with their modules
from typing import TYPE_CHECKING

from graphveil.lazy import lazy_names

if TYPE_CHECKING:
    from graphveil.denoise.adaptive import AdaptiveResidual as AdaptiveResidual
    from graphveil.denoise.aggregators import (
        AGGREGATORS as AGGREGATORS,
        HOA as HOA,
        Aggregator as Aggregator,
        KProp as KProp,
        Residual as Residual,
    )
    from graphveil.denoise.blocks import ROWS_AT_ONCE as ROWS_AT_ONCE, propagated_once as propagated_once
    from graphveil.denoise.blocks import certain_estimate as certain_estimate
    from graphveil.denoise.energy import Components as Components, find_components as find_components
    from graphveil.denoise.blocks import with_constant as with_constant
    from graphveil.denoise.drop import spread_labels as spread_labels
    from graphveil.denoise.energy import (
        HopEnergies as HopEnergies,
        dirichlet_energy as dirichlet_energy,
        energy_over_hops as energy_over_hops,
    )
    from graphveil.denoise.flexprop import FlexProp as FlexProp, user_weights as user_weights
    from graphveil.denoise.shrink import forgetful_mean as forgetful_mean
    from graphveil.denoise.links import (
        PrivateGraph as PrivateGraph,
        Variant as Variant,
        private_graph as private_graph,
    )
    from graphveil.denoise.links import ReportedLinks as ReportedLinks, refuse_too_many as refuse_too_many
    from graphveil.denoise.pagerank import PageRank as PageRank, PageRankPlan as PageRankPlan
    from graphveil.denoise.shrink import NFR as NFR, GroupLasso as GroupLasso, Shrinkage as Shrinkage
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
