"""structure: graph and training labels, no features at all. What a budget has to beat.

Scores of users are blended from candidates, calibrated ones are what other methods start from (`structure_posterior`), and where links are
predicted the candidates are scores of pairs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graphveil import learn
from graphveil.errors import InputError
from graphveil.graphs.graph import UNKNOWN, Graph
from graphveil.graphs.metrics import area_under_curve, measure, micro_f1
from graphveil.graphs.part import GraphPart, Group
from graphveil.methods.job import Job
from graphveil.methods.method import Capabilities, Method, Settings
from graphveil.methods.tasks import LINK, Outcome, graph_targets

if TYPE_CHECKING:
    from torch import Tensor

    from graphveil.graphs.links import Pairs
    from graphveil.learn.link_scores import Scores

# After how many hops label propagation may stop.
HOPS = (1, 2, 3, 5, 10, 20, 50)
# Where fewer users than this train, the network with ids learns from the start, which is quick there. On validation users of three
# to six splits a blend was then better in six of nine cases (0.3 points on average over all nine, a patience of 30 for both).
MANY = 2000
Rows = NDArray[np.float32]
Quality = Callable[[Rows], Any]
# Below this a probability counts as this, so that its logarithm is finite.
SMALLEST = 1e-9
# Of several labels, those more likely than this are predicted.
HALF = 0.5
# Blends of the last jobs, by a digest of all that they depend on.
KEPT_BLENDS = 6
_blends: dict[str, tuple[Rows, str]] = {}
# So many hops of label propagation say how much has reached a user.
REACH_HOPS = 10
# How many directions of the spectrum are read, and how many are handed out as an embedding.
RANKS = (16, 32, 64, 128)
EMBEDDING = 64
TREES = "trees"
# PageRank: the chance to walk on.
ALPHAS = (0.7, 0.95)
# How long walks may be; shorter where users x links are more than so many.
LONG_WALK, SHORT_WALK, LONG_WALK_WORK = 12, 5, 2e9


class StructureSettings(Settings):
    """Training of the candidates that are trained, and how to choose."""

    epochs: int = Field(200, ge=1, description="epochs at most, for each candidate")
    lr: float = Field(0.02, gt=0, description="learning rate of Adam")
    patience: int | None = Field(
        50, ge=1, description="stop after so many epochs without a lower validation loss"
    )
    alpha: float = Field(
        0.9, gt=0, lt=1, description="label propagation: weight of the neighbours beside one's own label"
    )
    label_hops: int = Field(6, ge=1, description="how far away the networks read labels")
    masked: float = Field(
        0.5,
        gt=0,
        lt=1,
        description="share of the training labels that is hidden from the networks each epoch",
    )
    blend: int = Field(
        4,
        ge=1,
        description="how many candidates may be averaged, repeats counted; 1 takes the best one alone",
    )
    candidates: Literal["all", "shared"] = Field(
        "all",
        description="shared: no candidate with parameters for each user; where several workers learn these are all",
    )


class Structure(Method):
    """Candidates that use graph and training labels alone, and the blend of them that is best on validation users.

    The candidates are degrees, label propagation, a network on masked labels, the same with ids, and linear models on
    adjacency rows. No user is asked for anything. What a private method adds to this is what its reports are worth; on
    graphs where neighbours are alike and many labels are known that is little, so the candidates are meant to be strong.
    Where users have several labels each, the candidates are the same, with a probability of each label, judged by F1.

    Where each worker holds a part of the graph, candidates with parameters for each user (ids, adjacency rows) are left out: one
    process learns the same with ``candidates=shared``.

    Where links are predicted, the candidates are scores of pairs from the training links, see `LinkBlend`.
    """

    name = "structure"
    summary = "graph and training labels only, no features: what a budget has to beat"
    settings = StructureSettings
    can = Capabilities("unused", several_labels=True, parts=True)

    def learn(self, job: Job) -> Outcome:
        if job.task is LINK:
            return _learn_links(job)
        # Its candidates count links, and do not weigh them.
        job = replace(job, graph=job.graph.unweighted())
        graph = job.graph
        with job.stage("train"):
            rows, detail = blended(job)
        held_out = Group.of(graph, graph.validation).rows(rows)
        loss = -validation_quality(graph, held_out, transition_of(job))[1]
        return Outcome(
            scores_of(rows, several=graph.multilabel),
            loss,
            validation_score(graph, rows),
            detail=detail,
        )


@dataclass(frozen=True)
class Posterior:
    """Probabilities of all users' classes (n x C) from graph and labels, before anybody is asked for features.

    ``rows`` are calibrated, and training users have their label where it is known exactly; ``raw`` are those by which `structure`
    scores. Where users have several labels each, a column is the probability of one label. ``reach`` is the label mass that
    label propagation brings to each user (n numbers): it is public, and what ``temperatures`` differ by. ``detail`` names the
    candidates that were blended. ``validation_loss`` is that of ``rows``, whose temperatures come from the other half of the
    validation users; ``validation_score`` is that of ``raw``.
    """

    rows: NDArray[np.float64]
    raw: NDArray[np.float32]
    reach: NDArray[np.float64]
    detail: str
    validation_loss: float
    validation_score: float
    temperatures: tuple[float, ...] = (1.0,)


def structure_posterior(job: Job, settings: StructureSettings | None = None) -> Posterior:
    """The calibrated posterior of graph and labels, for a job of any method; nobody is asked for anything.

    ``settings`` are those of `structure`, its defaults unless given: the job's own are the method's that asks.
    Temperatures are fitted on validation users, in bins of the label mass that reaches a user.
    """
    if job.task is LINK:
        raise InputError(
            "structure_posterior is about classes, and this job predicts links: take the task node"
        )
    job = replace(job, settings=settings or StructureSettings.of(None), graph=job.graph.unweighted())
    graph, transition = job.graph, transition_of(job)
    raw, detail = blended(job)
    reach = label_reach(graph, job.settings.alpha)
    judges = Group.of(graph, graph.validation)
    rows, temperatures = learn.calibrated(raw, graph.labels, reach, judges, transition)
    losses = learn.log_losses(judges.rows(rows), judges.rows(graph.labels), transition)
    if job.label_mechanism is None:
        rows = with_known_labels(rows, graph)
    values = tuple(temperatures.values.tolist())
    return Posterior(rows, raw, reach, detail, float(losses.mean()), validation_score(graph, raw), values)


def label_reach(graph: Graph, alpha: float) -> NDArray[np.float64]:
    """Return how much of the training users' labels, whatever they are, spreads to each user: (users,)."""
    known = learn.tensor(graph.train[:, None].astype(np.float32), "cpu")
    spread = learn.spread(known, learn.Topology(graph).ordered, alpha)
    reached = next(islice(spread, REACH_HOPS - 1, None))
    mass: NDArray[np.float64] = reached[:, 0].numpy().astype(np.float64)
    return mass


def with_known_labels(rows: NDArray[np.float64], graph: Graph) -> NDArray[np.float64]:
    """Return probabilities in which training users have their label for certain."""
    known = rows.copy()
    if graph.multilabel:
        known[graph.train] = graph.labels[graph.train] > 0
        return known
    users = np.flatnonzero(graph.train & (graph.labels != UNKNOWN))
    known[users] = 0
    known[users, graph.labels[users]] = 1
    return known


def blended(job: Job) -> tuple[Rows, str]:
    """Return probabilities of all users by the blend that is best on validation users, and the names of what was blended.

    Several parts of one run begin with the same blend: the last ones are kept.
    """
    graph, transition = job.graph, transition_of(job)
    key = _blend_key(job, transition)
    if key in _blends:
        return _blends[key]
    judges = Group.of(graph, graph.validation)
    labels = judges.rows(graph.labels)

    def quality(rows: Rows) -> tuple[float, float]:
        return validation_quality(graph, rows, transition, labels)

    shared = shared_alone(job)
    predictions = candidates(job, quality, shared=shared)
    held_out = {name: judges.rows(rows) for name, rows in predictions.items()}
    weights = learn.choose_blend(held_out, quality, job.settings.blend)
    names = " + ".join(name for name in predictions if name in weights)
    rows = learn.mix(predictions, weights)
    rows.setflags(write=False)
    while len(_blends) >= KEPT_BLENDS:
        _blends.pop(next(iter(_blends)))
    _blends[key] = rows, f"{names} (of candidates without parameters for each user)" if shared else names
    return _blends[key]


def forget_blends() -> None:
    """Compute blends anew from here on, to watch how they come about."""
    _blends.clear()


def _blend_key(job: Job, transition: NDArray[np.float64] | None) -> str:
    """Return a digest of all that a blend depends on."""
    graph, settings = job.graph, job.settings
    own = {name: getattr(settings, name) for name in StructureSettings.model_fields}
    told = hashlib.sha256(
        repr((graph.class_count, graph.metric, job.seed, job.device, settings.label_loss)).encode()
    )
    told.update(StructureSettings.of(own).model_dump_json().encode())
    parts = graph.link_arrays if isinstance(graph, GraphPart) else ()
    known = (graph.labels, graph.train, graph.validation, transition)
    for array in (graph.indptr, graph.indices, *parts, *known):
        told.update(b"-" if array is None else np.ascontiguousarray(array).tobytes())
    # Workers blend together: all of them find a blend that is kept, or none does.
    told.update(graph.collective.gather(np.frombuffer(told.digest(), dtype=np.uint8)).tobytes())
    return told.hexdigest()


def shared_alone(job: Job) -> bool:
    """Return whether candidates with parameters for each user are left out."""
    return job.settings.candidates == "shared" or isinstance(job.graph, GraphPart)


def candidates(job: Job, quality: Quality, *, shared: bool = False) -> dict[str, Rows]:
    """Return all candidates by name.

    Parameters
    ----------
    quality
        A function that judges rows of validation users.
    shared
        Whether to leave out candidates with parameters for each user.
    """
    of = _Candidates(job, quality)
    makers: dict[str, Callable[[learn.Progress], Tensor]] = {
        "degrees": of.degrees,
        "label propagation": lambda progress: of.label_propagation(job.settings.alpha, progress),
        "gnn on labels": lambda progress: of.label_network(False, progress),
    }
    if not shared:
        makers |= {
            "gnn on ids and labels": lambda progress: of.label_network(True, progress),
            "link": lambda progress: of.link(False, progress),
            "link by degree": lambda progress: of.link(True, progress),
        }
    if of.targets.transition is not None:
        # One's own report is no anchor where it is noise: let it go with the hops.
        makers["label diffusion"] = lambda progress: of.label_propagation(1.0, progress)
    predictions = {}
    for place, (name, make) in enumerate(makers.items()):

        def progress(done: int, most: int, _: float, place: int = place, name: str = name) -> None:
            job.say(name, (place + done / most) / len(makers))

        progress(0, 1, 0.0)
        # Each candidate starts from the seed, whatever came before it.
        with learn.seeded(job.seed):
            predictions[name] = make(progress).detach().cpu().numpy()
    return predictions


class _Candidates:
    """The data that all candidates share: the graph and the labels as tensors, and how to train."""

    def __init__(self, job: Job, quality: Quality) -> None:
        self.graph, self.settings, self.quality, self.device = job.graph, job.settings, quality, job.device
        self.topology = learn.Topology(job.graph, job.device)
        self.targets = graph_targets(job, self.topology, drop=False)
        self.response: Tensor | None = None
        if job.label_mechanism is not None and self.targets.transition is not None:
            self.response = learn.tensor(job.label_mechanism.transition, job.device)
        self.labels = learn.training_labels(self.targets, job.graph.class_count)
        # What both networks on labels read, and the one without ids, from which the other goes on.
        self.masked: learn.MaskedInputs | None = None
        self.without_ids: learn.LabelNetwork | None = None
        # Several labels a user spread beside who is known, so that what arrives says how common each is.
        if self.graph.multilabel:
            self.labels = learn.with_known(self.labels, self.targets.train)
        self.judges = Group.of(job.graph, job.graph.validation)
        self.schedule = job.settings.schedule()

    def degrees(self, progress: learn.Progress) -> Tensor:
        degrees = learn.tensor(self.graph.degrees, self.device)
        if self.graph.multilabel:
            return learn.degree_rates(self.labels, degrees)
        rows = learn.degree_probabilities(self.labels, degrees, self.graph.collective)
        return learn.true_classes(rows, self.response)

    def label_propagation(self, alpha: float, progress: learn.Progress) -> Tensor:
        """Spread labels over the number of hops that is best on validation users."""
        best, best_quality = self.labels, None
        hops = enumerate(islice(learn.spread(self.labels, self.topology.ordered, alpha), max(HOPS)), 1)
        for hop, reached in hops:
            if hop in HOPS:
                rows = self._arrived(reached)
                reached_quality = self.quality(self.judges.rows(rows.cpu().numpy()))
                if best_quality is None or reached_quality > best_quality:
                    best, best_quality = rows, reached_quality
            progress(hop, max(HOPS), 0.0)
        return best

    def _arrived(self, reached: Tensor) -> Tensor:
        """Labels that have spread, as probabilities."""
        if self.graph.multilabel:
            return learn.as_rates(reached, learn.known_rates(self.labels))
        shares = learn.class_shares(self.labels, self.graph.collective)
        return learn.true_classes(learn.as_probabilities(reached, shares), self.response)

    def label_network(self, ids: bool, progress: learn.Progress) -> Tensor:
        """Trained on masked labels; where these are many, ids are added to the network that has learned without them."""
        settings = self.settings
        model = learn.LabelNetwork(
            self.graph.node_count,
            self.graph.class_count,
            settings.label_hops,
            settings.hidden,
            ids,
            settings.activation,
            settings.dropout,
        ).to(self.device)
        if self.masked is None:
            self.masked = learn.masked_inputs(
                model, self.topology, self.targets, settings.masked, settings.epochs
            )
        schedule = self.schedule
        if ids and self.without_ids is not None and self.graph.train.sum() >= MANY:
            model.go_on_from(self.without_ids)
            # It starts near its end, which half of the patience finds.
            schedule = replace(schedule, patience=schedule.patience and -(-schedule.patience // 2))
        fitted = learn.fit_masked(model, self.topology, self.targets, schedule, self.masked, progress)
        if not ids:
            self.without_ids = model
        return self.targets.probabilities(fitted.scores)

    def link(self, by_degree: bool, progress: learn.Progress) -> Tensor:
        rows = learn.adjacency_rows(self.graph, by_degree=by_degree)
        fitted = learn.fit_link(rows, self.graph.class_count, self.targets, self.schedule, progress)
        return self.targets.probabilities(fitted.scores)


def transition_of(job: Job) -> NDArray[np.float64] | None:
    """Return the transition matrix of private labels, where losses are corrected for it; else None."""
    corrected = job.label_mechanism is not None and job.settings.label_loss != "plain"
    return job.label_mechanism.transition if job.label_mechanism and corrected else None


def scores_of(rows: NDArray[np.float32], *, several: bool) -> NDArray[np.float32]:
    """Probabilities as scores: their logarithms, or their log-odds where users have several labels each."""
    if not several:
        return np.log(np.maximum(rows, SMALLEST)).astype(np.float32)
    # In double precision, in which 1 less the smallest is not 1.
    wide = rows.astype(np.float64)
    odds: NDArray[np.float64] = np.log(np.maximum(wide, SMALLEST)) - np.log(np.maximum(1 - wide, SMALLEST))
    return odds.astype(np.float32)


def validation_score(graph: Graph, rows: NDArray[np.float32]) -> float:
    """Return the accuracy on the validation users of all workers; with several labels each, the micro-F1."""
    if graph.multilabel:
        return micro_f1(rows[graph.validation] > HALF, graph.labels[graph.validation] > 0)
    right = rows.argmax(1) == graph.labels
    return float(Group.of(graph, graph.validation).rows(right).mean())


def validation_quality(
    graph: Graph,
    rows: NDArray[np.float32],
    transition: NDArray[np.float64] | None = None,
    labels: NDArray[np.int64] | None = None,
) -> tuple[float, float]:
    """Return the graph's metric and minus the loss of the validation users' probabilities: higher is better.

    Parameters
    ----------
    rows
        Probabilities of the validation users of all workers: (validation users, classes) float32.
    transition
        The chance of each report given each class, where labels are private: the loss is then that of the
        reports which the probabilities predict.
    labels
        The labels of these users; brought together from all workers unless they are given.
    """
    if labels is None:
        labels = Group.of(graph, graph.validation).rows(graph.labels)
    if graph.multilabel:
        right = np.where(labels > 0, rows, 1 - rows)
        return micro_f1(rows > HALF, labels > 0), float(np.log(np.maximum(right, SMALLEST)).mean())
    everyone = np.ones(len(labels), dtype=bool)
    metric = graph.metric if len(np.unique(labels)) > 1 else "accuracy"
    predicted = rows if transition is None else rows @ transition
    likelihood = np.log(np.maximum(predicted[np.arange(len(labels)), labels], SMALLEST)).mean()
    return measure(metric, rows, labels, everyone, graph.class_count), float(likelihood)


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
        known_scores = {name: np.sort(values) for name, values in scores.items()}
        shares = {name: rank_shares(known_scores[name], values) for name, values in scores.items()}
        self.weights = learn.choose_blend(shares, lambda mean: area_under_curve(mean, linked), rounds)
        self.chosen = {name: known_scores[name] for name in known_scores if name in self.weights}
        self.validation_score = area_under_curve(learn.mix(shares, self.weights), linked)

    def __call__(self, pairs: Pairs) -> Scores:
        if len(pairs) == 0:
            return np.zeros(0)
        scores = self.candidates.scores(pairs, self.candidates.names if TREES in self.chosen else self.chosen)
        if self.trees is not None and TREES in self.chosen:
            scores[TREES] = self.trees(scores)
        shares = {name: rank_shares(known, scores[name]) for name, known in self.chosen.items()}
        return learn.mix(shares, self.weights)


def rank_shares(known: Scores, scores: Scores) -> Scores:
    """Return which share of sorted known scores is below each score, ties counted half.

    >>> rank_shares(np.array([1.0, 2.0, 2.0, 3.0]), np.array([2.0, 9.0])).tolist()
    [0.5, 1.0]
    """
    below, up_to = (np.searchsorted(known, scores, side) for side in ("left", "right"))
    shares: Scores = (below + up_to) / (2 * len(known))
    return shares


def _learn_links(job: Job) -> Outcome:
    """Score pairs by the blend that is best on validation pairs; the embedding is spectral."""
    with job.stage("train", "links"):
        blend = LinkBlend(job.graph.unweighted(), job.settings.blend)
    job.say("links", 1.0)
    return Outcome(
        None,
        1 - blend.validation_score,
        blend.validation_score,
        detail=" + ".join(blend.chosen),
        pair_scores=blend,
        embedding=blend.candidates.spectrum.embedding(EMBEDDING),
    )
