"""What methods that train a backbone have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from graphveil import learn, linear
from graphveil.methods.job import Job
from graphveil.methods.method_settings import AUTO, ScaledSettings, Settings
from graphveil.methods.outcome import Outcome, Stopwatch


def train_backbone(
    job: Job,
    inputs: linear.Input,
    watch: Stopwatch,
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
    with watch.stage("train"):
        fitted, also = at_best_scale(
            settings, lambda factor, schedule: _trained(job, inputs, topology, schedule, factor), schedule
        )
    outcome = job.task.outcome(job, fitted, watch)
    return replace(outcome, also=outcome.also | also)


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
    settings: Settings = job.settings
    with learn.seeded(job.seed):
        model = learn.build_backbone(
            job.backbone,
            inputs.shape[1],
            settings.hidden,
            job.output_count,
            activation=settings.activation,
            dropout=settings.dropout,
        ).to(job.device)
        if isinstance(model, learn.OutsideBackbone):
            model.max_memory = job.max_memory
        return learn.fit(
            model,
            linear.scaled(inputs, factor),
            topology,
            job.task.goal(job, topology),
            schedule,
            lambda done, most, _: job.say("training", done / most),
        )
