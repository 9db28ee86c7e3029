"""Where a unit is computed: in this process, in another one, by workers that share a graph, or on a sharded graph."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from graphveil.experiments.engine import HERE, Engine
from graphveil.experiments.experiment import check_same
from graphveil.experiments.store import results_file, this_version
from graphveil.experiments.unit import RunUnit, UnitResult, run_unit
from graphveil.graphs.load import large_shards
from graphveil.lazy import scale
from graphveil.methods.job import Progress

CHECKPOINTS = "checkpoints"


def checkpoint_folder(unit: RunUnit, workers: int | None = None) -> Path:
    """Return where the trainings of an unfinished unit are kept: in a folder named by all that they depend on."""
    inputs = (unit.key, unit.digest, this_version().source, workers)
    name = hashlib.sha256(repr(inputs).encode()).hexdigest()[:32]
    return results_file().parent / CHECKPOINTS / name


def remove_checkpoints(units: Iterable[RunUnit], workers: int | None = None) -> None:
    """Remove the checkpoints of units that are done, or are to begin anew; and the folder of all of them after the last."""
    home = results_file().parent / CHECKPOINTS
    if home.is_dir():
        for unit in units:
            shutil.rmtree(checkpoint_folder(unit, workers), ignore_errors=True)
        with suppress(OSError):
            home.rmdir()


def compute_unit(unit: RunUnit, progress: Progress | None = None, engine: Engine = HERE) -> UnitResult:
    """Compute a unit, in this process or by the engine's workers; a large sharded graph is read where it lies."""
    if engine.workers is None and (unit.given is not None or large_shards(unit.spec.data) is None):
        return run_unit(unit, progress)
    result: UnitResult = scale().compute_in_parts(unit, engine, progress)
    return result


def compute_remote_unit(unit: RunUnit, digest: str | None) -> UnitResult:
    """Compute a unit in another process, where the data must be those of the digest."""
    check_elsewhere(unit, digest)
    return compute_unit(unit)


def check_elsewhere(unit: RunUnit, digest: str | None) -> None:
    """Load an experiment's names in the process that computes, and refuse other data than those of the digest."""
    unit.spec.load_code()
    if digest is not None:
        check_same(unit.spec, digest, unit.part)
