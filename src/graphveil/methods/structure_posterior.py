"""What graph and labels alone say of every user, as probabilities that can be relied upon."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from graphveil import learn
from graphveil.errors import InputError
from graphveil.graphs.graph import UNKNOWN, Graph
from graphveil.graphs.part import Group
from graphveil.methods.job import Job
from graphveil.methods.structure import StructureSettings, blended, transition_of, validation_score
from graphveil.methods.tasks import LINK

# So many hops of label propagation say how much has reached a user.
REACH_HOPS = 10


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
            "structure_posterior gives probabilities of classes, and this job predicts links: take the task node"
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
    """How much of the training users' labels, whatever they are, label propagation brings to each user within some hops."""
    known = learn.tensor(graph.train[:, None].astype(np.float32), "cpu")
    spread = learn.spread(known, learn.Topology(graph).ordered, alpha)
    reached = next(islice(spread, REACH_HOPS - 1, None))
    mass: NDArray[np.float64] = reached[:, 0].numpy().astype(np.float64)
    return mass


def with_known_labels(rows: NDArray[np.float64], graph: Graph) -> NDArray[np.float64]:
    """The same probabilities, but for training users, who have their label for certain."""
    known = rows.copy()
    if graph.multilabel:
        known[graph.train] = graph.labels[graph.train] > 0
        return known
    users = np.flatnonzero(graph.train & (graph.labels != UNKNOWN))
    known[users] = 0
    known[users, graph.labels[users]] = 1
    return known
