"""Users who are not asked about their features: what volunteers and the graph alone are worth."""

from __future__ import annotations

from graphveil.errors import PrivacyError
from graphveil.mechanisms import Reports
from graphveil.privacy import Plan, Respondents


class FeaturesUnasked:
    """Users who answer nothing about features, in no round; labels and links that are private are known by reports as ever."""

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
