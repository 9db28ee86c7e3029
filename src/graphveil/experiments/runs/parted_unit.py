"""One part of one run where several workers share it, or where a graph is too large to be loaded as a whole."""

from __future__ import annotations

import time
from functools import partial

from graphveil.engine.engine import HERE, Engine
from graphveil.engine.learning import learn_in_parts
from graphveil.experiments.runs.kept_trainings import kept_trainings, remove
from graphveil.experiments.runs.shard_files import RowFiles
from graphveil.experiments.runs.shard_unit import run_shard_unit
from graphveil.experiments.runs.unit import UnitResult, make_ready, run_unit, scored
from graphveil.experiments.specs.outside_names import load_names
from graphveil.experiments.specs.spec import Part, Spec
from graphveil.graphs import Graph, Users
from graphveil.graphs.load import large_shards
from graphveil.methods.job import Progress


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
    keeping = None
    if given is None:
        keeping = kept_trainings(spec, part, run, engine.workers, engine.checkpoint_every)
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
        remove(keeping)
    return unit
