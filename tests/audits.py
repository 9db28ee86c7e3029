"""Audits without the steps that a test has no need of: they take seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graphveil.audit import examine, findings

# The steps of an audit, and what they are called.
STEPS = {
    "tables_step": findings.TABLES,
    "joint_step": findings.JOINT,
    "graphs_step": findings.GRAPHS,
    "behaviour_step": findings.BEHAVIOUR,
    "control_step": findings.CONTROL,
    "classes_step": findings.CLASSES,
    "sampler_step": findings.SAMPLER,
    "answers_step": findings.ANSWERS,
    "many_users_step": findings.USERS,
    "versions_step": findings.VERSIONS,
    "bound_step": findings.BOUND,
    "processes_step": findings.PROCESSES,
}


# The steps that draw many reports.
DRAWING = ("sampler_step", "answers_step", "many_users_step", "versions_step", "bound_step")


def left_out(name: str) -> Any:
    """What a step that was not taken gives."""
    step = findings.Step(STEPS[name], "left out by a test", skipped=True)
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
