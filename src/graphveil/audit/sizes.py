"""A mechanism in other sizes: more and fewer values, larger and smaller budgets, as a schedule has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from graphveil.audit.candidate import Candidate
from graphveil.audit.schedule import BUDGETS, AuditSchedule
from graphveil.errors import GraphveilError
from graphveil.mechanisms.base import Mechanism

# Budgets above those of the schedule, and how far the largest one that is accepted is looked for.
LARGER, MOST, HALVINGS = (16.0, 24.0, 48.0), 4096.0, 8
# What the size of a mechanism is called, by the setting that says it.
UNITS = {"dims": "values", "classes": "classes", "levels": "levels"}


@dataclass(frozen=True)
class Sized:
    """A mechanism in one size, and what that is called."""

    title: str
    mechanism: Mechanism
    epsilon: float
    # The number of values, where that is what was chosen.
    size: int | None = None


def sizes(candidate: Candidate, schedule: AuditSchedule) -> Iterator[Sized]:
    """All sizes of a schedule that the mechanism accepts, small ones first.

    A plan has no other size than its own, and for a curator, who sees everything, some cells stand for a whole graph.
    """
    if candidate.ready or candidate.planned is not None or candidate.build().trust == "curator":
        return
    setting = size_setting(candidate)
    if setting is not None:
        unit = "users" if candidate.build().subject == "links" else UNITS[setting]
        for size in schedule.dims:
            fewer = {} if candidate.sampled is None else {"sampled": min(candidate.sampled, size)}
            yield from _built(candidate, f"{size:,} {unit}", {setting: size, **fewer}, size)
    if candidate.takes("dims") and candidate.takes("sampled"):
        for dims, sampled in schedule.sampled:
            title = f"{sampled:,} of {dims:,} values"
            yield from _built(candidate, title, {"dims": dims, "sampled": sampled}, dims)
    if candidate.takes("epsilon"):
        for epsilon in (*schedule.epsilons, *larger_budgets(candidate, schedule)):
            yield from _built(candidate, f"epsilon {epsilon:g}", {"epsilon": epsilon})
    if setting is None or not candidate.takes("epsilon"):
        return
    for mixed in schedule.mixed:
        changes = {setting: mixed["dims"], "epsilon": mixed["epsilon"]}
        if setting == "dims" and candidate.takes("sampled"):
            changes["sampled"] = mixed["sampled"]
        listed = ", ".join(f"{key} {value:,}" for key, value in changes.items())
        yield from _built(candidate, listed, changes, mixed["dims"])


def size_setting(candidate: Candidate) -> str | None:
    """The setting that says how large a mechanism is: the first of these that it takes."""
    return next((setting for setting in UNITS if candidate.takes(setting)), None)


def larger_budgets(candidate: Candidate, schedule: AuditSchedule) -> list[float]:
    """Budgets beyond the schedule's, up to the largest that the mechanism accepts (to a few percent)."""
    if schedule.quick:
        return []
    low, high = BUDGETS[1], MOST
    if not _accepts(candidate, low):
        return []
    for _ in range(HALVINGS):
        middle = float(f"{(low * high) ** 0.5:.4g}")
        low, high = (middle, high) if _accepts(candidate, middle) else (low, middle)
    return [*(epsilon for epsilon in LARGER if epsilon < low), low]


def _accepts(candidate: Candidate, epsilon: float) -> bool:
    return bool(list(_built(candidate, "", {"epsilon": epsilon})))


def _built(
    candidate: Candidate, title: str, changes: dict[str, Any], size: int | None = None
) -> Iterator[Sized]:
    try:
        built = candidate.build(**changes)
    except GraphveilError:
        return  # not every family has every size
    yield Sized(title, built, changes.get("epsilon", candidate.epsilon), size)
