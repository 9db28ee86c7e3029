"""A crew: several workers that learn together, started and watched by somebody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from graphveil.errors import EngineError

# A crew that has lost a worker is started anew so many times.
RESTARTS = 3
# Checkpoints are written each so many epochs, where nothing else is said.
EVERY = 20
Progress = Callable[[str, float], None]


class Crew(Protocol):
    """Whoever starts workers: each calls ``work(tasks[rank], world, progress)`` at the same time."""

    def run(self, work: Callable[..., Any], tasks: Sequence[Any], progress: Progress | None) -> list[Any]:
        """What the workers return, in their order. Where one is lost, all begin again, from their checkpoints; an error that one of
        them raises is raised here."""


class WorkersLostError(EngineError):
    """Workers were lost again and again."""

    def __init__(self, how: str) -> None:
        super().__init__(
            f"workers were lost {RESTARTS + 1} times ({how}): look for memory that ran out, take more workers or fewer on one machine"
        )
