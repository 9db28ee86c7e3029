"""What users are charged, and what else of a mechanism looks at private data: `count`, `costs` and `altered`.

Whether somebody answers must not depend on a value, and neither must these three fail. Where users choose a level, everybody is
charged at least what reports of that level give away.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from graphveil.audit.findings import Leak, Rank, batch
from graphveil.audit.inputs import misfits, valid_inputs
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.personal import level_of
from graphveil.mechanisms.ppm import PersonalMechanism
from graphveil.mechanisms.rows import PublicRange

USERS = 3


def charged_alike(mechanism: Mechanism, public: PublicRange | None) -> list[str]:
    """What is wrong with how a mechanism counts, charges and looks over private data."""
    valid = valid_inputs(mechanism, public)
    for title, private in {**valid, **misfits(mechanism, public)}.items():
        held = batch(private, USERS)
        for name in ("count", "costs", "altered"):
            result = _called(getattr(mechanism, name), held)
            if isinstance(result, Exception):
                return [_leak(f"{name} fails on {title} ({type(result).__name__}), which tells the value")]
            if name == "count" and result != USERS:
                return [_leak(f"count finds {result} users where there are {USERS}, with {title}")]
            if name == "costs" and (wrong := _wrong_costs(mechanism, private, result)):
                return [_leak(f"{wrong}, with {title}")]
    return _cheap_levels(mechanism)


def _called(call: Callable[[Any], Any], held: Any) -> Any:
    """What a call gives, or what it raises; a warning counts as an error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        try:
            return call(held)
        except Exception as error:  # noqa: BLE001 -- whatever is raised, the audit judges it
            return error


def _wrong_costs(mechanism: Mechanism, private: Any, costs: Any) -> str | None:
    budgets = mechanism.level_budgets
    if budgets is None:
        same = costs is None or (
            np.shape(costs) == (USERS,) and (np.asarray(costs) == mechanism.claim.epsilon).all()
        )
        return None if same else "costs differ from the claim although nobody chooses a level"
    if costs is None or np.shape(costs) != (USERS,):
        return "costs must be one number a user where users choose a level"
    level = level_of(private) if np.isfinite(np.asarray(private)[-1]) else 1
    due = budgets[min(max(level, 1), len(budgets)) - 1]
    return (
        None if (np.asarray(costs) >= due).all() else "users are charged less than the budget of their level"
    )


def _cheap_levels(mechanism: Mechanism) -> list[str]:
    """Whether every level is charged at least what its own reports give away, and the most relaxed one the claim."""
    budgets = mechanism.level_budgets
    if budgets is None:
        return []
    if max(budgets) < mechanism.claim.epsilon:
        return [_leak("no level is charged the epsilon that is claimed: level_budgets are too small")]
    if not isinstance(mechanism, PersonalMechanism):
        return []
    # The loss is recomputed by the package's own code, whatever a subclass says of itself.
    for level, budget in enumerate(budgets, start=1):
        if PersonalMechanism.pair_loss(mechanism, level, level).exceeds(budget):
            return [_leak(f"users of level {level} are charged {budget:g}, and their reports give away more")]
    return []


def _leak(told: str) -> Leak:
    return Leak(told, Rank.FORMAT)
