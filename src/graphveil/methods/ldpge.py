"""ldpge: reports spread by personalized PageRank; classes by a small network on them, links by Hadamard products."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graphveil import denoise, learn, linear
from graphveil.mechanisms import Estimate, Reports
from graphveil.methods.base import BaseSettings
from graphveil.methods.job import Job
from graphveil.methods.method import Method, register_method
from graphveil.methods.method_settings import SCALE_GRID, TRAINING_GRID
from graphveil.methods.outcome import Outcome, Stopwatch
from graphveil.methods.training import train_backbone
from graphveil.privacy import Plan


class LdpgeSettings(BaseSettings):
    """Training, the scale of the input, and how far and to whom reports spread."""

    hidden: int = Field(64, ge=1, description="columns of the hidden layer")
    patience: int | None = Field(
        60, ge=1, description="stop after so many epochs without a lower validation loss"
    )
    input_share: float = Field(
        1 / 4,
        gt=0,
        description="expected norm of a report, as a share of the root of the number of features",
    )
    alpha: float = Field(
        0.03, gt=0, lt=1, description="α, the chance that a walk stops; small ones reach far"
    )
    r: float = Field(0.1, ge=0, le=1, description="r of D^(r-1) A D^-r: how much degrees count")
    r_max: float = Field(
        1e-4,
        gt=0,
        description="where Z is written down: the error of an entry that is allowed, times deg^r, as a share of the "
        "largest possible report",
    )
    series_error: float = Field(
        0.01, gt=0, description="where weights come before the hops: the error that is allowed, relatively"
    )
    k: int | None = Field(
        None, ge=1, description="features that each user answers; none: what the mechanism takes at this ε"
    )
    algorithm: Literal["auto", "push", "power", "chebyshev"] = Field(
        "auto", description="how to propagate where the whole result is needed"
    )
    decoder: Literal["hadamard", "dot"] = Field(
        "hadamard",
        description="links: hadamard (logistic regression on products of Z) or dot (the backbone as encoder, inner products)",
    )
    link_epochs: int = Field(5, ge=0, description="epochs at most for the weights of Hadamard products")
    link_lr: float = Field(0.01, gt=0, description="their learning rate, as a share of what they start with")


class Ldpge(Method):
    """Locally differentially private graph embedding (Li et al. 2024, LDP-GE).

    Features by HDS (k sampled values, square wave, as it is) or any mechanism; Z = Σ_l α(1-α)^l (D^(r-1) A D^-r)^l X'. A user
    without neighbours keeps the own report. Classes: a network on Z (the backbone mlp), whose first weights are applied
    before the hops, so that Z is never written down. Links: logistic regression on Hadamard products of two rows of Z, by a
    pairwise loss, with Z propagated over training links alone; this needs all of Z, users x features numbers.

    Beside the reports' columns links are judged by the column that propagation makes of a constant, which is public and holds
    what degrees tell. Leaving it out, as estimates leave out their constant offset elsewhere, would lose it: unlike a bias,
    this column differs from user to user unless r = 0.
    """

    name = "ldpge"
    summary = "reports spread by personalized PageRank; a network for classes, Hadamard products for links"
    mechanism = "hds"
    backbone = "mlp"
    settings = LdpgeSettings
    several_tasks = True
    tuned: ClassVar[dict[str, dict[str, dict[str, Any]]]] = {
        "node": {
            "cora": {"k": 1},
            "citeseer": {"k": 10, "alpha": 0.1, "input_share": 1 / 8, "weight_decay": 0.01},
            "pubmed": {"k": 5, "alpha": 0.01, "input_share": 1.0},
            "facebook": {"k": 10, "alpha": 0.02},
        },
        "link": {
            "cora": {"k": 1, "alpha": 0.1},
            "citeseer": {"k": 1, "alpha": 0.1},
            "pubmed": {"k": 1, "alpha": 0.1},
            "facebook": {"k": 1, "alpha": 0.2},
            "wikipedia": {"k": 1, "alpha": 0.2, "r": 0.3},
        },
    }
    # The document searches by a tool and does not say where; k is what it varies in its figures, α and r are ours.
    grid = (
        TRAINING_GRID
        | SCALE_GRID
        | {
            "alpha": (0.01, 0.03, 0.05, 0.1, 0.2, 0.3),
            "r": (0.1, 0.3, 0.5, 0.7),
            "k": (1, 3, 5, 10, 20, 30, 50),
        }
    )

    def holds_dense(self, settings: Any, task: str) -> bool:
        """Hadamard products need all of Z."""
        return bool(task == "link" and settings.decoder == "hadamard")

    def defaults(self, data: str, task: str, mechanism: str) -> dict[str, Any]:
        """Those of the document's graphs; k is for HDS, the other mechanisms have a rule for it.

        For links users answer one value each, and walks are short, where nothing better is known.
        """
        known = {**({"k": 1, "alpha": 0.1} if task == "link" else {}), **self.tuned[task].get(data, {})}
        if mechanism != self.mechanism:
            known.pop("k", None)
        return known

    def feature_plans(self, job: Job) -> tuple[Plan, ...]:
        """One question, for k values."""
        return (job.feature_plan(sampled=job.settings.k),)

    def prepare(self, job: Job) -> None:
        """Refuse link prediction where Z would be too large."""
        if self.holds_dense(job.settings, job.task.name):
            self._refuse(job)

    def learn(self, job: Job) -> Outcome:
        watch = Stopwatch()
        reports = self._asked(job, watch)
        if self.holds_dense(job.settings, job.task.name):
            return self._links(job, reports, watch)
        return self._trained(job, reports, watch)

    def embed(self, job: Job) -> NDArray[np.float32]:
        """Z itself: nothing is learned for it, so it needs no labels and no links that are held out."""
        self._refuse(job)
        reports = self._asked(self.with_questions(job), Stopwatch())
        job.say("propagating", 0.0)
        return self._propagated(job, reports, _in_largest(reports))

    def _asked(self, job: Job, watch: Stopwatch) -> Reports:
        with watch.stage("report"):
            job.say("reporting", 0.0)
            return job.users.report(*job.questions.features)

    def _trained(self, job: Job, reports: Reports, watch: Stopwatch) -> Outcome:
        settings: LdpgeSettings = job.settings
        with watch.stage("denoise"):
            matrix = linear.pagerank_matrix(job.graph, settings.r, device=job.device)
            inputs = learn.report_input(reports, settings.input_share, job.device, job.max_memory)
            hops = _pagerank(settings, settings.series_error).operator(matrix)
            spread = linear.Composition(hops, inputs)
        return train_backbone(job, spread, watch)

    def _links(self, job: Job, reports: Reports, watch: Stopwatch) -> Outcome:
        settings: LdpgeSettings = job.settings
        schedule = learn.LinkSchedule(settings.link_epochs, settings.link_lr)
        assert job.graph.links is not None
        with watch.stage("denoise"):
            job.say("propagating", 0.0)
            rows = self._propagated(job, reports, denoise.with_constant(_in_largest(reports)))
        with watch.stage("train"):
            fitted = learn.fit_links(
                rows,
                1,
                job.graph.links,
                schedule,
                job.seed,
                lambda done, most, _: job.say("training", done / most),
            )
        return Outcome(
            None,
            1 - fitted.auc,
            fitted.auc,
            watch.seconds,
            pair_scores=learn.InnerProducts(rows, fitted.weights),
            embedding=rows,
        )

    def _propagated(self, job: Job, reports: Reports, estimate: Estimate) -> NDArray[np.float32]:
        return _pagerank(job.settings, job.settings.r_max).rows(estimate, job.graph.unweighted(), job.device)

    def _refuse(self, job: Job) -> None:
        shape = (job.graph.node_count, job.graph.feature_count)
        learn.refuse_above(
            job.max_memory, shape, "the embedding has a column a feature, so it", "take fewer features"
        )


def _pagerank(settings: LdpgeSettings, error: float) -> denoise.PageRank:
    return denoise.PageRank(settings.alpha, settings.r, error, settings.algorithm)


def _in_largest(reports: Reports) -> Estimate:
    """The decoded reports, in units of the largest possible one."""
    estimate = reports.estimate()
    return replace(estimate, values=estimate.values / reports.mechanism.largest, offset=0.0)


register_method(Ldpge())
