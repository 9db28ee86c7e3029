"""Compute a unit by workers that share its graph, or on a sharded graph."""

from __future__ import annotations

import time

from graphveil.experiments.engine import LOCAL, Engine
from graphveil.experiments.runner import checkpoint_folder, remove_checkpoints
from graphveil.experiments.unit import RunUnit, UnitResult, open_unit, score_unit
from graphveil.graphs.load import large_shards
from graphveil.methods.job import Progress
from graphveil.scale.partition_learning import Checkpointing, learn_in_parts
from graphveil.scale.shard_learning import RowFiles, ShardTask, run_shard_unit
from graphveil.scale.workers import ProcessWorkers, Workers


def compute_in_parts(
    unit: RunUnit, engine: Engine, progress: Progress | None = None, out: RowFiles | None = None
) -> UnitResult:
    """Compute a unit by the engine's workers, or in this process for a large sharded graph without workers.

    Checkpoints are removed when the unit is done.

    Parameters
    ----------
    unit
        The unit to compute.
    engine
        The engine, with its workers.
    progress
        Called with what is being done and how far it is.
    out
        The files for predictions or embeddings of a sharded graph.
    """
    named = unit.given is None
    shards = large_shards(unit.spec.data) if named else None
    workers = None if engine.workers is None else _workers(engine)
    folder = checkpoint_folder(unit, engine.workers) if named else None
    checkpoints = None if folder is None else Checkpointing(folder, engine.checkpoint_every)
    if shards is not None:
        task = ShardTask(unit, checkpoints, on_disk=workers is None, out=out)
        result = run_shard_unit(task, engine.workers or 1, workers, progress)
    else:
        assert workers is not None and engine.workers is not None
        start = time.perf_counter()
        ready = open_unit(unit, progress)
        outcome = learn_in_parts(
            ready.method.name,
            ready.job,
            workers,
            engine.workers,
            unit.spec.load_code,
            checkpoints=checkpoints,
        )
        result = score_unit(ready, outcome, start)
    if named:
        remove_checkpoints([unit], engine.workers)
    return result


def _workers(engine: Engine) -> Workers:
    if engine.name == LOCAL:
        return ProcessWorkers()
    from graphveil.scale.ray_workers import RayWorkers

    return RayWorkers(engine.address)
