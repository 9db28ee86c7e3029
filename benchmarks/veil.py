"""veil, against structure, with which it begins: what its server does besides, and what the devices do that are simulated.

The graph is facebook's of `$GRAPHVEIL_DATA`, or a town of the same size. Reports are drawn once and played again, so that the
server's time is its own.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from benchmarks.measure import Call, interleaved
from benchmarks.result import Result, Sizes
from graphveil.graphs import Graph, Users, load
from graphveil.methods import METHODS, Job
from graphveil.methods.structure import forget_blends
from graphveil.privacy.answering import Recorder, Replay

TIME_TARGET = 1.3
EPSILON, REPETITIONS, SEED = 4.0, 3, 0


def run(sizes: Sizes) -> list[Result]:
    """Seconds of veil over those of structure: the server alone, and with all devices in the same process."""
    torch.set_num_threads(1)
    source, graph, users = _data(sizes.users)
    epochs = {"epochs": min(sizes.epochs, 200)}
    veil, structure = METHODS.find("veil"), METHODS.find("structure")
    job = Job.of(graph, None, veil.settings.of(epochs), seed=SEED, epsilon=EPSILON, mechanism="privunit")  # type: ignore[arg-type]
    ledger = veil.questions(job).open_ledger
    alone = Job.of(graph, None, structure.settings.of(epochs), seed=SEED)  # type: ignore[arg-type]
    recorder = Recorder(users.answering(ledger(users), seed=SEED))
    veil.run(_asking(job, recorder))

    def anew(method: Any, given: Job) -> object:
        forget_blends()
        return method.run(given)

    calls: dict[str, Call] = {
        "structure": lambda: anew(structure, alone),
        "server": lambda: anew(veil, _asking(job, Replay(recorder.answers))),
        "everything": lambda: anew(veil, _asking(job, users.answering(ledger(users), seed=SEED))),
    }
    timings = interleaved(calls, min(sizes.repetitions, REPETITIONS))
    return [
        Result(
            "veil",
            f"{what}, {source}: time",
            "structure",
            "s",
            timings.best(name),
            timings.best("structure"),
            TIME_TARGET if name == "server" else None,
            timings.median_ratio(name, "structure"),
        )
        for name, what in (("server", "the server"), ("everything", "the server and all devices"))
    ]


def _asking(job: Job, users: Any) -> Job:
    return replace(job, users=users)


def _data(count: int) -> tuple[str, Graph, Users]:
    folder = os.environ.get("GRAPHVEIL_DATA", "")
    if folder and (Path(folder) / "facebook.npz").exists():
        return "facebook", *load("facebook", seed=SEED)
    return f"a town of {count} users", *load("town", seed=SEED, users=count, features=512)
