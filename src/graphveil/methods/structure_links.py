"""`structure` where links are predicted: scores of pairs from the training links alone, and the best blend of them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from graphveil import learn
from graphveil.graphs.graph import Graph
from graphveil.graphs.metrics import area_under_curve
from graphveil.methods.job import Job
from graphveil.methods.tasks import Outcome, Stopwatch

if TYPE_CHECKING:
    from graphveil.graphs.links import Pairs
    from graphveil.learn.link_scores import Scores

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
        work = graph.node_count * len(graph.indices)
        self.hops = LONG_WALK if work <= LONG_WALK_WORK else SHORT_WALK
        self.spectrum = learn.spectrum(graph, max(RANKS))
        self.near: dict[str, Callable[[Pairs], Scores]] = {
            "degrees": partial(learn.degree_scores, graph),
            "smaller degree": partial(learn.smaller_degree, graph),
            "Adamic-Adar": partial(learn.adamic_adar, graph),
            "resource allocation": partial(learn.resource_allocation, graph),
        }
        # What is made of the walks between two users: a matrix with a column a length.
        self.walks: dict[str, Callable[[Pairs, Scores], Scores]] = {
            "paths of three": partial(self._walks_of, 3),
            **{f"walks of {hop}": partial(self._walks_of, hop) for hop in range(4, self.hops + 1)},
            **{f"PageRank {alpha}": partial(self._page_rank, alpha, False) for alpha in ALPHAS},
            **{f"PageRank {alpha} by degree": partial(self._page_rank, alpha, True) for alpha in ALPHAS},
        }
        self.spectral: dict[str, Callable[[Pairs], Scores]] = {}
        for rank in RANKS:
            self.spectral[f"spectral {rank}"] = partial(self.spectrum.products, rank=rank)
            self.spectral[f"cosine {rank}"] = partial(self.spectrum.cosines, rank=rank)
        self.names = [*self.near, *self.walks, *self.spectral]

    def scores(self, pairs: Pairs, wanted: Collection[str]) -> dict[str, Scores]:
        """The scores of these names."""
        scores = {name: score(pairs) for name, score in self.near.items() if name in wanted}
        if any(name in wanted for name in self.walks):
            walks = learn.walk_scores(self.graph, pairs, self.hops)
            scores |= {name: score(pairs, walks) for name, score in self.walks.items() if name in wanted}
        return scores | {name: score(pairs) for name, score in self.spectral.items() if name in wanted}

    def _walks_of(self, hop: int, pairs: Pairs, walks: Scores) -> Scores:
        return learn.by_degrees(self.graph, pairs, walks[:, hop - 1])

    def _page_rank(self, alpha: float, by_degree: bool, pairs: Pairs, walks: Scores) -> Scores:
        scores = learn.page_rank(walks, alpha)
        return learn.by_degrees(self.graph, pairs, scores) if by_degree else scores


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
        self.trees = learn.PairTrees(scores, linked) if len(pairs) >= learn.FEWEST_PAIRS else None
        if self.trees is not None:
            scores[TREES] = self.trees.unseen
        ranks = {name: Ranks(values) for name, values in scores.items()}
        shares = {name: ranks[name](values) for name, values in scores.items()}
        self.weights = learn.choose_blend(shares, lambda mean: area_under_curve(mean, linked), rounds)
        self.ranks = {name: ranks[name] for name in ranks if name in self.weights}
        self.validation_score = area_under_curve(learn.mix(shares, self.weights), linked)

    def __call__(self, pairs: Pairs) -> Scores:
        if len(pairs) == 0:
            return np.zeros(0)
        scores = self.candidates.scores(pairs, self.candidates.names if TREES in self.ranks else self.ranks)
        if self.trees is not None and TREES in self.ranks:
            scores[TREES] = self.trees(scores)
        return learn.mix({name: rank(scores[name]) for name, rank in self.ranks.items()}, self.weights)

    @property
    def embedding(self) -> NDArray[np.float32]:
        """The spectral embedding of all users."""
        return self.candidates.spectrum.embedding(EMBEDDING)


def learn_links(job: Job) -> Outcome:
    """Score pairs by the blend that is best on validation pairs."""
    watch = Stopwatch()
    job.say("links", 0.0)
    with watch.stage("train"):
        blend = LinkBlend(job.graph.unweighted(), job.settings.blend)
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
