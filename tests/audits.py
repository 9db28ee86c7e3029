"""Audits without the steps that a test has no need of: they take seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graphveil.audit import examine
from graphveil.audit.findings import Step, Title

# The steps of an audit, and what they are called.
STEPS = {
    "tables_step": Title.TABLES,
    "joint_step": Title.JOINT,
    "graphs_step": Title.GRAPHS,
    "behaviour_step": Title.BEHAVIOUR,
    "control_step": Title.CONTROL,
    "classes_step": Title.CLASSES,
    "sampler_step": Title.SAMPLER,
    "answers_step": Title.ANSWERS,
    "many_users_step": Title.USERS,
    "versions_step": Title.VERSIONS,
    "bound_step": Title.BOUND,
    "processes_step": Title.PROCESSES,
}


# The steps that draw many reports.
DRAWING = ("sampler_step", "answers_step", "many_users_step", "versions_step", "bound_step")


def left_out(name: str) -> Any:
    """What a step that was not taken gives."""
    step = Step(STEPS[name], "left out by a test", skipped=True)
    return (step, []) if name == "versions_step" else step


def leave_out_draws(patch: pytest.MonkeyPatch) -> None:
    """Let audits compute, and draw next to nothing."""
    for name in DRAWING:
        patch.setattr(examine, name, lambda *_, name=name: left_out(name))


def end_when_found(cause: str, patch: pytest.MonkeyPatch) -> None:
    """Let audits leave out all steps after the one with a leak that has these words."""
    found: list[str] = []

    def until_found(name: str, honest: Callable[..., Any]) -> Callable[..., Any]:
        def step(*given: Any) -> Any:
            if found:
                return left_out(name)
            looked = honest(*given)
            seen = looked[0] if isinstance(looked, tuple) else looked
            found.extend(leak for leak in seen.leaks if cause in leak)
            return looked

        return step

    for name in STEPS:
        patch.setattr(examine, name, until_found(name, getattr(examine, name)))
