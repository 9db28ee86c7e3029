"""Train a job's backbone, which most methods end in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from graphveil import learn, linear
from graphveil.errors import InputError
from graphveil.methods.job import Job
from graphveil.methods.method import AUTO, ScaledSettings, Settings
from graphveil.methods.tasks import Outcome, Trained


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
    schedule = settings.schedule(input_dropout=input_dropout, group_lasso=group_lasso)
    if job.training.trained is not None:
        with job.stage("train"):
            return job.task.outcome(job, _applied(job, job.training.trained, inputs, topology))
    with job.stage("train"):
        fitted, also = at_best_scale(
            settings, lambda factor, schedule: _trained(job, inputs, topology, schedule, factor), schedule
        )
    outcome = job.task.outcome(job, fitted)
    kept = fitted.weights and Trained(fitted.weights, fitted.factor, inputs.shape[1])
    return replace(outcome, also=outcome.also | also, trained=kept or None)


def _applied(job: Job, trained: Trained, inputs: linear.Input, topology: learn.Topology) -> learn.Fitted:
    """What a backbone that was trained before makes of these inputs; nothing is learned, and nobody's label is looked at."""
    if inputs.shape[1] != trained.columns:
        raise InputError(
            f"the model takes {trained.columns} columns and got {inputs.shape[1]}: apply it to the features that it was trained on"
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
            job.tell_epoch,
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
