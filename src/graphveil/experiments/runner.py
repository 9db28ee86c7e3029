"""Run studies: every finished unit is kept, shared and found again, so that whatever stops them loses nothing."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from graphveil.errors import EngineError, GraphveilError, InputError, StoreError
from graphveil.experiments.engine import (
    AUTO,
    HERE,
    WORK_EACH,
    Engine,
    FinishedCalls,
    Jobs,
    Pool,
    UnitLostError,
    call_result,
    processes,
    uninterrupted,
)
from graphveil.experiments.experiment import Experiment, Given, Part, check_same, input_digest, take_data
from graphveil.experiments.experiment_file import experiment_fields
from graphveil.experiments.measures import PARTS
from graphveil.experiments.result import Result
from graphveil.experiments.store import RESULTS, ResultStore, results_file, this_version
from graphveil.experiments.study import Cell, Study, find_sweep, sweep_of
from graphveil.experiments.study_result import CellOutput, StudyResult
from graphveil.experiments.unit import RunUnit, UnitResult, load_data, parts_of, run_unit
from graphveil.graphs.load import content_digest, data_digest, large_shards
from graphveil.graphs.users import Users
from graphveil.lazy import scale
from graphveil.methods import METHODS, Method
from graphveil.methods.job import Progress
from graphveil.plugins import held
from graphveil.settings import usable_processors

# So many units a worker begin before their turn.
DEPTH = 4
# The folder of unfinished trainings, beside the file of results.
CHECKPOINTS = "checkpoints"


@dataclass(frozen=True)
class RunOptions:
    """Options for running experiments. They do not change the numbers.

    Parameters
    ----------
    jobs
        The number of processes, or ``auto``: as many as processors are idle, in `run_studies`. One by default.
    engine
        The engine that computes.
    fresh
        Whether to compute finished runs again, and restart interrupted trainings from the beginning.
    any_version
        Whether to reuse runs that another version of graphveil computed.
    tolerant
        Whether to note an experiment that cannot be run and go on with the next one.
    keep
        Whether to keep results and runs.
    file
        The file that they are kept in; by default the one that all commands use.
    """

    jobs: Jobs = None
    engine: Engine = HERE
    fresh: bool = False
    any_version: bool = False
    tolerant: bool = False
    keep: bool = True
    file: Path | None = None


DEFAULTS, NOT_KEPT = RunOptions(), RunOptions(keep=False)


class StudyWatcher:
    """A listener for the progress of experiments; this one ignores it."""

    # Told what is done inside a unit and which share of it is done, where units are computed in this process.
    inside: Progress | None = None

    def begin(self, experiment: Experiment, done: int, total: int) -> None:
        """Handle the start of an experiment.

        Parameters
        ----------
        experiment
            What begins.
        done, total
            How many units of all experiments are finished, and how many there are.
        """

    def add(self, experiment: Experiment, unit: UnitResult, done: int, total: int) -> None:
        """Handle a finished unit.

        Parameters
        ----------
        experiment, unit
            The unit and its experiment.
        done, total
            How many units of all experiments are finished, and how many there are.
        """

    def end(self, sentences: Sequence[str]) -> None:
        """Hear, at the end or at an interrupt, what is to be said about runs that were found."""


class CallingWatcher(StudyWatcher):
    """Calls a function with each finished unit, how many are finished and how many there are in all."""

    def __init__(self, watch: Callable[[UnitResult, int, int], None], inside: Progress | None) -> None:
        self.watch, self.inside = watch, inside

    def add(self, experiment: Experiment, unit: UnitResult, done: int, total: int) -> None:
        """Call ``watch`` with the unit.

        Parameters
        ----------
        experiment, unit, done, total
            As in `StudyWatcher.add`.
        """
        self.watch(unit, done, total)


SILENT = StudyWatcher()


@dataclass(frozen=True)
class EarlyUnit:
    """A unit that is being computed before its turn, and the digest of what it reads."""

    unit: RunUnit
    digest: str | None
    future: Future[UnitResult]


class Runner:
    """Runs experiments one after the other, which share workers and finished units. Make one with `Runner.open`.

    Workers begin with units of later experiments where there are no more of this one. What begins before its turn is the same unit with
    the same numbers. It counts where its experiment takes it, and only if its data are still those that it began with.
    """

    def __init__(
        self,
        pool: Callable[[], Pool],
        options: RunOptions = NOT_KEPT,
        watcher: StudyWatcher = SILENT,
        given: Given | None = None,
        store: ResultStore | None = None,
    ) -> None:
        self._pool, self.options, self.watcher, self.given = pool, options, watcher, given
        # A graph that is given has no name by which its units could be found again.
        self.store = None if given is not None else store
        # Units of experiments that came before, and of all of them.
        self.before = self.total = 0
        self._early: dict[str, EarlyUnit] = {}

    @classmethod
    @contextmanager
    def open(
        cls,
        options: RunOptions,
        watcher: StudyWatcher = SILENT,
        given: Given | None = None,
        *,
        share: bool = False,
    ) -> Iterator[Runner]:
        """Open a runner whose workers start when first needed and end with the block.

        Parameters
        ----------
        given
            Graph and users of all experiments, if these are objects.
        share
            Whether experiments share finished units even if nothing is kept.
        """
        with (
            held(),
            options.engine.shared(options.jobs) as pool,
            TemporaryDirectory() as folder,
        ):
            store = None
            if options.keep:
                store = ResultStore(options.file, any_version=options.any_version, fresh=options.fresh)
            elif share:
                store = ResultStore(Path(folder) / RESULTS)
            try:
                yield cls(pool, options, watcher, given, store)
            finally:
                watcher.end([] if store is None else store.sentences())

    def parts(self, experiment: Experiment, skip: Sequence[Part] = ()) -> list[Part]:
        """Return the parts of each run, but for those to ``skip``."""
        return [part for part in parts_of(experiment, self.given) if part not in skip]

    def run_all(
        self, cells: Sequence[Cell], skip: Sequence[Part] = ()
    ) -> tuple[list[Result | GraphveilError | None], bool]:
        """Run the experiments of cells and keep each result; return them in their order, and whether that was interrupted.

        In place of a result stands why there is none, or nothing where it was interrupted; of the experiment that was interrupted stand
        the runs that it had finished. Results that lack a part to ``skip`` are not kept; their runs are.
        """
        experiments = [cell.experiment for cell in cells]
        results: list[Result | GraphveilError | None] = [None] * len(cells)
        interrupted = False
        counts = [spec.runs * len(self.parts(spec, skip)) for spec in experiments]
        self.before, self.total = 0, sum(counts)
        if len(cells) > 1:
            self.options.engine.check_units("this")
        for place, cell in enumerate(cells):
            self.watcher.begin(cell.experiment, self.before, self.total)
            try:
                result = self.run(cell.experiment, skip, alone=cell.measure.alone, later=cells[place + 1 :])
                if self.options.keep and not skip:
                    ResultStore(self.options.file).add(result)
                results[place], interrupted = result, result.interrupted
            except KeyboardInterrupt:
                interrupted = True
            except StoreError:
                # No other experiment could be kept either.
                raise
            except GraphveilError as error:
                # Without workers, or with workers of other versions, no other experiment could be computed either.
                nowhere = isinstance(error, EngineError) and not isinstance(error, UnitLostError)
                if nowhere or not self.options.tolerant:
                    raise
                results[place] = error
            if interrupted:
                self._keep_early()
                break
            self.before += counts[place]
        return results, interrupted

    def run(
        self,
        spec: Experiment,
        skip: Sequence[Part] = (),
        *,
        alone: bool = False,
        later: Sequence[Cell] = (),
    ) -> Result:
        """Run all units of an experiment that the store does not hold.

        Every finished unit goes into the store at once. An interrupt returns the finished units, if any,
        marked as interrupted.

        Parameters
        ----------
        skip
            Parts that are not run.
        alone
            Whether to run one unit after the other, each in a separate process on this machine, whatever the
            engine, so that time and memory are measured per unit. Stored units are then reused only if they
            ran this way too.
        later
            Cells that run afterwards; idle workers begin their units.
        """
        spec.check(self.given)
        start, parts = time.perf_counter(), self.parts(spec, skip)
        done: list[UnitResult] = []
        inputs: dict[Part, str] = {}
        if self.store is not None:
            self.store.check()
            inputs = {part: input_digest(spec, part) for part in parts}
            done = self.store.find_units(spec, parts, alone, self.options.engine.workers)
            remove_checkpoints(
                [RunUnit(spec, unit.part, unit.run) for unit in done], self.options.engine.workers
            )
        try:
            for unit in self._compute(self._left(spec, parts, done), alone, skip, later):
                done.append(unit)
                if self.store is not None:
                    check_same(spec, inputs[unit.part], unit.part)
                    self.store.add_unit(spec, unit)
                self.watcher.add(spec, unit, self.before + len(done), self.total)
            interrupted = False
        except KeyboardInterrupt:
            if not any(unit.part == "method" for unit in done):
                raise
            interrupted = True
        return self._result(spec, done, time.perf_counter() - start, interrupted)

    def _left(self, spec: Experiment, parts: Sequence[Part], done: Sequence[UnitResult]) -> list[RunUnit]:
        """Return the units of an experiment that are not done, run after run."""
        have = {(unit.part, unit.run) for unit in done}
        units = product(range(spec.runs), parts)
        return [RunUnit(spec, part, run, self.given) for run, part in units if (part, run) not in have]

    def _compute(
        self, todo: Sequence[RunUnit], alone: bool, skip: Sequence[Part], later: Sequence[Cell]
    ) -> Iterator[UnitResult]:
        """Yield finished units: one after the other here or in processes of their own, or by all workers as they finish."""
        jobs, engine = self.options.jobs, self.options.engine
        if alone:
            for unit in todo:
                with processes(1) as pool:
                    yield replace(call_result(self._submit(pool, unit, unit.digest)), alone=True)
        elif engine.inside(jobs):
            with engine.open():
                for unit in todo:
                    self._forget(unit)
                    yield compute_unit(unit, self.watcher.inside, engine)
        elif todo:
            yield from self._parallel(todo, skip, later)

    def _parallel(
        self, todo: Sequence[RunUnit], skip: Sequence[Part], later: Sequence[Cell]
    ) -> Iterator[UnitResult]:
        """Yield units in the order in which workers finish them. Nobody waits for those of later experiments after an interrupt."""
        waiting = self._take(todo)
        # A graph that is given is sent along with each unit: nothing of it begins before its turn.
        if self.given is None:
            self._begin(later, skip, {unit.key for unit in todo})
        try:
            for future in FinishedCalls(waiting):
                yield call_result(future)
        except (KeyboardInterrupt, GeneratorExit):
            # What waits is cancelled by the pool itself: cancelled here too, it would find it changed under its hands.
            self._pool().stop()
            raise
        except Exception:
            # Of an experiment that cannot be run nothing more is started.
            with uninterrupted():
                for future in waiting:
                    future.cancel()
            raise

    def _take(self, units: Sequence[RunUnit]) -> set[Future[UnitResult]]:
        """Return an experiment's own units, begun now or before."""
        futures = set()
        for unit in units:
            early = self._early.pop(unit.key, None) if self._early else None
            digest = unit.digest
            same = early is not None and early.digest == digest
            futures.add(early.future if early and same else self._submit(self._pool(), unit, digest))
        return futures

    def _begin(self, later: Sequence[Cell], skip: Sequence[Part], taken: set[str]) -> None:
        """Begin units of later experiments that nobody computes yet, up to the first that must have the machine for itself."""
        most = self._pool().count * DEPTH
        for cell in later:
            if len(self._early) >= most or cell.measure.alone:
                return
            # What cannot be run says so when its turn comes.
            with suppress(GraphveilError):
                cell.experiment.check()
                parts = self.parts(cell.experiment, skip)
                done = [] if self.store is None else self.store.find_units(cell.experiment, parts)
                wanted = [(unit.key, unit.digest, unit) for unit in self._left(cell.experiment, parts, done)]
                for key, digest, unit in wanted:
                    if key not in taken and key not in self._early:
                        self._early[key] = EarlyUnit(unit, digest, self._submit(self._pool(), unit, digest))

    def _submit(self, pool: Pool, unit: RunUnit, digest: str | None) -> Future[UnitResult]:
        self._forget(unit)
        return pool.submit(compute_remote_unit, unit, digest)

    def _forget(self, unit: RunUnit) -> None:
        """Forget an interrupted training of a unit that begins anew."""
        if self.options.fresh and self.given is None:
            remove_checkpoints([unit], self.options.engine.workers)

    def _keep_early(self) -> None:
        """Keep what was computed before its turn when an interrupt came, unless its data have changed since."""
        for early in self._early.values():
            finished = early.future.done() and not early.future.cancelled()
            if self.store is None or not finished or early.future.exception() is not None:
                continue
            if early.unit.digest == early.digest:
                self.store.add_unit(early.unit.spec, early.future.result())

    def _result(self, spec: Experiment, done: list[UnitResult], seconds: float, interrupted: bool) -> Result:
        given = self.given
        shards = None if given is not None else large_shards(spec.data)
        if shards is None:
            metric = spec.resolved_task.metric((given or load_data(spec))[0])
        else:
            metric = str(shards.manifest.metric)
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
    """Compute a unit in this process or by the engine's workers. A large sharded graph is read in place.

    Parameters
    ----------
    unit
        One part of one run.
    progress
        Called with the current step and the share that is done.
    engine
        The engine; this process by default.
    """
    if engine.workers is None and (unit.given is not None or large_shards(unit.spec.data) is None):
        return run_unit(unit, progress)
    result: UnitResult = scale().compute_in_parts(unit, engine, progress)
    return result


def compute_remote_unit(unit: RunUnit, digest: str | None) -> UnitResult:
    """Compute a unit in another process, where the data must be those of the digest."""
    unit.check_elsewhere(digest)
    return compute_unit(unit)


def unit_count(experiment: Experiment) -> int:
    """Return the number of units of an experiment."""
    return experiment.runs * len(parts_of(experiment))


def run_studies(
    studies: Sequence[Study],
    options: RunOptions = DEFAULTS,
    watcher: StudyWatcher = SILENT,
    given: Given | None = None,
) -> list[StudyResult]:
    """Run the cells of studies one after the other: first those that learn, then those that do not.

    Parts of a run that no measure along axes reads are not run. Quick results and results that lack a part
    are not kept, but their runs are.

    Parameters
    ----------
    options
        Engine, processes, and what is kept and reused.
    watcher
        Notified when experiments begin and units finish.
    given
        Graph and users of all experiments, if these are objects.
    """
    todo = [cell for study in studies for cell in study.cells if not cell.left_out]
    learning = [cell for cell in todo if cell.measure.read is not None]
    others = [cell for cell in todo if cell.measure.read is None]
    skip = [part for part in PARTS if all(part in _unread(study) for study in studies)]
    results: list[Result | GraphveilError | None] = []
    interrupted = False
    if learning:
        options = with_job_count(options, [cell.experiment for cell in learning], given)
        with Runner.open(options, watcher, given, share=len(learning) > 1) as runner:
            results, interrupted = runner.run_all(learning, skip)
    readings: list[CellOutput] = [None] * len(others)
    for place, cell in enumerate(others):
        watcher.begin(cell.experiment, place, len(others))
        try:
            readings[place] = None if interrupted else cell.measure.of(cell.experiment)
        except KeyboardInterrupt:
            interrupted = True
        except GraphveilError as error:
            if not options.tolerant:
                raise
            readings[place] = error
    obtained = {False: iter(results), True: iter(readings)}

    def take(cell: Cell) -> CellOutput:
        return None if cell.left_out else next(obtained[cell.measure.read is None])

    return [StudyResult.of(study, [take(cell) for cell in study.cells], interrupted) for study in studies]


# Epochs of a method that has no such setting, and the users and links that take as long as the rest of an epoch.
EPOCHS, LEAST = 100, 50_000


def with_job_count(
    options: RunOptions, experiments: Iterable[Experiment], given: Given | None = None
) -> RunOptions:
    """Return options with a number of processes in place of ``auto``, by what experiments have to do."""
    if options.jobs != AUTO:
        return replace(options, jobs=options.engine.job_count(options.jobs, 1, 0))
    enough, units, work = WORK_EACH * usable_processors(), 0, 0.0
    for spec in experiments:
        # What cannot be run says so when its turn comes; a sharded graph takes the machine's memory for itself.
        with suppress(GraphveilError):
            if given is None and large_shards(spec.data) is not None:
                continue
            graph = (given or load_data(spec))[0]
            count = spec.runs * len(parts_of(spec, given))
            units += count
            epochs = getattr(spec.resolved_settings, "epochs", EPOCHS)
            work += count * epochs * (LEAST + graph.node_count + 2 * graph.edge_count)
        if work >= enough and units >= usable_processors():
            break
    return replace(options, jobs=options.engine.job_count(AUTO, units, work))


def run_study(
    study: Study,
    options: RunOptions = DEFAULTS,
    watcher: StudyWatcher = SILENT,
    given: Given | None = None,
) -> StudyResult:
    """Run the cells of one study; reject one with axes if none of its experiments has the measure.

    Parameters
    ----------
    study
        The study.
    options, watcher, given
        As in `run_studies`.
    """
    (result,) = run_studies([study], options, watcher, given)
    if study.axes and result.finished and not result.has_numbers:
        raise InputError(f"no experiment of {study.name} has the measure {study.measure.name}: take another")
    return result


def _unread(study: Study) -> tuple[Part, ...]:
    """Return the parts of a run that nobody looks at: a quick study has no structure, and a table shows whole results."""
    unread = tuple(part for part in PARTS if study.axes and part not in study.measure.parts)
    return (*unread, "structure") if study.quick else unread


def run_experiment(
    experiment: Experiment,
    options: RunOptions = NOT_KEPT,
    watcher: StudyWatcher = SILENT,
    given: Given | None = None,
) -> Result:
    """Run one experiment. An interrupt returns the finished runs, if any, marked as interrupted.

    Parameters
    ----------
    options
        Engine, processes, and what is kept and reused; by default nothing is kept.
    watcher
        Notified when the experiment begins and units finish.
    given
        Graph and users, if these are objects.
    """
    study = Study("run", experiment.method, (Cell(experiment),))
    (outcome,) = run_study(study, options, watcher, given).outcomes
    result = outcome.result or outcome.partial
    if result is None:
        raise KeyboardInterrupt
    return result


def run(
    method: str | Method | type[Method],
    data: Any,
    users: Users | None = None,
    *,
    jobs: Jobs = None,
    engine: str | Engine = HERE,
    keep: bool | None = None,
    resume: bool = False,
    watch: Callable[[UnitResult, int, int], None] = lambda *_: None,
    inside: Progress | None = None,
    **options: Any,
) -> Result:
    """Run a method and compare it with its control.

    Parameters
    ----------
    method
        A name, FILE.py:NAME, or a method object, which runs in this process only and whose runs are not kept.
    data, users
        The name or path of a dataset, a `Graph` with its `Users`, or PyG's Data (its masks, if any, are the
        split).
    jobs
        The number of processes, or ``auto``: as many as processors are idle. It does not change the numbers. One by default: processes
        begin by importing the program that started them, which must not compute then (``if __name__ == "__main__":``).
    engine
        ``local``, ``ray`` or ``ray://HOST:PORT``. It does not change the numbers.
    keep
        Whether to keep the result where `graphveil results` lists it; True by default. On named data, each
        finished run is kept too. A graph is listed by its name and a digest of its content.
    resume
        Whether to reuse finished runs on named data.
    watch
        Called with each finished unit, the number of finished units, and the number of all units.
    inside
        Called inside a unit with the current step and the share of the unit that is done.
    options
        Fields of `Experiment`: epsilon, mechanism, backbone, runs, seed, settings, control and so on. With
        PyG's Data also the options of `from_pyg`: range, binary, split, label, ids.
    >>> result = run("base", "town", epsilon=2.0, keep=False, settings={"epochs": 3, "data.users": 400})
    >>> len(result.scores()), len(result.scores("control"))
    (1, 1)
    """
    name, given, options = take_data(data, users, options)
    engine = Engine.of(engine)
    if not isinstance(method, str):
        if not engine.inside(jobs) or keep or resume:
            raise InputError(
                "a method that is given as an object runs in this process alone, and its runs are not kept: leave out jobs, engine, keep "
                "and resume, or put it into a file and name it FILE.py:NAME"
            )
        method, keep = METHODS.take(method), False
    how = RunOptions(jobs, engine, fresh=not resume, keep=keep is None or keep)
    return run_experiment(Experiment.of(method, name, **options), how, CallingWatcher(watch, inside), given)


def sweep(
    method: str,
    data: Any = None,
    users: Users | None = None,
    *,
    over: Mapping[str, Sequence[Any]] | None = None,
    measure: str | None = None,
    jobs: Jobs = None,
    engine: str | Engine = HERE,
    fresh: bool = False,
    keep: bool = True,
    **options: Any,
) -> StudyResult:
    """Run an experiment over the values of one to three of its fields.

    Parameters
    ----------
    method
        A method; without ``over``, a built-in sweep (`graphveil sweep` lists them) or a .toml file.
    data, users, jobs, engine
        As in `run`.
    over
        The fields, each with its values; a setting is named settings.KEY. The first field is the x axis, the
        second gives the lines, the third the panels.
    measure
        The name of what is measured; the sweep's own by default.
    fresh
        Whether to compute finished runs on named data again instead of reusing them.
    keep
        Whether to keep results.
    options
        As in `run`; without ``over``, fields of the sweep's base.
    >>> options = {"keep": False, "control": False, "settings": {"epochs": 2, "data.users": 400}}
    >>> found = sweep("base", "town", over={"epsilon": [1.0, 4.0]}, **options)
    >>> [len(found.at(epsilon).scores()) for epsilon in (1.0, 4.0)]
    [1, 1]
    """
    given: Given | None = None
    if over is None:
        if users is not None or not (data is None or isinstance(data, str)):
            raise InputError(f"{method} names its graphs itself: give over={{FIELD: [VALUES]}} for yours")
        fields = experiment_fields(options, "the options")
        study = find_sweep(str(method)).with_fields(fields).on([data] if data else [])
    else:
        name, given, options = take_data(data, users, options)
        base = {"method": method, "data": name, **options}
        axes = [{"field": field, "values": list(values)} for field, values in over.items()]
        study = sweep_of({"base": base, "axes": axes, "title": f"{method} on {name}"}, "sweep", "over")
    if measure is not None:
        study = study.with_measure(measure)
    how = RunOptions(jobs, Engine.of(engine), fresh, keep=keep)
    if given is None:
        return run_study(study.prepare(everything=True), how)
    if study.measure.read is None:
        raise InputError(f"{study.measure.name} is measured on named data: write the graph to an .npz file")
    study.check_runs()
    return run_study(study, how, given=given)
