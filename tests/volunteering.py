"""A small method that learns from volunteers: nearest class means, over their raw rows and everybody's reports."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from graphveil.graphs.graph import UNKNOWN
from graphveil.methods import (
    Capabilities,
    Job,
    Method,
    Outcome,
    Settings,
    feature_plan,
    questions_of,
)


class VolunteeringSettings(Settings):
    """Whether volunteers are used, and whether they are asked like everybody."""

    use: bool = Field(True, description="whether volunteers' rows are used")
    ask_all: bool = Field(False, description="whether volunteers are asked too")


class Volunteering(Method):
    """Volunteers' raw rows, and reports of everybody else."""

    name = "volunteering"
    summary = "class means of raw rows and reports"
    settings = VolunteeringSettings
    can = Capabilities(panel=True)

    def can_with(self, settings, task="node"):
        return Capabilities(panel=settings.use, why_not={"panel": "uses no volunteers with these settings"})

    def questions(self, job):
        panel = job.graph.panel
        if panel is None or job.settings.ask_all:
            return super().questions(job)
        others = np.setdiff1d(np.arange(job.graph.node_count), panel.users)
        return questions_of(job, feature_plan(job, users=tuple(others.tolist())))

    def learn(self, job: Job) -> Outcome:
        graph = job.graph
        rows = np.zeros((graph.node_count, graph.feature_count))
        for plan in job.questions.features:
            reports = job.ask(plan)
            asked = np.arange(graph.node_count) if plan.users == "all" else np.array(plan.users)
            rows[asked[reports.places]] = reports.mechanism.estimate(reports).dense()
        if graph.panel is not None:
            raw = graph.panel.rows
            rows[graph.panel.users] = raw.toarray() if hasattr(raw, "tocsr") else raw
        if graph.links is not None:
            return Outcome(
                None,
                0.0,
                0.0,
                pair_scores=lambda pairs: (rows[pairs[:, 0]] * rows[pairs[:, 1]]).sum(axis=1),
            )
        known = graph.train & (graph.labels != UNKNOWN)
        belongs = (graph.labels[:, None] == np.arange(graph.class_count)) & known[:, None]
        means = belongs.T @ rows / np.maximum(belongs.sum(axis=0), 1)[:, None]
        scores = (rows @ means.T).astype(np.float32)
        right = scores[graph.validation].argmax(axis=1) == graph.labels[graph.validation]
        return Outcome(scores, 0.0, float(right.mean()), embedding=scores)
