"""What methods that train a backbone have in common."""

from __future__ import annotations

import numpy as np

from graphveil import denoise, learn, linear
from graphveil.methods.method import Job, Outcome, Settings, Stopwatch


def train_backbone(
    job: Job,
    inputs: linear.Input,
    watch: Stopwatch,
    topology: learn.Topology | None = None,
    *,
    input_dropout: float = 0.0,
) -> Outcome:
    """Train the job's backbone on these inputs; the seed decides its first weights and its dropout.

    Messages pass along the graph's edges, or along another topology where one is given.
    """
    settings: Settings = job.settings
    topology = learn.Topology(job.graph, job.device) if topology is None else topology
    with watch.stage("train"), learn.seeded(job.seed):
        model = learn.build_backbone(
            job.backbone,
            inputs.shape[1],
            settings.hidden,
            job.output_count,
            activation=settings.activation,
            dropout=settings.dropout,
        ).to(job.device)
        fitted = learn.fit(
            model,
            inputs,
            topology,
            targets_of(job, topology),
            learn.Schedule(
                settings.epochs, settings.lr, settings.weight_decay, settings.patience, input_dropout
            ),
            lambda done, most, _: job.say("training", done / most),
        )
    return outcome(job, fitted, watch)


def targets_of(job: Job, topology: learn.Topology) -> learn.Goal:
    """What a model of this job learns towards."""
    if job.task == "link":
        return learn.LinkTargets(job.graph, job.device)
    return node_targets(job, topology)


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
    if job.label_mechanism is None or settings.label_loss == "plain":
        return learn.Targets(labels, train, validation)
    transition = learn.tensor(job.label_mechanism.transition.astype(np.float32), job.device)
    if settings.label_loss == "forward" or not drop:
        return learn.Targets(labels, train, validation, transition)
    hops = denoise.KProp(settings.drop_hops).operator(topology.unlooped)
    cleaned = denoise.spread_labels(labels, train | validation, graph.class_count, hops)
    return learn.DropTargets(labels, train, validation, transition, hops, cleaned)


def outcome(job: Job, fitted: learn.Fitted, watch: Stopwatch, detail: str = "") -> Outcome:
    """A trained model's result as an outcome."""
    scores = fitted.scores.detach().cpu().numpy()
    told = (fitted.validation_loss, fitted.validation_score, watch.seconds, detail)
    if job.task == "link":
        return Outcome(None, *told, learn.InnerProducts(scores), scores)
    hidden = None if fitted.hidden is None else fitted.hidden.cpu().numpy()
    if job.norms is None:
        return Outcome(scores, *told, embedding=hidden)
    classes, norms = scores[:, :-1], job.norms.predicted(scores[:, -1], job.graph.validation)
    return Outcome(classes, *told, embedding=hidden, norms=norms, constant_norm=job.norms.centre)
