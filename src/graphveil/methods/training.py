"""What methods that train a backbone have in common, and what those that ask for links have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from graphveil import denoise, learn, linear
from graphveil.errors import InputError
from graphveil.methods.job import Job
from graphveil.methods.method import AUTO, ScaledSettings, Settings
from graphveil.methods.tasks import Outcome, Trained

# How much a weight is held to how plausible its pair is, and how much it is shrunk (Solitude's λ1 and λ2).
PULL, SHRINK = 10.0, 0.8


@dataclass(frozen=True)
class WeighedLinks:
    """Reported pairs that are plausible enough to stay, and the weights that they start from."""

    reported: int
    pattern: linear.PairPattern
    objective: learn.LinkObjective
    topology: learn.WeightedTopology


def weighed_links(job: Job, pull: float = PULL, shrink: float = SHRINK) -> WeighedLinks:
    """Ask for links, and weigh the reported pairs by how plausible they are; what is too implausible is dropped."""
    plan = job.questions.links
    assert plan is not None
    links = denoise.ReportedLinks.of(job.users.report(plan))
    job.say("weighing links", 0.0)
    plausible = learn.tensor(links.plausibilities().astype(np.float32))
    objective = learn.LinkObjective(plausible, pull, shrink)
    kept = objective.rest() > 0
    pattern = linear.PairPattern(links.pairs[kept.numpy()], links.users, job.device)
    objective = replace(objective, reported=objective.reported[kept].to(job.device))
    return WeighedLinks(
        len(links.pairs), pattern, objective, learn.WeightedTopology(pattern, objective.rest())
    )


def train_backbone(
    job: Job,
    inputs: linear.Input,
    topology: learn.Topology | None = None,
    *,
    input_dropout: float = 0.0,
    group_lasso: float = 0.0,
) -> Outcome:
    """Train the job's backbone on these inputs; the seed decides its first weights and its dropout.

    Where the settings leave the scale of the input open, the inputs are tried in several sizes. Messages pass along the graph's
    edges, or along another topology where one is given.
    """
    settings: Settings = job.settings
    topology = learn.Topology(job.graph, job.device) if topology is None else topology
    schedule = learn.Schedule(
        settings.epochs, settings.lr, settings.weight_decay, settings.patience, input_dropout, group_lasso
    )
    if job.training.trained is not None:
        with job.stage("train"):
            return job.task.outcome(job, _applied(job, job.training.trained, inputs, topology))
    with job.stage("train"):
        fitted, also = at_best_scale(
            settings, lambda factor, schedule: _trained(job, inputs, topology, schedule, factor), schedule
        )
    outcome = job.task.outcome(job, fitted)
    kept = None
    if fitted.weights is not None:
        kept = Trained(fitted.weights, fitted.factor, inputs.shape[1])
    return replace(outcome, also=outcome.also | also, trained=kept)


def _applied(job: Job, trained: Trained, inputs: linear.Input, topology: learn.Topology) -> learn.Fitted:
    """What a backbone that was trained before makes of these inputs; nothing is learned, and nobody's label is looked at."""
    if inputs.shape[1] != trained.columns:
        raise InputError(
            f"the model takes an input of {trained.columns} columns, and this one has {inputs.shape[1]}: apply it to the features that it was trained on"
        )
    with learn.seeded(job.seed):
        model = _backbone(job, trained.columns)
    return learn.apply(model, trained.weights, linear.scaled(inputs, trained.factor), topology)


def at_best_scale(
    settings: Settings,
    train: Callable[[float, learn.Schedule], learn.Fitted],
    schedule: learn.Schedule,
) -> tuple[learn.Fitted, dict[str, float]]:
    """A training on inputs times a factor: 1 where the settings name the scale, else the best; and the share that was chosen."""
    if not isinstance(settings, ScaledSettings) or settings.input_share != AUTO:
        return train(1.0, schedule), {}
    fitted, factor = learn.best_scale(train, schedule)
    return fitted, {"input_share": factor * settings.share}


def _trained(
    job: Job, inputs: linear.Input, topology: learn.Topology, schedule: learn.Schedule, factor: float
) -> learn.Fitted:
    """A training of the backbone on inputs times a factor, from the same first weights for each."""
    with learn.seeded(job.seed):
        fitted = learn.fit(
            _backbone(job, inputs.shape[1]),
            linear.scaled(inputs, factor),
            topology,
            job.task.goal(job, topology),
            schedule,
            lambda done, most, _: job.say("training", done / most),
            keep_weights=job.training.keep,
            checkpoints=job.training.checkpoints,
        )
    return replace(fitted, factor=factor)


def _backbone(job: Job, columns: int) -> learn.Backbone:
    """The job's backbone with its first weights, for an input of so many columns."""
    settings: Settings = job.settings
    model = learn.build_backbone(
        job.backbone,
        columns,
        settings.hidden,
        job.task.output_count(job),
        activation=settings.activation,
        dropout=settings.dropout,
    ).to(job.device)
    if isinstance(model, learn.OutsideBackbone):
        model.max_memory = job.max_memory
    return model
