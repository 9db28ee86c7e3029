"""The graph that a server takes for the true one where links are private: which reported pairs stay, with which weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graphveil.denoise.links import ReportedLinks
from graphveil.mechanisms import Reports

Variant = Literal["plain", "hard", "soft", "hybrid"]
# Pairs that are less plausible than this are left out of soft weights, and of hybrid ones.
SOFT_LEAST, HYBRID_LEAST = 0.01, 0.1
# From here on a link is as good as known.
SURE = 0.9


@dataclass(frozen=True, eq=False)
class PrivateGraph:
    """Pairs (m x 2) with a weight of more than 0 each. ``left_out`` is how many links are expected among all pairs that are not here,
    as far as pairs were reported.
    """

    pairs: NDArray[np.int32]
    weights: NDArray[np.float64]
    left_out: float


def private_graph(reports: Reports, variant: Variant, seed: int) -> PrivateGraph:
    """What is left of reported links, by a rule that follows from public numbers and from the reports alone.

    ``plain`` is randomized response as it is, thinned at random to as many pairs as there are links in expectation (EdgeRand's
    density correction). The others weigh each pair by the probability p that it is linked (BLINK: Bayes from a prior and
    the answers; here the prior knows common neighbours too): ``hard`` keeps p > 1/2 with weight 1, ``soft`` weighs by p, ``hybrid`` by
    p², which nearly forgets what is unlikely, and by 1 what is all but sure. What a curator publishes is taken as it is.
    """
    if reports.mechanism.trust == "curator":
        owners = np.repeat(reports.places, reports.lengths)
        pairs = np.stack([owners, reports.codes.astype(np.int64)], axis=1).astype(np.int32)
        return PrivateGraph(pairs, np.ones(len(pairs)), 0.0)
    links = ReportedLinks.of(reports)
    if variant == "plain":
        return _thinned(links, seed)
    chances = links.plausibilities()
    kept, weights = {
        "hard": (chances > 0.5, np.ones(len(chances))),
        "soft": (chances > SOFT_LEAST, chances),
        "hybrid": (chances > HYBRID_LEAST, np.where(chances < SURE, chances**2, 1.0)),
    }[variant]
    return PrivateGraph(links.pairs[kept], weights[kept], float(chances[~kept].sum()))


def _thinned(links: ReportedLinks, seed: int) -> PrivateGraph:
    """As many reported pairs as there are links in expectation, drawn at random; all of them where that is more."""
    expected = round(links.density * links.users * (links.users - 1) / 2)
    count = min(expected, len(links.pairs))
    chosen = np.sort(np.random.default_rng([seed, 8]).permutation(len(links.pairs))[:count])
    left_out = float(expected * (1 - count / max(len(links.pairs), 1)))
    return PrivateGraph(links.pairs[chosen], np.ones(count), left_out)
