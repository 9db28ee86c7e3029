"""Users whose answers are overheard: what an attacker who sees all reports has in hand."""

from __future__ import annotations

from graphveil.mechanisms import Reports
from graphveil.privacy import Plan, Respondents


class OverheardUsers:
    """The same respondents, with every report that they send kept in ``heard`` too."""

    def __init__(self, users: Respondents) -> None:
        self._users = users
        self.heard: list[tuple[Plan, Reports]] = []

    def report(self, plan: Plan) -> Reports:
        """Answer as always, while somebody listens."""
        reports = self._users.report(plan)
        self.heard.append((plan, reports))
        return reports

    def features_heard(self) -> list[Reports]:
        """The reports about everybody's values, round after round; those about norms are not among them."""
        return [
            reports
            for plan, reports in self.heard
            if (plan.subject, plan.of, plan.users) == ("features", "values", "all")
        ]
