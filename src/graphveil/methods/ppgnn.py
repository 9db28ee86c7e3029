"""ppgnn: every user chooses a privacy level, which stays private; neighbours count by how much noise their reports have."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from graphveil import denoise, learn, linear
from graphveil.mechanisms import PersonalMechanism
from graphveil.methods.base import BaseSettings
from graphveil.methods.job import Job
from graphveil.methods.method import HOPS_GRID, TRAINING_GRID, Capabilities, Method
from graphveil.methods.tasks import Outcome, Stopwatch
from graphveil.methods.training import train_backbone


class PpgnnSettings(BaseSettings):
    """Training, the scale of the input, how far FlexProp reaches and how it weighs."""

    hops: int = Field(4, ge=0, description="K, how many hops reports are averaged over")
    aggregator: Literal["flexprop", "kprop"] = Field(
        "flexprop", description="flexprop: users count by their weights; kprop: all alike"
    )
    weights: Literal["inverse-variance", "printed"] = Field(
        "inverse-variance",
        description="how users count: by the inverse variance of their report, or by their level as printed",
    )


class Ppgnn(Method):
    """Personalized differentially private learning for decentralized local graphs (He et al., PPGNN).

    Every user chooses one of f levels with public budgets (by default ε, 2ε, …, 2^(f-1)ε) and reports by `ppm`: a randomized
    level, and signs of as many values as that level says. FlexProp averages over K hops, neighbours and oneself weighted by
    1/σ² given the reported level. The document derives these weights, says that they are "not always feasible", and takes the
    reported level itself (``weights=printed``); given that level the variance is public, so here they are feasible.
    ``ppm-printed`` is the document's own mechanism, which reveals the level. With a mechanism without levels everybody has the
    strictest budget and counts alike.
    """

    name = "ppgnn"
    summary = "every user chooses a privacy level; FlexProp weighs reports by it, then a GNN"
    mechanism = "ppm"
    settings = PpgnnSettings
    can = Capabilities(levels=6, norms=True, new_users=True, parts=True)
    grid: ClassVar[dict[str, tuple[Any, ...]]] = (
        TRAINING_GRID | HOPS_GRID | {"weights": ("inverse-variance", "printed")}
    )

    def learn(self, job: Job) -> Outcome:
        settings: PpgnnSettings = job.settings
        watch, topology = Stopwatch(), learn.Topology(job.graph, job.device)
        with watch.stage("report"):
            job.say("reporting", 0.0)
            reports = job.users.report(*job.questions.features)
        with watch.stage("denoise"):
            inputs = learn.report_input(reports, settings.share, job.device, job.max_memory)
            if settings.aggregator == "kprop":
                hops = denoise.KProp(settings.hops).operator(topology.unlooped)
            else:
                # Whoever is silent counts for nothing.
                weights = np.zeros(job.graph.node_count)
                weights[reports.places] = 1.0
                if isinstance(reports.mechanism, PersonalMechanism):
                    variances = reports.mechanism.variances(reports.mechanism.level_shares(reports))
                    levels = reports.mechanism.levels(reports)
                    weights[reports.places] = denoise.user_weights(levels, variances, settings.weights)
                hops = denoise.FlexPropDenoiser(settings.hops).operator(job.graph, weights, job.device)
        return train_backbone(job, linear.Composition(hops, inputs), watch, topology)
