"""Advice on levels: what each privacy level costs, before anybody is asked."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from graphveil.errors import InputError
from graphveil.experiments.analysis import AnalysisResult
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.table import Table
from graphveil.experiments.unit import RunUnit, open_unit
from graphveil.graphs.users import expected_shares
from graphveil.mechanisms import PersonalMechanism
from graphveil.methods.ppgnn import LevelError, level_errors
from graphveil.number_format import percent, rounded


@dataclass(frozen=True)
class LevelAdvice(AnalysisResult):
    """What each level costs on a graph, and the ε at which a chosen level itself is hidden: infinite where it is not."""

    data: str
    epsilon: float | None
    mechanism: str
    levels: tuple[LevelError, ...]
    level_epsilon: float

    @property
    def _hidden(self) -> bool:
        return math.isfinite(self.level_epsilon)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "level_epsilon": self.level_epsilon if self._hidden else None}

    def table(self) -> Table:
        head = (
            *("level", "ε", "users", "values answered"),
            *("error of one report", "without it and stricter ones"),
        )
        rows = (
            (
                str(each.level),
                f"{each.budget:g}",
                percent(each.share, ".0f"),
                rounded(each.answered),
                rounded(each.own),
                rounded(each.without),
            )
            for each in self.levels
        )
        return Table(head, rows, head)

    def sentences(self) -> list[str]:
        hidden = (
            f"hidden up to ε = {rounded(self.level_epsilon, 4)}" if self._hidden else "not protected at all"
        )
        errors = (
            f"Errors are root mean squares of a feature's estimate, in widths of its range. The mean over a neighbourhood, where all "
            f"are asked, has {rounded(self.levels[0].mean)}; the last column says what it has where a level and all stricter ones are not asked."
        )
        return [errors, f"The level that a user chose is {hidden}."]


def advise_levels(spec: Experiment) -> LevelAdvice:
    """Return what each level of a spec costs on its graph; nobody is asked."""
    spec.check()
    mechanism = spec.budgets.mechanism
    if not spec.has_levels:
        raise InputError(f"{mechanism} has no levels: take ppm or ppm-printed")
    # Levels that real users chose are theirs: an operator compares distributions, and learns shares from reports.
    shares = expected_shares(len(spec.level_budgets()), spec.levels.level_distribution or "uniform")
    ready = open_unit(RunUnit(spec))
    (built,) = ready.mechanisms
    assert isinstance(built, PersonalMechanism)
    errors = tuple(level_errors(ready.graph, built, shares))
    return LevelAdvice(spec.data, spec.budgets.epsilon, mechanism, errors, built.level_loss.epsilon)
