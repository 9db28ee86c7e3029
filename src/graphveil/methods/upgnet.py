"""upgnet: the higher-order aggregator and node feature regularization around a GNN, in either order."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field, model_validator

from graphveil import denoise, learn, linear
from graphveil.mechanisms import Estimate, Mechanism, Reports
from graphveil.mechanisms.base import row_mechanism
from graphveil.methods.base import BaseSettings
from graphveil.methods.job import Job
from graphveil.methods.method import HOPS_GRID, TRAINING_GRID, Capabilities, Method, train_backbone
from graphveil.methods.tasks import Outcome


class UpgnetSettings(BaseSettings):
    """Training, the scale of the input, the two layers and their order."""

    order: Literal["N-H", "H-N"] = Field("N-H", description="which comes first, HOA (H) or NFR (N)")
    hops: int = Field(4, ge=0, description="K, how far HOA reaches")
    tau: float = Field(
        0.1, ge=0, le=1, description="τ, the threshold of NFR as a share of the largest report"
    )
    aggregator: Literal["hoa", "kprop", "residual", "adaptive"] = Field(
        "hoa", description="what averages over hops"
    )
    residual_weight: float = Field(
        0.1, ge=0, lt=1, description="adaptive: λ, how much one's own report counts against smoothness"
    )
    regularizer: Literal["nfr", "dropout", "group-lasso", "weight-lasso", "off"] = Field(
        "nfr", description="what makes reports, or the weights of features, sparser; τ is its strength"
    )
    variant: Literal["paper", "code"] = Field(
        "paper", description="paper: as written; code: as the authors' program does it"
    )

    @model_validator(mode="after")
    def _fit_together(self) -> UpgnetSettings:
        if self.regularizer != "nfr" and (self.order == "H-N" or self.variant == "code"):
            raise ValueError(
                f"the regularizer {self.regularizer} is for order N-H as the paper has it: take nfr, or that order"
            )
        if self.regularizer == "dropout" and self.tau == 1:
            raise ValueError("tau = 1 drops every report: take less")
        if self.aggregator == "adaptive" and (self.regularizer == "dropout" or self.variant == "code"):
            other = "variant code" if self.variant == "code" else "dropout of reports"
            raise ValueError(f"the aggregator adaptive is not linear, which {other} needs: take another one")
        return self


class Upgnet(Method):
    """Going deeper into locally differentially private GNNs (He et al. 2025, UPGNET).

    Features by multi-bit, piecewise or any mechanism. HOA(K) is (1/K) Σ_{k=1..K} Â^k x; NFR is a soft threshold. Order N-H
    thresholds the reports at τB, B the largest possible report, and stays sparse to the end. Order H-N thresholds at
    τB/d̄^K what HOA gives, d̄ the mean degree; it needs the whole matrix, dense unless few entries are left, and is refused
    above the allowed memory. For K ≥ 8 the threshold of H-N is practically 0.

    What N-H does to multi-bit: all its non-zero reports are ±B, so a threshold at τB scales the input by 1-τ and selects
    nothing. The gain that the document prints for it comes from the scale of the input. With piecewise reports N-H does
    drop small ones, but on binary graphs only in the document's continuous form (mechanism.points=65): by default binary
    values get a channel of two inputs, whose reports have few different sizes. HOA and NFR act on estimates around the middle
    of the range, before the input is scaled by public constants.

    Variant ``code``: a mean over one hop (oneself left out), entries up to 2 forgotten and the others shrunk by 1, then
    (1/K) Σ_{k=1..K} (D^-3/2 A D^-1/2)^k. It ignores τ and the order.

    The document also compares with KProp (which it calls SKA), residual connections, dropout and group lasso. ``adaptive`` are
    the residual connections that it cites (Liu et al. 2021), on reports in units of their expected norm; they need the whole
    matrix, dense. ``residual`` are plain ones. ``dropout`` forgets reports in training. ``weight-lasso`` is the group lasso that
    it cites (Meier et al. 2008): a penalty on the first layer's weights, those of a feature being a group, at the share τ of
    the strength that outweighs, when training begins, what any feature's weights gain. ``group-lasso`` shrinks the reports of
    each feature.
    """

    name = "upgnet"
    summary = "HOA and NFR around a GNN, in either order"
    settings = UpgnetSettings
    can = Capabilities(norms=True, first_round_known=True, new_users=True, parts=True)
    grid = TRAINING_GRID | HOPS_GRID | {"tau": (0.1, 0.3, 0.5, 0.7, 0.9), "order": ("N-H", "H-N")}

    def can_with(self, settings: Any, task: str = "node") -> Capabilities:
        """Order H-N may need the whole matrix, adaptive residuals do; N-H with a threshold for each report is a polynomial of a matrix."""
        if settings.aggregator == "adaptive" or (settings.order == "H-N" and settings.variant == "paper"):
            why = "holds every feature of every user in this order or with this aggregator (order H-N, adaptive)"
            return replace(self.can, dense=True, parts=False, why_not={"parts": why})
        if settings.variant == "code" or settings.regularizer not in ("nfr", "off"):
            why = (
                f"looks at all reports with variant={settings.variant} and regularizer={settings.regularizer}"
            )
            return replace(self.can, parts=False, why_not={"parts": why})
        return self.can

    def check(self, job: Job) -> None:
        """Refuse order H-N and adaptive residuals where their matrix would be too large."""
        if self.can_with(job.settings).dense:
            adaptive = job.settings.aggregator == "adaptive"
            shape = (job.graph.node_count, job.graph.feature_count)
            what = "the aggregator adaptive" if adaptive else "order H-N"
            instead = "take another aggregator" if adaptive else "take order N-H"
            learn.refuse_above(
                job.max_memory, shape, f"{what} propagates every feature, so its input", instead
            )

    def learn(self, job: Job) -> Outcome:
        settings: UpgnetSettings = job.settings
        topology = learn.Topology(job.graph, job.device)
        reports = job.ask(*job.questions.features)
        with job.stage("denoise", "denoising"):
            denoiser = (
                _code if settings.variant == "code" else _hoa_first if settings.order == "H-N" else _nfr_first
            )
            inputs = denoiser(job, reports, topology)
        return train_backbone(
            job,
            inputs,
            topology,
            input_dropout=settings.tau if settings.regularizer == "dropout" else 0.0,
            group_lasso=settings.tau if settings.regularizer == "weight-lasso" else 0.0,
        )


def _nfr_first(job: Job, reports: Reports, topology: learn.Topology) -> linear.Input:
    """N-H: shrink the reports, which stay sparse, and let the hops follow the first weights."""
    settings, mechanism = job.settings, reports.mechanism
    scale = learn.report_scale(mechanism, settings.share)
    shrunk = _shrunk(job, reports)
    if settings.aggregator == "adaptive":
        return _adaptive(job, mechanism).on_reports(shrunk, topology.gcn).mul_(scale)
    inputs = learn.estimate_input(shrunk, scale, job.device, job.max_memory, mechanism.name)
    hops = denoise.AGGREGATORS[settings.aggregator](settings.hops).operator(topology.unlooped)
    return linear.Composition(hops, inputs)


def _shrunk(job: Job, reports: Reports) -> Estimate:
    """The decoded reports after the regularizer; dropout and what shrinks weights act later, in training."""
    settings, mechanism, estimate = job.settings, row_mechanism(reports.mechanism), reports.estimate()
    if settings.regularizer == "nfr":
        return denoise.NFR(settings.tau * mechanism.largest).on_reports(estimate)
    if settings.regularizer == "group-lasso":
        # τ times the norm that a column has in expectation, with reports spread evenly over the columns.
        entries = len(estimate.values) / estimate.shape[1]
        return denoise.GroupLasso(settings.tau * mechanism.spread * math.sqrt(entries)).on_reports(estimate)
    return estimate


def _hoa_first(job: Job, reports: Reports, topology: learn.Topology) -> linear.Input:
    """H-N: all hops at once in blocks of columns, each entry shrunk and scaled, and the result kept."""
    settings, mechanism, estimate = job.settings, row_mechanism(reports.mechanism), reports.estimate()
    mean_degree = max(float(job.graph.degrees.mean()), 1.0)
    shrink = denoise.NFR(settings.tau * mechanism.largest * mean_degree**-settings.hops)
    scale = learn.report_scale(mechanism, settings.share)
    if settings.aggregator == "adaptive":
        whole = _adaptive(job, mechanism).on_reports(estimate, topology.gcn)
        for rows in whole.split(denoise.ROWS_AT_ONCE):
            rows.copy_(shrink(rows).mul_(scale))
        return whole
    hops = denoise.AGGREGATORS[settings.aggregator](settings.hops).operator(topology.unlooped)
    return denoise.propagated_once(estimate, hops, lambda rows: shrink(rows).mul_(scale), job.device)


def _adaptive(job: Job, mechanism: Mechanism) -> denoise.AdaptiveResidual:
    """Adaptive residuals, for which a report has the norm 1 in expectation."""
    unit = row_mechanism(mechanism).spread * math.sqrt(mechanism.shape.length)
    return denoise.AdaptiveResidual(job.settings.hops, job.settings.residual_weight, unit)


def _code(job: Job, reports: Reports, topology: learn.Topology) -> linear.Input:
    """Denoise as the authors' program does."""
    settings, mechanism, graph, estimate = job.settings, reports.mechanism, job.graph, reports.estimate()
    if estimate.indices is None:
        learn.refuse_above(
            job.max_memory, estimate.shape, f"{mechanism.name} reports every value, so its mean"
        )
    mean = denoise.forgetful_mean(estimate, graph)
    mean.data *= learn.report_scale(mechanism, settings.share)
    matrix = linear.scaled_matrix(graph, 1.5, 0.5, device=job.device)
    hops = denoise.AGGREGATORS[settings.aggregator](settings.hops).operator(matrix)
    return linear.Composition(hops, learn.raw_input(mean, job.device))
