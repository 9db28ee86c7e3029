"""What methods that train a backbone have in common."""

from __future__ import annotations

import torch

from graphveil.denoise.aggregators import KProp
from graphveil.denoise.drop import spread_labels
from graphveil.learn.backbones import build_backbone
from graphveil.learn.link_targets import InnerProducts, LinkTargets
from graphveil.learn.outside_backbone import OutsideBackbone
from graphveil.learn.several import SeveralTargets
from graphveil.learn.targets import DropTargets, Goal, Targets
from graphveil.learn.topology import Topology
from graphveil.learn.training import Fitted, Schedule, fit
from graphveil.linear.composition import Input
from graphveil.methods.method import Job, Outcome, Settings, Stopwatch


def train_backbone(
    job: Job,
    inputs: Input,
    watch: Stopwatch,
    topology: Topology | None = None,
    *,
    input_dropout: float = 0.0,
) -> Outcome:
    """Train the job's backbone on these inputs; the seed decides its first weights and its dropout.

    Messages pass along the graph's edges, or along another topology where one is given.
    """
    settings: Settings = job.settings
    topology = Topology(job.graph, job.device) if topology is None else topology
    with watch.stage("train"), torch.random.fork_rng(devices=[]):
        torch.manual_seed(job.seed)
        model = build_backbone(
            job.backbone,
            inputs.shape[1],
            settings.hidden,
            job.output_count,
            activation=settings.activation,
            dropout=settings.dropout,
        ).to(job.device)
        if isinstance(model, OutsideBackbone):
            model.max_memory = job.max_memory
        fitted = fit(
            model,
            inputs,
            topology,
            targets_of(job, topology),
            Schedule(settings.epochs, settings.lr, settings.weight_decay, settings.patience, input_dropout),
            lambda done, most, _: job.say("training", done / most),
        )
    return outcome(job, fitted, watch)


def targets_of(job: Job, topology: Topology) -> Goal:
    """What a model of this job learns towards."""
    if job.task == "link":
        return LinkTargets(job.graph, job.device)
    return node_targets(job, topology)


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


def outcome(job: Job, fitted: Fitted, watch: Stopwatch, detail: str = "") -> Outcome:
    """A trained model's result as an outcome."""
    scores = fitted.scores.detach().cpu().numpy()
    told = (fitted.validation_loss, fitted.validation_score, watch.seconds, detail)
    if job.task == "link":
        return Outcome(None, *told, InnerProducts(scores), scores)
    hidden = None if fitted.hidden is None else fitted.hidden.cpu().numpy()
    if job.norms is None:
        return Outcome(scores, *told, embedding=hidden)
    classes, norms = scores[:, :-1], job.norms.predicted(scores[:, -1], job.graph.validation)
    return Outcome(classes, *told, embedding=hidden, norms=norms, constant_norm=job.norms.centre)
