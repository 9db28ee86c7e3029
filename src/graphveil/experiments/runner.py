"""Run an experiment: all its units, one after the other or several at once, always with the same numbers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from graphveil.errors import GraphveilError, InputError
from graphveil.experiments.compute import compute_remote_unit, compute_unit, remove_checkpoints
from graphveil.experiments.engine import HERE, Engine
from graphveil.experiments.experiment import Experiment, Given, Part, check_unchanged, input_digest, take_data
from graphveil.experiments.parts import run_parts
from graphveil.experiments.processes import Arriving, Pool, computed, processes, uninterrupted
from graphveil.experiments.result import Result
from graphveil.experiments.result_store import ResultStore
from graphveil.experiments.unit import RunUnit, UnitResult, has_panel, load_data
from graphveil.experiments.unit_store import UnitStore, results_file
from graphveil.graphs import Users
from graphveil.graphs.load import content_digest, data_digest, large_shards
from graphveil.methods import METHODS, Method
from graphveil.methods.job import Progress
from graphveil.plugins import held

# So many units a worker are begun before their turn.
DEPTH = 4


@dataclass(frozen=True)
class Begun:
    """A unit that is being computed before its turn, and what it reads."""

    unit: RunUnit
    digest: str | None
    future: Future[UnitResult]


class Ahead:
    """Workers that several experiments share: an experiment takes its units, and then units of later ones are begun.

    What is begun before its turn is the same unit with the same numbers. It counts where its experiment takes it, and only if its data are
    still those that it began with.
    """

    def __init__(
        self, pool: Callable[[], Pool], todo: Callable[[Experiment], Sequence[RunUnit]] = lambda _: ()
    ) -> None:
        self.pool, self._todo = pool, todo
        # The experiments that come next, in their order.
        self.coming: Sequence[Experiment] = ()
        self._begun: dict[str, Begun] = {}

    def take(self, units: Sequence[RunUnit]) -> set[Future[UnitResult]]:
        """Return an experiment's own units, begun now or before; and begin units of those that come next."""
        taken = {unit.key for unit in units}
        futures = {self._own(unit) for unit in units}
        most = self.pool().count * DEPTH if self.coming else 0
        for later in self.coming:
            if len(self._begun) >= most:
                break
            self._begin(later, taken)
        return futures

    def finished(self) -> Iterator[tuple[Begun, UnitResult]]:
        """What was computed before its turn, and not taken."""
        for begun in self._begun.values():
            if begun.future.done() and not begun.future.cancelled() and begun.future.exception() is None:
                yield begun, begun.future.result()

    def _own(self, unit: RunUnit) -> Future[UnitResult]:
        begun, digest = self._begun.pop(unit.key, None), unit.digest
        if begun is not None and begun.digest == digest:
            return begun.future
        return self.pool().submit(compute_remote_unit, unit, digest)

    def _begin(self, spec: Experiment, taken: set[str]) -> None:
        """Begin what nobody computes yet. What cannot be run says so when its turn comes."""
        try:
            spec.check()
            wanted = [(unit.key, unit.digest, unit) for unit in self._todo(spec)]
        except GraphveilError:
            return
        for key, digest, unit in wanted:
            if key not in taken and key not in self._begun:
                future = self.pool().submit(compute_remote_unit, unit, digest)
                self._begun[key] = Begun(unit, digest, future)


# Called with each finished unit, how many are finished, and how many there are in all.
Watcher = Callable[[UnitResult, int, int], None]


def run(
    method: str | Method | type[Method],
    data: Any,
    users: Users | None = None,
    *,
    jobs: int | None = None,
    engine: str | Engine = HERE,
    keep: bool | None = None,
    resume: bool = False,
    store: UnitStore | None = None,
    watch: Watcher | None = None,
    inside: Progress | None = None,
    **options: Any,
) -> Result:
    """Run a method and compare it with its control. ``data`` is a name or a path, a graph with its ``users``, or PyG's Data.

    A method is named (FILE.py:NAME too), or given as an object, which runs in this process alone and whose runs are not kept.
    Options are the fields of `Experiment`: epsilon, mechanism, backbone, runs, seed, settings, control and so on. With PyG's Data, whose
    masks are the split if it has any, there are those of `from_pyg` besides: range, binary, split, label, ids.

    The result is kept as the command line keeps it, where `graphveil results` lists it, unless ``keep`` is False. Of named data finished
    runs are kept too, one by one, and ``resume`` reuses them. A graph that is given is listed by its name and a digest of its content.
    ``jobs`` processes compute, or ``engine`` (``ray``, ``ray://HOST:PORT``); neither changes a number.

    >>> result = run("base", "town", epsilon=2.0, keep=False, settings={"epochs": 3, "data.users": 400})
    >>> len(result.scores()), len(result.scores("control"))
    (1, 1)
    """
    name, given, options = take_data(data, users, options)
    engine = Engine.of(engine)
    if not isinstance(method, str):
        if not engine.inside(jobs) or store is not None or keep or resume:
            raise InputError(
                "a method that is given as an object runs in this process alone, and its runs are not kept: leave out jobs, engine, keep, "
                "resume and store, or put it into a file and name it FILE.py:NAME"
            )
        method, keep = METHODS.take(method), False
    kept = keep is None or keep
    if store is None and kept:
        store = UnitStore(results_file())
    spec = Experiment.of(method, name, **options)
    result = run_experiment(
        spec,
        jobs=jobs,
        engine=engine,
        store=store,
        watch=watch,
        inside=inside,
        given=given,
        reuse=resume,
    )
    if kept:
        ResultStore(results_file()).add(result)
    return result


def parts_of(spec: Experiment, given: Given | None = None) -> list[Part]:
    """The parts of each run: the method and what it is compared with."""
    return run_parts(spec, has_panel(spec, given))


@held()
def run_experiment(
    spec: Experiment,
    *,
    jobs: int | None = None,
    engine: Engine = HERE,
    store: UnitStore | None = None,
    watch: Watcher | None = None,
    inside: Progress | None = None,
    given: Given | None = None,
    skip: tuple[Part, ...] = (),
    reuse: bool = False,
    alone: bool = False,
    ahead: Ahead | None = None,
) -> Result:
    """Run all units of a spec, but for the parts to skip and, with ``reuse``, those that the store holds already.

    ``alone`` runs one unit after the other, each in a process of its own on this machine, whatever the engine: its seconds and its memory
    are then its own. Units that the store holds are then reused only if they ran so too. ``ahead`` has workers that several experiments
    share, where they are computed outside this process; else there are new ones.
    Without ``reuse`` a training that was interrupted begins anew, too.
    Every finished unit goes into the store at once. An interrupt returns what there is, marked as interrupted, if there is anything.
    """
    spec.check()
    if given is not None:
        spec.check_given(given[0])
    start = time.perf_counter()
    parts = [part for part in parts_of(spec, given) if part not in skip]
    # A graph that is given has no name by which its units could be found again.
    kept = store if given is None else None
    if kept is not None:
        kept.check()
    inputs = {part: input_digest(spec, part) for part in parts} if kept is not None else {}
    done = kept.find(spec, parts, alone, engine.workers) if reuse and kept is not None else []
    todo = units_left(spec, parts, done, given)
    if given is None:
        over = [RunUnit(spec, unit.part, unit.run) for unit in done]
        remove_checkpoints(over if reuse else todo, engine.workers)
    total = len(done) + len(todo)
    if alone:
        units = _alone(todo)
    elif engine.outside(jobs, len(todo), shared=ahead is not None):
        units = _parallel(todo, jobs, engine, ahead)
    else:
        units = _serial(todo, inside, engine)
    try:
        for unit in units:
            done.append(unit)
            if kept is not None:
                check_unchanged(spec, inputs[unit.part], unit.part)
                kept.add(spec, unit)
            if watch is not None:
                watch(unit, len(done), total)
        interrupted = False
    except KeyboardInterrupt:
        if not any(unit.part == "method" for unit in done):
            raise
        interrupted = True
    return _result(spec, done, given, time.perf_counter() - start, interrupted)


def units_left(
    spec: Experiment, parts: Sequence[Part], done: Sequence[UnitResult], given: Given | None = None
) -> list[RunUnit]:
    """Return the units of an experiment that are not done, run after run."""
    have = {(unit.part, unit.run) for unit in done}
    units = product(range(spec.runs), parts)
    return [RunUnit(spec, part, run, given) for run, part in units if (part, run) not in have]


def _serial(todo: list[RunUnit], inside: Progress | None, engine: Engine) -> Iterator[UnitResult]:
    with engine.open():
        for unit in todo:
            yield compute_unit(unit, inside, engine)


def _alone(todo: list[RunUnit]) -> Iterator[UnitResult]:
    """One unit after the other, each in a fresh process."""
    for unit in todo:
        with processes(1) as pool:
            result = computed(pool.submit(compute_remote_unit, unit, unit.digest))
        yield replace(result, alone=True)


def _parallel(
    todo: list[RunUnit], jobs: int | None, engine: Engine, ahead: Ahead | None
) -> Iterator[UnitResult]:
    """Units outside this process, in the order in which they finish. Nobody waits for shared ones after an interrupt."""
    with engine.pool(jobs, len(todo)) if ahead is None else nullcontext(ahead.pool()) as pool:
        if ahead is None:
            ahead = Ahead(lambda: pool)
        waiting = ahead.take(todo)
        try:
            for future in Arriving(waiting):
                yield computed(future)
        except (KeyboardInterrupt, GeneratorExit):
            # What waits is cancelled by the pool itself: cancelled here too, it would find it changed under its hands.
            pool.stop()
            raise
        except Exception:
            # Of an experiment that cannot be run nothing more is started.
            with uninterrupted():
                for future in waiting:
                    future.cancel()
            raise


def _result(
    spec: Experiment,
    done: list[UnitResult],
    given: Given | None,
    seconds: float,
    interrupted: bool,
) -> Result:
    shards = None if given is not None else large_shards(spec.data)
    metric = (
        spec.resolved_task.metric((given or load_data(spec))[0]) if shards is None else shards.manifest.metric
    )
    digest = data_digest(spec.data, spec.loader_options) if given is None else content_digest(*given)
    return Result.from_units(
        spec,
        done,
        metric=metric,
        seconds=seconds,
        interrupted=interrupted,
        data_digest=digest,
        given=given,
    )
