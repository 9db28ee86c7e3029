"""The engine that a command was given, checked before anything is computed."""

from __future__ import annotations

from graphveil.engine.engine import Engine
from graphveil.errors import InputError


def chosen_engine(engine: str, workers: int | None, jobs: int | None) -> Engine:
    """The engine of --engine and --workers; how many --jobs it is to compute at a time is checked too."""
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs must be at least 1, got {jobs}")
    return Engine.of(engine, workers)
