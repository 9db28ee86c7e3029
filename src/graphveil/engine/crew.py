"""A crew: several workers that learn together, started and watched by somebody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from graphveil.errors import EngineError, InputError

# A crew that has lost a worker is started anew so many times.
RESTARTS = 3
# Checkpoints are written each so many epochs, where nothing else is said.
EVERY = 20
# What libraries take of each worker that no other shares, in bytes.
LIBRARIES = 200e6
Progress = Callable[[str, float], None]


class Crew(Protocol):
    """Whoever starts workers: each calls ``work(tasks[rank], world, progress)`` at the same time."""

    def run(self, work: Callable[..., Any], tasks: Sequence[Any], progress: Progress | None) -> list[Any]:
        """What the workers return, in their order. Where one is lost, all begin again, from their checkpoints; an error that one of
        them raises is raised here."""


def check_room(workers: int, room: float, where: str) -> None:
    """Refuse workers whose libraries alone take more than the memory, in bytes, that is there."""
    most = int(room / LIBRARIES)
    if workers > max(most, 1):
        raise InputError(
            f"{workers} workers take {workers * LIBRARIES / 1e9:.1f} GB for libraries alone, and {where} has {room / 1e9:.1f} GB: give at most "
            f"--workers {max(most, 1)}, or more machines"
        )


class WorkersLostError(EngineError):
    """Workers were lost again and again."""

    def __init__(self, how: str) -> None:
        super().__init__(
            f"workers were lost {RESTARTS + 1} times ({how}): look for memory that ran out, take more workers or fewer on one machine"
        )
