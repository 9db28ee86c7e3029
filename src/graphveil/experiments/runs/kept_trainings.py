"""Where trainings of units that are not done are kept, and when they are forgotten."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from graphveil.engine.crew import EVERY
from graphveil.engine.part_work import Keeping
from graphveil.experiments.specs.inputs import input_digest
from graphveil.experiments.specs.spec import Part, Spec
from graphveil.experiments.store.place import results_file
from graphveil.experiments.store.reuse import this_version

CHECKPOINTS = "checkpoints"


def kept_trainings(
    spec: Spec, part: Part, run: int, workers: int | None = None, every: int = EVERY
) -> Keeping:
    """Where the trainings of a unit are kept until it is done: in a folder named by all that they depend on."""
    told = (spec.key(part, run), input_digest(spec, part), this_version().source, workers)
    name = hashlib.sha256(repr(told).encode()).hexdigest()[:32]
    return Keeping(_folder() / name, every)


def forget_trainings(spec: Spec, units: Iterable[tuple[Part, int]], workers: int | None = None) -> None:
    """Remove what is kept of these units: they are done, or are to begin anew."""
    if _folder().is_dir():
        for part, run in units:
            remove(kept_trainings(spec, part, run, workers))


def remove(keeping: Keeping) -> None:
    """Remove what is kept of a unit, and the folder of all of them after the last."""
    shutil.rmtree(keeping.folder, ignore_errors=True)
    with suppress(OSError):
        keeping.folder.parent.rmdir()


def _folder() -> Path:
    return results_file().parent / CHECKPOINTS
