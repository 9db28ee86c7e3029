"""The candidates of `structure`: each gives every user a probability of every class, or of every label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphveil import learn
from graphveil.graphs.group import Group
from graphveil.methods.job import Job
from graphveil.methods.node_targets import graph_targets

if TYPE_CHECKING:
    from torch import Tensor

# After how many hops label propagation may stop.
HOPS = (1, 2, 3, 5, 10, 20, 50)
# Where fewer users than this train, the network with ids learns from the start, which is quick there. On validation users of three
# to six splits a blend was then better in six of nine cases (0.3 points on average over all nine, a patience of 30 for both).
MANY = 2000
Rows = NDArray[np.float32]
Quality = Callable[[Rows], Any]


def candidates(job: Job, quality: Quality, *, shared: bool = False) -> dict[str, Rows]:
    """All candidates by name, or those without parameters for each user (``shared``). ``quality`` judges rows of validation users."""
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
    """What the candidates share: the graph and the labels as tensors, and how to train."""

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
        self.schedule = learn.Schedule(
            job.settings.epochs, job.settings.lr, job.settings.weight_decay, job.settings.patience
        )

    def degrees(self, progress: learn.Progress) -> Tensor:
        degrees = learn.tensor(self.graph.degrees, self.device)
        if self.graph.multilabel:
            return learn.degree_rates(self.labels, degrees)
        rows = learn.degree_probabilities(self.labels, degrees, self.graph.world)
        return learn.true_classes(rows, self.response)

    def label_propagation(self, alpha: float, progress: learn.Progress) -> Tensor:
        """After that number of hops which is best on validation users."""
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
        shares = learn.class_shares(self.labels, self.graph.world)
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
