"""What a model of classes learns towards: the labels that the server knows, and the norms where they are learned too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from graphveil import denoise, learn

if TYPE_CHECKING:
    from graphveil.methods.job import Job


def node_targets(job: Job, topology: learn.Topology) -> learn.Targets | learn.SeveralTargets:
    """The classes of users and, where they are learned too, the norms of their features."""
    classes = graph_targets(job, topology)
    if job.norms is None:
        return classes
    reported = learn.tensor(job.norms.standard.astype(np.float32), job.device)
    return learn.SeveralTargets(classes, reported, job.settings.norm_weight)


def graph_targets(job: Job, topology: learn.Topology, *, drop: bool = True) -> learn.Targets:
    """The labels that the server knows, as tensors; with the loss that the settings ask for where they are private."""
    graph, settings = job.graph, job.settings
    labels, train, validation = (
        learn.tensor(array, job.device) for array in (graph.labels, graph.train, graph.validation)
    )
    if graph.multilabel:
        return learn.MultilabelTargets(labels, train, validation)
    world = graph.world
    if job.label_mechanism is None or settings.label_loss == "plain":
        return learn.Targets(labels, train, validation, world=world)
    transition = learn.tensor(job.label_mechanism.transition.astype(np.float32), job.device)
    if settings.label_loss == "forward" or not drop:
        return learn.Targets(labels, train, validation, transition, world=world)
    hops = denoise.KProp(settings.drop_hops).operator(topology.unlooped)
    cleaned = denoise.spread_labels(labels, train | validation, graph.class_count, hops)
    return learn.DropTargets(labels, train, validation, transition, hops, cleaned, world=world)
