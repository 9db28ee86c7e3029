"""Expected errors of estimates at each privacy level, from a graph and public numbers alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphveil.graphs import Graph
from graphveil.mechanisms import PersonalMechanism

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LevelError:
    """One level: its budget, who chose it, and expected errors of a feature's estimate, as shares of the public range.

    ``own`` is the error of one report of a user of this level. ``mean`` is that of the weighted mean over a user's
    neighbourhood where everybody is asked, ``without`` the same where this level and all stricter ones are left out.
    """

    level: int
    budget: float
    share: float
    answered: float
    own: float
    mean: float
    without: float | None


def level_errors(graph: Graph, mechanism: PersonalMechanism, shares: Floats) -> list[LevelError]:
    """Return what each level costs on this graph at these shares of the levels: root mean square errors; nobody is asked.

    A report beside the randomized level t has the variance σ²_t (`PersonalMechanism.variances`), and weights 1/σ² give a mean
    over a neighbourhood, the user included, the variance 1/Σ 1/σ². Levels are taken as independent of who knows whom, and the
    sum as (deg + 1) times its expectation. Where strict levels are left out there are fewer reports, but each says more.
    """
    width = float(mechanism.public.high - mechanism.public.low)
    reach = graph.degrees.astype(np.float64) + 1
    own = np.sqrt(mechanism.level_errors(shares)) / width
    answered = mechanism.answered_by_level()
    levels = np.arange(1, len(shares) + 1)
    everybody = _mean_error(mechanism, shares, reach) / width
    errors = []
    for level in levels.tolist():
        left = np.where(levels > level, shares, 0.0)
        without = _mean_error(mechanism, left, reach) / width if left.sum() > 0 else None
        errors.append(
            LevelError(
                level,
                mechanism.budgets[level - 1],
                float(shares[level - 1]),
                float(answered[level - 1]),
                float(own[level - 1]),
                everybody,
                without,
            )
        )
    return errors


def _mean_error(mechanism: PersonalMechanism, asked: Floats, reach: Floats) -> float:
    """The root mean square error of a neighbourhood's mean, where these shares of all users are asked."""
    among = asked / asked.sum()
    precision = asked.sum() * float(
        (among @ mechanism.clamped_transition() / mechanism.variances(among)).sum()
    )
    return float(np.sqrt((1 / (reach * precision)).mean()))
