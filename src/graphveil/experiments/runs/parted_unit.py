"""One part of one run where several workers share it, or where a graph is too large to be loaded as a whole."""

from __future__ import annotations

import hashlib
import shutil
import time
from functools import partial

from graphveil.engine.engine import HERE, Engine
from graphveil.engine.learning import learn_in_parts
from graphveil.engine.part_work import Keeping
from graphveil.experiments.runs.shard_files import RowFiles
from graphveil.experiments.runs.shard_unit import run_shard_unit
from graphveil.experiments.runs.unit import UnitResult, make_ready, run_unit, scored
from graphveil.experiments.specs.inputs import input_digest
from graphveil.experiments.specs.outside_names import load_names
from graphveil.experiments.specs.spec import Part, Spec
from graphveil.experiments.store.place import results_file
from graphveil.experiments.store.reuse import this_version
from graphveil.graphs import Graph, Users
from graphveil.graphs.load import large_shards
from graphveil.methods.job import Progress

CHECKPOINTS = "checkpoints"


def compute_unit(
    spec: Spec,
    part: Part,
    run: int,
    progress: Progress | None = None,
    given: tuple[Graph, Users] | None = None,
    engine: Engine = HERE,
    out: RowFiles | None = None,
) -> UnitResult:
    """Part ``part`` of run ``run``, in this process or by the engine's workers; a large sharded graph is read where it lies.

    What workers have written down is gone when the unit is done. Into ``out`` go predictions or embeddings of a sharded graph.
    """
    shards = None if given is not None else large_shards(spec.data)
    if engine.workers is None and shards is None:
        return run_unit(spec, part, run, progress, given)
    crew = None if engine.workers is None else engine.crew()
    keeping = None if given is not None else _keeping(spec, part, run, engine)
    if shards is not None:
        workers = engine.workers or 1
        unit = run_shard_unit(spec, part, run, progress, crew=crew, workers=workers, keeping=keeping, out=out)
    else:
        assert crew is not None and engine.workers is not None
        start = time.perf_counter()
        ready = make_ready(spec, part, run, progress, given)
        load = partial(load_names, spec)
        name, host = ready.method.name, engine.host()
        outcome = learn_in_parts(name, ready.job, crew, engine.workers, load, host=host, keeping=keeping)
        unit = scored(spec, part, run, ready, outcome, start)
    if keeping is not None:
        shutil.rmtree(keeping.folder, ignore_errors=True)
    return unit


def _keeping(spec: Spec, part: Part, run: int, engine: Engine) -> Keeping:
    """Where the trainings of a unit are kept until it is done: in a folder named by all that they depend on."""
    told = (spec.key(part, run), input_digest(spec, part), this_version().source, engine.workers)
    name = hashlib.sha256(repr(told).encode()).hexdigest()[:32]
    return Keeping(results_file().parent / CHECKPOINTS / name, engine.checkpoint_every)
