"""ldpge-raw: LDP-GE's pipeline on raw features. What its noise costs."""

from __future__ import annotations

from typing import Any, ClassVar

from graphveil import denoise, learn, linear
from graphveil.errors import InputError
from graphveil.mechanisms import Estimate
from graphveil.methods.job import Job
from graphveil.methods.ldpge import Ldpge
from graphveil.methods.method import register_method
from graphveil.methods.outcome import Stopwatch
from graphveil.methods.pagerank_method import PAGERANK_GRID, PageRankMethod, PageRankSettings

# Settings for some graphs.
ByData = dict[str, dict[str, Any]]


def shared(by_data: ByData) -> ByData:
    """What ldpge is set to on some graphs, as far as it is a setting here."""
    both = {
        data: {key: value for key, value in chosen.items() if key in PageRankSettings.model_fields}
        for data, chosen in by_data.items()
    }
    return {data: chosen for data, chosen in both.items() if chosen}


class LdpgeRaw(PageRankMethod):
    """`ldpge` at ε = ∞: the same propagation, network and products on raw features. It claims no privacy.

    X are the features in units of the largest magnitude of their public range. This is the last column of LDP-GE's Table III, and
    the line at ∞ of its Fig. 2.
    """

    name = "ldpge-raw"
    summary = "ldpge's propagation and learning on raw features: no privacy, its column at ε = ∞"
    settings = PageRankSettings
    grid = PAGERANK_GRID
    tuned: ClassVar[dict[str, ByData]] = {task: shared(chosen) for task, chosen in Ldpge.tuned.items()}
    reports_features = False
    reads_features = True

    def network_input(self, job: Job, watch: Stopwatch) -> linear.Input:
        """Raw features, scaled by a public constant."""
        with watch.stage("denoise"):
            return learn.raw_input(_scaled(job), job.device)

    def rows_to_spread(self, job: Job, watch: Stopwatch) -> Estimate:
        """Raw features, in units of the largest magnitude that they may have."""
        with watch.stage("denoise"):
            return denoise.certain_estimate(_scaled(job))


def _scaled(job: Job) -> Any:
    if job.raw is None:
        raise InputError(
            "ldpge-raw learns from raw features, and these were not given: whoever runs it passes job.raw"
        )
    public = job.graph.public_range
    largest = 1.0 if public is None else max(abs(public.low), abs(public.high))
    return job.raw * (1 / largest)


register_method(LdpgeRaw())
