"""What methods that train a backbone have in common."""

from __future__ import annotations

from graphveil import learn, linear
from graphveil.methods.job import Job
from graphveil.methods.method_settings import Settings
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
        if isinstance(model, learn.OutsideBackbone):
            model.max_memory = job.max_memory
        fitted = learn.fit(
            model,
            inputs,
            topology,
            job.task.goal(job, topology),
            learn.Schedule(
                settings.epochs,
                settings.lr,
                settings.weight_decay,
                settings.patience,
                input_dropout,
                group_lasso,
            ),
            lambda done, most, _: job.say("training", done / most),
        )
    return job.task.outcome(job, fitted, watch)
