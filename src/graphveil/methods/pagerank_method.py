"""What `ldpge` and its twin without privacy share: rows spread by personalized PageRank, then a network or Hadamard products."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graphveil import denoise, learn, linear
from graphveil.mechanisms import Estimate
from graphveil.methods.job import Job
from graphveil.methods.method import Method
from graphveil.methods.method_settings import TRAINING_GRID, Settings
from graphveil.methods.outcome import Outcome, Stopwatch
from graphveil.methods.training import train_backbone

# The document searches by a tool and does not say where; α and r are ours.
PAGERANK_GRID: dict[str, tuple[Any, ...]] = TRAINING_GRID | {
    "alpha": (0.01, 0.03, 0.05, 0.1, 0.2, 0.3),
    "r": (0.1, 0.3, 0.5, 0.7),
}


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

    @abstractmethod
    def network_input(self, job: Job, watch: Stopwatch) -> linear.Input:
        """X (n x d) as a network is fed it."""

    @abstractmethod
    def rows_to_spread(self, job: Job, watch: Stopwatch) -> Estimate:
        """X (n x d) in units of its largest possible entry, without an offset."""

    def holds_dense(self, settings: Any, task: str) -> bool:
        """Hadamard products need all of Z."""
        return bool(task == "link" and settings.decoder == "hadamard")

    def defaults(self, data: str, task: str, mechanism: str) -> dict[str, Any]:
        """Those of the document's graphs; for links walks are short, where nothing better is known."""
        return {**({"alpha": 0.1} if task == "link" else {}), **self.tuned[task].get(data, {})}

    def prepare(self, job: Job) -> None:
        """Refuse link prediction where Z would be too large."""
        if self.holds_dense(job.settings, job.task.name):
            self._refuse(job)

    def not_in_parts(self, job: Job) -> str | None:
        return None

    def learn(self, job: Job) -> Outcome:
        if self.holds_dense(job.settings, job.task.name):
            return self._links(job, Stopwatch())
        return self._trained(job, Stopwatch())

    def embed(self, job: Job) -> NDArray[np.float32]:
        """Z itself: nothing is learned for it, so it needs no labels and no links that are held out."""
        self._refuse(job)
        estimate = self.rows_to_spread(self.with_questions(job), Stopwatch())
        job.say("propagating", 0.0)
        return self._propagated(job, estimate)

    def _trained(self, job: Job, watch: Stopwatch) -> Outcome:
        settings: PageRankSettings = job.settings
        inputs = self.network_input(job, watch)
        with watch.stage("denoise"):
            matrix = linear.pagerank_matrix(job.graph, settings.r, device=job.device)
            hops = _pagerank(settings, settings.series_error).operator(matrix)
            spread = linear.Composition(hops, inputs)
        return train_backbone(job, spread, watch)

    def _links(self, job: Job, watch: Stopwatch) -> Outcome:
        settings: PageRankSettings = job.settings
        schedule = learn.LinkSchedule(settings.link_epochs, settings.link_lr)
        assert job.graph.links is not None
        estimate = self.rows_to_spread(job, watch)
        with watch.stage("denoise"):
            job.say("propagating", 0.0)
            rows = self._propagated(job, denoise.with_constant(estimate))
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

    def _propagated(self, job: Job, estimate: Estimate) -> NDArray[np.float32]:
        return _pagerank(job.settings, job.settings.r_max).rows(estimate, job.graph.unweighted(), job.device)

    def _refuse(self, job: Job) -> None:
        shape = (job.graph.node_count, job.graph.feature_count)
        learn.refuse_above(
            job.max_memory, shape, "the embedding has a column a feature, so it", "take fewer features"
        )


def _pagerank(settings: PageRankSettings, error: float) -> denoise.PageRank:
    return denoise.PageRank(settings.alpha, settings.r, error, settings.algorithm)
