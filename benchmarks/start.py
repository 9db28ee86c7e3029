"""What it takes to start: help, lists and the import against the command line's libraries, a small run against torch.

Each call is a process of its own, in turn with its reference; what is counted is processor time, user and system, of the whole process. Graphs and
results are those of an empty folder.
"""

from __future__ import annotations

import os
import sys
import tempfile

from benchmarks.measure import Timings
from benchmarks.result import Result, Sizes

# As long as the reference, and 30% more.
TARGET = 1.3
LIBRARIES, TORCH = "import typer, rich.console", "import torch"
COMMANDS = (
    "--help",
    "run --help",
    "attack level --help",
    "methods",
    "mechanisms",
    "data list",
    "paper",
    "sweep",
)
RUN = "run base --data town --runs 1 --epsilon 2 --set data.users=600 --set epochs=20 --no-control"


def run(sizes: Sizes) -> list[Result]:
    """Processor time of short calls, and of a small run, as ratios to imports."""
    small = sizes.repetitions < Sizes().repetitions
    commands = {
        f"graphveil {words}": ["-m", "graphveil", *words.split()]
        for words in COMMANDS[: 2 if small else None]
    }
    imported = {"import graphveil": ["-c", "import graphveil"]}
    found = _compared({**imported, **commands}, LIBRARIES, sizes.repetitions)
    return found + _compared({"a small run": ["-m", "graphveil", *RUN.split()]}, TORCH, sizes.repetitions)


def _compared(calls: dict[str, list[str]], reference: str, repetitions: int) -> list[Result]:
    """Compare calls of Python with a reference, all in turn; a first round fills caches and is not counted."""
    seconds: dict[str, list[float]] = {reference: [], **{name: [] for name in calls}}
    for repetition in range(repetitions + 1):
        for name, words in {reference: ["-c", reference], **calls}.items():
            taken = seconds_of(words)
            if repetition:
                seconds[name].append(taken)
    timings = Timings({name: tuple(taken) for name, taken in seconds.items()})
    return [
        Result(
            "start",
            name,
            reference,
            "s",
            timings.best(name),
            timings.best(reference),
            TARGET,
            timings.median_ratio(name, reference),
        )
        for name in calls
    ]


def seconds_of(words: list[str]) -> float:
    """Processor time of a process of Python with these words, its end included."""
    with tempfile.TemporaryDirectory() as nothing, open(os.devnull, "w") as nowhere:
        kept = {name: value for name, value in os.environ.items() if name != "GRAPHVEIL_DATA"}
        environment = {**kept, "GRAPHVEIL_CACHE": nothing, "OMP_NUM_THREADS": "1"}
        actions = [(os.POSIX_SPAWN_DUP2, nowhere.fileno(), stream) for stream in (1, 2)]
        process = os.posix_spawn(sys.executable, [sys.executable, *words], environment, file_actions=actions)
        _, status, used = os.wait4(process, 0)
    if status:
        raise RuntimeError(f"python {' '.join(words)} ended with status {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime
