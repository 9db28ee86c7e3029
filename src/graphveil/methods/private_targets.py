"""Private targets: labels, and norms of feature rows, that users report for a model to learn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from graphveil.graphs.graph import UNKNOWN, Graph, Mask
from graphveil.mechanisms import Reports
from graphveil.mechanisms.labels import LabelMechanism
from graphveil.privacy import Plan

if TYPE_CHECKING:
    from graphveil.methods.job import Job


def label_plan(job: Job) -> Plan:
    """Return the question for the labels of training and validation users, by k-ary response."""
    epsilon, classes = job.budgets.label_epsilon, job.graph.class_count
    return Plan(mechanism="krr", epsilon=epsilon, classes=classes, users=_labelled(job.graph))


def with_private_labels(job: Job) -> Job:
    """Ask for labels: the job as it goes on, with a graph that holds the answers for labels."""
    plan = job.questions.labels
    assert plan is not None
    reports, built = job.users.report(plan), plan.build()
    assert isinstance(built, LabelMechanism)
    labels = np.full(job.graph.node_count, UNKNOWN, dtype=np.int64)
    labels[np.array(plan.users, dtype=np.int64)[reports.places]] = reports.codes
    graph = job.graph.with_labels(labels).known_of(labels != UNKNOWN)
    return replace(job, graph=graph, label_mechanism=built)


def _labelled(graph: Graph) -> tuple[int, ...]:
    """Return the numbers of training and validation users."""
    return tuple(np.flatnonzero(graph.train | graph.validation).tolist())


@dataclass(frozen=True)
class ReportedNorms:
    """Unbiased reports of norms: one for each training and validation user who answers, NaN for everybody else.

    ``bound`` is what norms are known not to exceed. ``centre`` and ``spread`` are the mean and the standard deviation of what
    training users report, noise included; the centre is kept within 0 and the bound. It is what a server would guess for
    everybody.
    """

    values: NDArray[np.float64]
    bound: float
    centre: float
    spread: float

    @classmethod
    def of(cls, reports: Reports, users: tuple[int, ...], train: Mask, bound: float) -> ReportedNorms:
        """Read the answers.

        Parameters
        ----------
        reports
            The reports of norms.
        users
            Those who were asked.
        train
            (n,) bool: who trains.
        bound
            The largest norm.
        """
        values = np.full(len(train), np.nan)
        values[np.array(users)[reports.places]] = reports.mechanism.estimate(reports).dense()[:, 0]
        trained = values[train & np.isfinite(values)]
        if not trained.size:
            return cls(values, bound, bound / 2, bound)
        centre = float(np.clip(trained.mean(), 0.0, bound))
        return cls(values, bound, centre, float(trained.std()) or bound)

    @property
    def known(self) -> Mask:
        """The users whose report is there: (users,) bool."""
        return np.isfinite(self.values)

    @property
    def standard(self) -> NDArray[np.float64]:
        """The reports with the centre at 0, in units of the spread: what a model learns."""
        return (self.values - self.centre) / self.spread

    def predicted(self, outputs: NDArray[np.floating], validation: Mask) -> NDArray[np.float64]:
        """A model's outputs as norms, which lie between 0 and the bound: as far from the centre as validation users bear out.

        A model that has learned noise differs between users more than their norms do. So its differences o are multiplied by the
        slope b = Σ o·y / Σ o² of the validation users' reports y, kept within 0 and 1 and shrunk by what b owes to chance,
        b·max(0, 1 - (se/b)²) (James and Stein 1961). Where validation users bear out nothing, everybody gets the centre.
        """
        apart = outputs.astype(np.float64) - float(outputs.mean())
        validation = validation & self.known
        if not validation.any():
            return np.full(len(apart), self.centre)
        seen = apart[validation] - apart[validation].mean()
        reported = self.standard[validation] - self.standard[validation].mean()
        power = float(seen @ seen)
        slope = min(float(seen @ reported) / power, 1.0) if power > 0 else 0.0
        chance = float(reported.var()) / power if power > 0 else 0.0
        kept = max(0.0, slope - chance / slope) if slope > 0 else 0.0
        return np.clip(self.centre + self.spread * kept * apart, 0.0, self.bound)


def largest_norm(graph: Graph) -> float:
    """The largest norm that the public range allows: √d · max(|low|, |high|)."""
    public = graph.feature_range
    return float(np.sqrt(graph.feature_count) * max(abs(public.low), abs(public.high)))


def norm_plan(job: Job) -> Plan:
    """Return the question for the norms of training and validation users' features."""
    budgets = job.budgets
    bound = largest_norm(job.graph) if budgets.norm_bound is None else budgets.norm_bound
    return Plan(
        mechanism="piecewise",
        epsilon=budgets.norm_epsilon,
        of="norm",
        dims=1,
        range=(0.0, bound),
        users=_labelled(job.graph),
    )


def with_norms(job: Job) -> Job:
    """Ask for norms: the job as it goes on, with the answers."""
    plan = job.questions.norms
    assert plan is not None and plan.range is not None and plan.users != "all"
    norms = ReportedNorms.of(job.users.report(plan), plan.users, job.graph.train, plan.range[1])
    return replace(job, norms=norms)
