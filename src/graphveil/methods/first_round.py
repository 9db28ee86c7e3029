"""togl's first round alone: which attributes matter, without asking for them again."""

from __future__ import annotations

from graphveil.methods.job import Job
from graphveil.methods.togl import Togl
from graphveil.privacy import Plan


class FirstRound(Togl):
    """togl's first round alone: with its share of the budget, or with the whole budget."""

    def __init__(self, whole: bool) -> None:
        self.whole = whole

    def feature_plans(self, job: Job) -> tuple[Plan, ...]:
        return (job.feature_plan() if self.whole else super().feature_plans(job)[0],)
