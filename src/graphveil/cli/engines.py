"""The engine that a command was given, checked before anything is computed."""

from __future__ import annotations

from graphveil.engine.crew import EVERY
from graphveil.engine.engine import Engine
from graphveil.errors import InputError


def chosen_engine(
    engine: str, workers: int | None, jobs: int | None, checkpoint_every: int = EVERY
) -> Engine:
    """The engine of --engine and --workers; how many --jobs it is to compute at a time is checked too."""
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs must be at least 1, got {jobs}")
    if jobs is not None and workers is not None:
        raise InputError(
            "--workers share one run after the other, so --jobs has no meaning beside it: leave one of them out"
        )
    return Engine.of(engine, workers, checkpoint_every)
