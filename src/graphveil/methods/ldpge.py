"""ldpge: reports spread by personalized PageRank; classes by a small network on them, links by Hadamard products."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from graphveil import learn, linear
from graphveil.mechanisms import Estimate, Reports
from graphveil.methods.job import Job
from graphveil.methods.method import register_method
from graphveil.methods.method_settings import ScaledSettings
from graphveil.methods.outcome import Stopwatch
from graphveil.methods.pagerank_method import PAGERANK_GRID, PageRankMethod, PageRankSettings
from graphveil.privacy import Plan


class LdpgeSettings(PageRankSettings, ScaledSettings):
    """Training, the scale of the input, how far and to whom reports spread, and how many values are asked."""

    least_share: ClassVar[float] = 1 / 4

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
    applies_later = True
    first_round_known = True
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
    # k is what the document varies in its figures.
    grid = PAGERANK_GRID | {"k": (1, 3, 5, 10, 20, 30, 50)}

    def defaults(self, data: str, task: str, mechanism: str) -> dict[str, Any]:
        """Those of the document's graphs; k is for HDS, the other mechanisms have a rule for it.

        For links users answer one value each where nothing better is known.
        """
        known = {**({"k": 1} if task == "link" else {}), **super().defaults(data, task, mechanism)}
        if mechanism != self.mechanism:
            known.pop("k", None)
        return known

    def feature_plans(self, job: Job) -> tuple[Plan, ...]:
        """One question, for k values."""
        return (job.feature_plan(sampled=job.settings.k),)

    def network_input(self, job: Job, watch: Stopwatch) -> linear.Input:
        """Decoded reports, scaled by public constants."""
        reports = _asked(job, watch)
        with watch.stage("denoise"):
            return learn.report_input(reports, job.settings.share, job.device, job.max_memory)

    def rows_to_spread(self, job: Job, watch: Stopwatch) -> Estimate:
        """Decoded reports, in units of the largest possible one."""
        reports = _asked(job, watch)
        estimate = reports.estimate()
        return replace(estimate, values=estimate.values / reports.mechanism.largest, offset=0.0)


def _asked(job: Job, watch: Stopwatch) -> Reports:
    with watch.stage("report"):
        job.say("reporting", 0.0)
        return job.users.report(*job.questions.features)


register_method(Ldpge())
