"""Denoisers: what a server does to reports before it learns from them. All of it is post-processing and costs nothing.

A module is loaded when one of its names is first used.
"""

# ruff: noqa: F401
from typing import TYPE_CHECKING

from graphveil.lazy import lazy_names

if TYPE_CHECKING:
    from graphveil.denoise.blocks import ROWS_AT_ONCE, certain_estimate, propagated_once, with_constant
    from graphveil.denoise.energy import (
        HopEnergies,
        dirichlet_energy,
        energy_over_hops,
        find_components,
    )
    from graphveil.denoise.links import ReportedLinks, Variant, private_graph, refuse_too_many
    from graphveil.denoise.modules import (
        AGGREGATORS,
        HOA,
        NFR,
        AdaptiveResidual,
        GroupLasso,
        KProp,
        Residual,
        forgetful_mean,
        user_weights,
    )
    from graphveil.denoise.pagerank import PageRankDenoiser
else:
    __getattr__, __dir__ = lazy_names(__name__, __file__)
