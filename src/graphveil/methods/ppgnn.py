"""ppgnn: every user chooses a privacy level, which stays private; neighbours count by how much noise their reports have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graphveil import denoise, learn, linear
from graphveil.graphs.graph import Graph
from graphveil.mechanisms import PersonalMechanism
from graphveil.methods.base import BaseSettings
from graphveil.methods.job import Job
from graphveil.methods.method import HOPS_GRID, TRAINING_GRID, Capabilities, Grid, Method, train_backbone
from graphveil.methods.tasks import Outcome

Floats = NDArray[np.float64]


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
    grid: ClassVar[Grid] = TRAINING_GRID | HOPS_GRID | {"weights": ("inverse-variance", "printed")}

    def learn(self, job: Job) -> Outcome:
        settings: PpgnnSettings = job.settings
        topology = learn.Topology(job.graph, job.device)
        reports = job.ask(*job.questions.features)
        with job.stage("denoise"):
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
                matrix = linear.weighted_mean_matrix(job.graph, weights, device=job.device)
                hops = denoise.KProp(settings.hops).operator(matrix)
        return train_backbone(job, linear.Composition(hops, inputs), topology)


@dataclass(frozen=True)
class LevelError:
    """One level: its budget, who chose it, and expected errors of a feature's estimate, as shares of the public range.

    ``own`` is the error of one report of a user of this level. ``mean`` is that of the weighted mean over a user's
    neighbourhood where everybody is asked, ``without`` the same where this level and all stricter ones are left out.
    """

    level: int
    budget: float
    share: float
    answered: float
    own: float
    mean: float
    without: float | None


def level_errors(graph: Graph, mechanism: PersonalMechanism, shares: Floats) -> list[LevelError]:
    """Return what each level costs on this graph at these shares of the levels: root mean square errors; nobody is asked.

    A report beside the randomized level t has the variance σ²_t (`PersonalMechanism.variances`), and weights 1/σ² give a mean
    over a neighbourhood, the user included, the variance 1/Σ 1/σ². Levels are taken as independent of who knows whom, and the
    sum as (deg + 1) times its expectation. Where strict levels are left out there are fewer reports, but each says more.

    Parameters
    ----------
    mechanism
        The mechanism, with its levels.
    shares
        The share of users of each level.
    """
    width = float(mechanism.public.high - mechanism.public.low)
    reach = graph.degrees.astype(np.float64) + 1
    own = np.sqrt(mechanism.level_errors(shares)) / width
    answered = mechanism.answered_by_level()
    levels = np.arange(1, len(shares) + 1)
    everybody = _mean_error(mechanism, shares, reach) / width
    errors = []
    for level in levels.tolist():
        left = np.where(levels > level, shares, 0.0)
        without = _mean_error(mechanism, left, reach) / width if left.sum() > 0 else None
        errors.append(
            LevelError(
                level,
                mechanism.budgets[level - 1],
                float(shares[level - 1]),
                float(answered[level - 1]),
                float(own[level - 1]),
                everybody,
                without,
            )
        )
    return errors


def _mean_error(mechanism: PersonalMechanism, asked: Floats, reach: Floats) -> float:
    """The root mean square error of a neighbourhood's mean, where these shares of all users are asked."""
    among = asked / asked.sum()
    precision = asked.sum() * float(
        (among @ mechanism.clamped_transition() / mechanism.variances(among)).sum()
    )
    return float(np.sqrt((1 / (reach * precision)).mean()))
