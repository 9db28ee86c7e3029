"""The parts of a run: the method, and what it is compared with. Each says when it runs, what it learns from and who answers it.

A part is one entry of `PARTS`. Everything else about it (how it is run, kept, printed and drawn) is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from graphveil.errors import PrivacyError
from graphveil.experiments.experiment import Experiment, Part
from graphveil.mechanisms import Reports
from graphveil.methods import METHODS, Job, Method
from graphveil.privacy import Plan, Respondents

# Settings that say how far reports are spread along edges.
HOPS = ("hops", "analysis_hops")


class FeaturesUnasked:
    """Users who answer nothing about features; private labels and links are known by their reports as ever."""

    def __init__(self, users: Respondents) -> None:
        self._users = users

    def report(self, plan: Plan) -> Reports:
        """Answer for labels and links, and refuse everything else."""
        if plan.subject not in ("label", "links"):
            raise PrivacyError(
                f"nobody is asked about {plan.subject} here, where volunteers and the graph alone are to be learned from: a method "
                "that takes a panel must not ask where job.unasked is True"
            )
        return self._users.report(plan)


@dataclass(frozen=True)
class RunPart:
    """One part of a run.

    Parameters
    ----------
    title
        What tables and figures call it; nothing for the method itself.
    runs
        Whether an experiment has it, given whether its data come with volunteers.
    job
        What it learns from, made of the method's own job.
    users
        Who answers it, made of those who answer the method.
    blind
        Whether answers about features come from blinded channels.
    asks_features
        Whether it may ask anybody about features.
    method
        The method that learns, with its default settings, where it is not the experiment's own.
    """

    title: str
    runs: Callable[[Experiment, bool], bool]
    job: Callable[[Job], Job] = lambda job: job
    users: Callable[[Respondents], Respondents] = lambda users: users
    blind: bool = False
    asks_features: bool = True
    method: str = ""

    def method_of(self, spec: Experiment) -> Method:
        """Return the method that learns."""
        return METHODS.find(self.method) if self.method else spec.resolved_method


def _reports(spec: Experiment, panel: bool = False) -> bool:
    return spec.resolved_method.can.asks


def _without_norms(job: Job) -> Job:
    return replace(job, budgets=replace(job.budgets, norm_epsilon=None))


def _without_asking(job: Job) -> Job:
    return replace(_without_norms(job), unasked=True)


def _without_edges(job: Job) -> Job:
    """Ask nobody for links; where there are no public ones either, hops lead nowhere."""
    settings = job.settings
    if not job.graph.edge_count:
        hops = [name for name in HOPS if name in type(settings).model_fields]
        settings = settings.model_copy(update=dict.fromkeys(hops, 0))
    return replace(job, budgets=replace(job.budgets, link_epsilon=None), settings=settings)


PARTS: dict[Part, RunPart] = {
    "method": RunPart("", lambda spec, panel: True),
    "control": RunPart("control, ε = 0", _reports, blind=True),
    "structure": RunPart(
        "structure",
        lambda spec, panel: _reports(spec) or spec.budgets.private_links,
        job=_without_norms,
        users=FeaturesUnasked,
        asks_features=False,
        method="structure",
    ),
    "edgeless": RunPart(
        "without edges",
        lambda spec, panel: spec.budgets.private_links and spec.resolved_task.learns_labels,
        job=_without_edges,
    ),
    "unasked": RunPart(
        "volunteers alone",
        lambda spec, panel: panel and _reports(spec),
        job=_without_asking,
        users=FeaturesUnasked,
        asks_features=False,
    ),
}


def run_parts(spec: Experiment, panel: bool) -> list[Part]:
    """List the parts of each run: the method alone where nothing is compared. ``panel`` says whether there are volunteers."""
    if not spec.control or spec.method == PARTS["structure"].method:
        return ["method"]
    return [name for name, part in PARTS.items() if part.runs(spec, panel)]
