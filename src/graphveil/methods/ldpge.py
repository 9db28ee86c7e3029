"""ldpge: reports spread by personalized PageRank; classes by a small network, links by Hadamard products. ldpge-raw: the same on raw features."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graphveil import denoise, learn, linear
from graphveil.mechanisms import Estimate
from graphveil.mechanisms.base import row_mechanism
from graphveil.methods.job import Job, Questions, epoch_progress, feature_plan, questions_of, raw_rows
from graphveil.methods.method import (
    RAW_ROWS,
    TRAINING_GRID,
    Capabilities,
    Grid,
    Method,
    ScaledSettings,
    Settings,
    Tuned,
    train_backbone,
    with_questions,
)
from graphveil.methods.tasks import Outcome

# The document searches by a tool and does not say where; α and r are ours.
PAGERANK_GRID: Grid = TRAINING_GRID | {
    "alpha": (0.01, 0.03, 0.05, 0.1, 0.2, 0.3),
    "r": (0.1, 0.3, 0.5, 0.7),
}


# Epochs without a better score after which the weights of Hadamard products are not trained on.
LINK_PATIENCE = 3
# For links walks are short, where nothing better is known; the network is the same as for classes.
LINK_SETTINGS = {"alpha": 0.1, "hidden": 64, "epochs": 500, "patience": 60}


class PageRankSettings(Settings):
    """Training, and how far and to whom rows spread."""

    hidden: int = Field(64, ge=1, description="columns of the hidden layer")
    patience: int | None = Field(
        60, ge=1, description="stop after so many epochs without a lower validation loss"
    )
    alpha: float = Field(
        0.03, gt=0, lt=1, description="α, the chance that a walk stops; small ones reach far"
    )
    r: float = Field(0.1, ge=0, le=1, description="r of D^(r-1) A D^-r: how much degrees count")
    r_max: float = Field(
        1e-4,
        gt=0,
        description="where Z is written down: the error of an entry that is allowed, times deg^r, as a share of the "
        "largest possible entry",
    )
    series_error: float = Field(
        0.01, gt=0, description="where weights come before the hops: the error that is allowed, relatively"
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


class PageRankMethod(Method):
    """Z = Σ_l α(1-α)^l (D^(r-1) A D^-r)^l X; classes by a network on Z, links by Hadamard products of its rows.

    A subclass says what X is: once as the input of a network, and once in units of its largest possible entry, where all of Z is
    written down.
    """

    backbone = "mlp"
    task_settings: ClassVar[dict[str, dict[str, Any]]] = {"link": LINK_SETTINGS}

    @abstractmethod
    def network_input(self, job: Job) -> linear.Input:
        """X (n x d) as a network is fed it."""

    @abstractmethod
    def rows_to_spread(self, job: Job) -> Estimate:
        """X (n x d) in units of its largest possible entry, without an offset."""

    def can_with(self, settings: Any, task: str = "node") -> Capabilities:
        """Hadamard products need all of Z."""
        return replace(self.can, dense=task == "link" and settings.decoder == "hadamard")

    def check(self, job: Job) -> None:
        """Refuse link prediction where Z would be too large."""
        if self.can_with(job.settings, job.task.name).dense:
            self._refuse(job)

    def learn(self, job: Job) -> Outcome:
        settings: PageRankSettings = job.settings
        if self.can_with(settings, job.task.name).dense:
            return self._links(job)
        inputs = self.network_input(job)
        with job.stage("denoise"):
            matrix = linear.pagerank_matrix(job.graph, settings.r, device=job.device)
            hops = _pagerank(settings, settings.series_error).operator(matrix)
        return train_backbone(job, linear.Composition(hops, inputs))

    def embed(self, job: Job) -> NDArray[np.float32]:
        """Z itself: nothing is learned for it, so it needs no labels and no links that are held out."""
        self._refuse(job)
        estimate = self.rows_to_spread(with_questions(self, job))
        job.say("propagating", 0.0)
        return self._propagated(job, estimate)

    def _links(self, job: Job) -> Outcome:
        settings: PageRankSettings = job.settings
        schedule = learn.Schedule(settings.link_epochs, settings.link_lr, patience=LINK_PATIENCE)
        assert job.graph.links is not None
        estimate = self.rows_to_spread(job)
        with job.stage("denoise", "propagating"):
            rows = self._propagated(job, denoise.with_constant(estimate))
        with job.stage("train"):
            weights, auc = learn.fit_links(rows, 1, job.graph.links, schedule, job.seed, epoch_progress(job))
        scores = learn.InnerProducts(rows, weights)
        return Outcome(None, 1 - auc, auc, pair_scores=scores, embedding=rows)

    def _propagated(self, job: Job, estimate: Estimate) -> NDArray[np.float32]:
        return _pagerank(job.settings, job.settings.r_max).rows(estimate, job.graph.unweighted(), job.device)

    def _refuse(self, job: Job) -> None:
        shape = (job.graph.node_count, job.graph.feature_count)
        learn.refuse_above(
            job.max_memory, shape, "the embedding has a column a feature, so it", "take fewer features"
        )


def _pagerank(settings: PageRankSettings, error: float) -> denoise.PageRankDenoiser:
    return denoise.PageRankDenoiser(settings.alpha, settings.r, error, settings.algorithm)


class LdpgeSettings(PageRankSettings, ScaledSettings):
    """Training, the scale of the input, how far and to whom reports spread, and how many values are asked."""

    least_share: ClassVar[float] = 1 / 4
    # k is for HDS: the other mechanisms have a rule for it.
    of_mechanism: ClassVar[tuple[str, ...]] = ("k",)

    input_share: Annotated[float, Field(gt=0)] | Literal["auto"] = Field(
        "auto",
        description="expected norm of a report, as a share of the root of the number of features; auto: 1/4, 4 or 16, "
        "whichever has the lowest validation loss",
    )
    norm_weight: float = Field(
        1.0, ge=0, description="norms besides classes: the weight of their loss beside that of the classes"
    )
    k: int | None = Field(
        None, ge=1, description="features that each user answers; none: what the mechanism takes at this ε"
    )


class Ldpge(PageRankMethod):
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
    settings = LdpgeSettings
    can = Capabilities(norms=True, first_round_known=True, new_users=True, parts=True)
    # For links users answer one value each, where nothing better is known.
    task_settings: ClassVar[dict[str, dict[str, Any]]] = {"link": {"k": 1, **LINK_SETTINGS}}
    tuned: ClassVar[Tuned] = {
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
    # k is what the document varies in its figures.
    grid = PAGERANK_GRID | {"k": (1, 3, 5, 10, 20, 30, 50)}

    def questions(self, job: Job) -> Questions:
        """Ask once, for k values."""
        return questions_of(job, feature_plan(job, sampled=job.settings.k))

    def network_input(self, job: Job) -> linear.Input:
        """Decoded reports, scaled by public constants."""
        reports = job.ask(*job.questions.features)
        with job.stage("denoise"):
            return learn.report_input(reports, job.settings.share, job.device, job.max_memory)

    def rows_to_spread(self, job: Job) -> Estimate:
        """Decoded reports, in units of the largest possible one."""
        reports = job.ask(*job.questions.features)
        estimate = reports.estimate()
        return replace(
            estimate, values=estimate.values / row_mechanism(reports.mechanism).largest, offset=0.0
        )


class LdpgeRaw(PageRankMethod):
    """`ldpge` at ε = ∞: the same propagation, network and products on raw features. It claims no privacy.

    X are the features in units of the largest magnitude of their public range. This is the last column of LDP-GE's Table III, and
    the line at ∞ of its Fig. 2.
    """

    name = "ldpge-raw"
    summary = "ldpge's propagation and learning on raw features: no privacy, its column at ε = ∞"
    settings = PageRankSettings
    grid = PAGERANK_GRID
    # What ldpge is set to, as far as it is a setting here.
    tuned: ClassVar[Tuned] = {
        task: {
            data: shared
            for data, chosen in by_data.items()
            for shared in [{key: chosen[key] for key in chosen if key in PageRankSettings.model_fields}]
            if shared
        }
        for task, by_data in Ldpge.tuned.items()
    }
    can = Capabilities("raw", why_not={"parts": RAW_ROWS})

    def network_input(self, job: Job) -> linear.Input:
        """Raw features, scaled by a public constant."""
        with job.stage("denoise"):
            return learn.raw_input(_scaled(job), job.device)

    def rows_to_spread(self, job: Job) -> Estimate:
        """Raw features, in units of the largest magnitude that they may have."""
        with job.stage("denoise"):
            return denoise.certain_estimate(_scaled(job))


def _scaled(job: Job) -> Any:
    public = job.graph.public_range
    largest = 1.0 if public is None else max(abs(public.low), abs(public.high))
    return raw_rows(job) * (1 / largest)
