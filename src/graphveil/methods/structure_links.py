"""`structure` where links are predicted: scores of pairs from the training links alone, and the best blend of them."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from graphveil.graphs.graph import Graph
from graphveil.graphs.metrics import area_under_curve
from graphveil.learn.blend import choose_blend, mix
from graphveil.learn.link_features import (
    Pairs,
    Scores,
    adamic_adar,
    by_degrees,
    degree_scores,
    page_rank,
    resource_allocation,
    smaller_degree,
    walk_scores,
)
from graphveil.learn.pair_trees import FEWEST_PAIRS, PairTrees
from graphveil.learn.spectral import spectrum
from graphveil.methods.method import Job, Outcome, Stopwatch

# How many directions of the spectrum are read, and how many are handed out as an embedding.
RANKS = (16, 32, 64, 128)
EMBEDDING = 64
TREES = "trees"
# PageRank: the chance to walk on.
ALPHAS = (0.7, 0.95)
# How long walks may be; shorter where users x links are more than so many.
LONG_WALK, SHORT_WALK, LONG_WALK_WORK = 12, 5, 2e9


class LinkCandidates:
    """Scores by name of any pairs, from one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.spectrum = spectrum(graph, max(RANKS))
        work = graph.node_count * len(graph.indices)
        self.hops = LONG_WALK if work <= LONG_WALK_WORK else SHORT_WALK
        spectral = [f"{kind} {rank}" for rank in RANKS for kind in ("spectral", "cosine")]
        walks = ["paths of three", *(f"walks of {hop}" for hop in range(4, self.hops + 1))]
        ranks = [f"PageRank {alpha}" for alpha in ALPHAS]
        by_degree = [f"PageRank {alpha} by degree" for alpha in ALPHAS]
        self.walk_names = [*walks, *ranks, *by_degree]
        self.names = [
            "degrees",
            "smaller degree",
            "Adamic-Adar",
            "resource allocation",
            *self.walk_names,
            *spectral,
        ]

    def scores(self, pairs: Pairs, wanted: Collection[str]) -> dict[str, Scores]:
        """The scores of these names."""
        walks = np.empty((len(pairs), 0))
        if any(name in self.walk_names for name in wanted):
            walks = walk_scores(self.graph, pairs, self.hops)
        return {name: self._one(name, pairs, walks) for name in self.names if name in wanted}

    def _one(self, name: str, pairs: Pairs, walks: Scores) -> Scores:
        graph = self.graph
        kind, number = name.removesuffix(" by degree").rsplit(" ", 1) if " " in name else (name, "")
        if kind == "degrees":
            return degree_scores(graph, pairs)
        if name == "smaller degree":
            return smaller_degree(graph, pairs)
        if kind == "Adamic-Adar":
            return adamic_adar(graph, pairs)
        if kind == "resource":
            return resource_allocation(graph, pairs)
        if kind == "spectral":
            return self.spectrum.products(pairs, int(number))
        if kind == "cosine":
            return self.spectrum.cosines(pairs, int(number))
        if kind == "PageRank":
            scores = page_rank(walks, float(number))
            return by_degrees(graph, pairs, scores) if name.endswith("by degree") else scores
        hop = 3 if kind == "paths of" else int(number)
        return by_degrees(graph, pairs, walks[:, hop - 1])


class Ranks:
    """Which share of a fixed list of scores is below a score, ties counted half."""

    def __init__(self, scores: Scores) -> None:
        self.known = np.sort(scores)

    def __call__(self, scores: Scores) -> Scores:
        below, up_to = (np.searchsorted(self.known, scores, side) for side in ("left", "right"))
        shares: Scores = (below + up_to) / (2 * len(self.known))
        return shares


class LinkBlend:
    """The mean of the chosen candidates, each turned into ranks among the validation pairs; weights chosen on these.

    Trees over all the others are one more candidate. They are fitted on the validation pairs, and so judged on each by
    trees that have not seen it.
    """

    def __init__(self, graph: Graph, rounds: int) -> None:
        assert graph.links is not None
        known = graph.links.validation
        pairs = np.concatenate([known.linked, known.unlinked])
        linked = np.arange(len(pairs)) < len(known.linked)
        self.candidates = LinkCandidates(graph)
        scores = self.candidates.scores(pairs, self.candidates.names)
        self.trees = PairTrees(scores, linked) if len(pairs) >= FEWEST_PAIRS else None
        if self.trees is not None:
            scores[TREES] = self.trees.unseen
        ranks = {name: Ranks(values) for name, values in scores.items()}
        shares = {name: ranks[name](values) for name, values in scores.items()}
        self.weights = choose_blend(shares, lambda mean: area_under_curve(mean, linked), rounds)
        self.ranks = {name: ranks[name] for name in ranks if name in self.weights}
        self.validation_score = area_under_curve(mix(shares, self.weights), linked)

    def __call__(self, pairs: Pairs) -> Scores:
        if len(pairs) == 0:
            return np.zeros(0)
        scores = self.candidates.scores(pairs, self.candidates.names if TREES in self.ranks else self.ranks)
        if self.trees is not None and TREES in self.ranks:
            scores[TREES] = self.trees(scores)
        return mix({name: rank(scores[name]) for name, rank in self.ranks.items()}, self.weights)

    @property
    def embedding(self) -> NDArray[np.float32]:
        """The spectral embedding of all users."""
        return self.candidates.spectrum.embedding(EMBEDDING)


def learn_links(job: Job) -> Outcome:
    """Score pairs by the blend that is best on validation pairs."""
    watch = Stopwatch()
    job.say("links", 0.0)
    with watch.stage("train"):
        blend = LinkBlend(job.graph, job.settings.blend)
    job.say("links", 1.0)
    return Outcome(
        None,
        1 - blend.validation_score,
        blend.validation_score,
        watch.seconds,
        " + ".join(blend.ranks),
        pair_scores=blend,
        embedding=blend.embedding,
    )
