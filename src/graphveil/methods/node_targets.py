"""What a model of classes learns towards: the labels that the server knows, and the norms where they are learned too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from graphveil.denoise.aggregators import KProp
from graphveil.denoise.drop import spread_labels
from graphveil.learn.several import SeveralTargets
from graphveil.learn.targets import DropTargets, Targets
from graphveil.learn.topology import Topology

if TYPE_CHECKING:
    from graphveil.methods.job import Job


def node_targets(job: Job, topology: Topology) -> Targets | SeveralTargets:
    """The classes of users and, where they are learned too, the norms of their features."""
    classes = graph_targets(job, topology)
    if job.norms is None:
        return classes
    reported = torch.tensor(job.norms.standard, dtype=torch.float32, device=job.device)
    return SeveralTargets(classes, reported, job.settings.norm_weight)


def graph_targets(job: Job, topology: Topology, *, drop: bool = True) -> Targets:
    """The labels that the server knows, as tensors; with the loss that the settings ask for where they are private."""
    graph, settings = job.graph, job.settings
    labels, train, validation = (
        torch.tensor(array, device=job.device) for array in (graph.labels, graph.train, graph.validation)
    )
    if job.label_mechanism is None or settings.label_loss == "plain":
        return Targets(labels, train, validation)
    transition = torch.tensor(job.label_mechanism.transition, dtype=torch.float32, device=job.device)
    if settings.label_loss == "forward" or not drop:
        return Targets(labels, train, validation, transition)
    hops = KProp(settings.drop_hops).operator(topology.unlooped)
    cleaned = spread_labels(labels, train | validation, graph.class_count, hops)
    return DropTargets(labels, train, validation, transition, hops, cleaned)
