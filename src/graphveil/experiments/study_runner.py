"""Run studies: finished units are shared and kept, and whatever stops them loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from graphveil.errors import EngineError, GraphveilError, InputError, StoreError
from graphveil.experiments.compute import remove_checkpoints
from graphveil.experiments.database import RESULTS
from graphveil.experiments.engine import HERE, Engine
from graphveil.experiments.experiment import Experiment, Given, Part, take_data
from graphveil.experiments.experiment_file import experiment_fields
from graphveil.experiments.measures import PARTS, Reading
from graphveil.experiments.processes import UnitLostError
from graphveil.experiments.result import Result
from graphveil.experiments.result_store import ResultStore
from graphveil.experiments.runner import Ahead, parts_of, run_experiment, units_left
from graphveil.experiments.study import Cell, Study, find_sweep, sweep_of
from graphveil.experiments.study_result import CellOutput, StudyResult
from graphveil.experiments.unit import RunUnit, UnitResult
from graphveil.experiments.unit_store import UnitStore, results_file
from graphveil.graphs.users import Users
from graphveil.methods.job import Progress
from graphveil.plugins import held


@dataclass(frozen=True)
class RunOptions:
    """How experiments are run; none of it changes a number.

    Parameters
    ----------
    jobs
        How many processes compute.
    engine
        What computes.
    fresh
        Whether finished runs are computed again.
    any_version
        Whether what another version of graphveil has computed is reused.
    tolerant
        Whether an experiment that cannot be run is noted, and the next one is run.
    keep
        Whether results and runs are kept.
    """

    jobs: int | None = None
    engine: Engine = HERE
    fresh: bool = False
    any_version: bool = False
    tolerant: bool = False
    keep: bool = True

    @contextmanager
    def store(self) -> Iterator[UnitStore]:
        """Open the store of finished runs. Where nothing is kept, experiments share there what they have in common."""
        if self.keep:
            yield UnitStore(results_file(), self.any_version)
            return
        with TemporaryDirectory() as folder:
            yield UnitStore(Path(folder) / RESULTS)


DEFAULTS = RunOptions()


class StudyWatcher:
    """Told how far experiments are. This one says nothing."""

    # Told what is done inside a unit and which share of it is done, where units are computed in this process.
    inside: Progress | None = None

    def begin(self, experiment: Experiment, done: int, total: int) -> None:
        """Hear that an experiment begins, with so many units of all experiments done."""

    def add(self, experiment: Experiment, done: int, total: int) -> None:
        """Hear that another unit of an experiment is computed."""

    def end(self, sentences: Sequence[str]) -> None:
        """Hear, at the end or at an interrupt, what is to be said about runs that were found."""


SILENT = StudyWatcher()


def run_studies(
    studies: Sequence[Study],
    options: RunOptions = DEFAULTS,
    watcher: StudyWatcher = SILENT,
    given: Given | None = None,
) -> list[StudyResult]:
    """Run the cells of some studies, one after the other: first those that learn, then those whose measure learns nothing.

    Parts of a run that no measure along axes reads are not run. Quick results, and those that lack a part, are not kept; their runs are.
    ``given`` are graph and users of all experiments, where they were given as objects.
    """
    todo = [cell for study in studies for cell in study.cells if not cell.left_out]
    learning = [cell for cell in todo if cell.measure.read is not None]
    others = [cell for cell in todo if cell.measure.read is None]
    skip = tuple(part for part in PARTS if all(part in _unread(study) for study in studies))

    def keep(result: Result) -> None:
        if options.keep and not skip:
            ResultStore(results_file()).add(result)

    obtained: list[Result | GraphveilError | None] = []
    interrupted = False
    if learning:
        with options.store() as store:
            try:
                obtained, interrupted = run_cells(
                    [cell.experiment for cell in learning],
                    options,
                    store=store,
                    skip=skip,
                    alone=[cell.measure.alone for cell in learning],
                    keep=keep,
                    watcher=watcher,
                    given=given,
                )
            finally:
                watcher.end(store.sentences())
    measured: list[CellOutput] = []
    for cell in others:
        watcher.begin(cell.experiment, len(measured), len(others))
        reading, interrupted = (None, True) if interrupted else _measure(cell, options.tolerant)
        measured.append(reading)
    results, readings = iter(obtained), iter(measured)

    def take(cell: Cell) -> CellOutput:
        return None if cell.left_out else next(readings if cell.measure.read is None else results)

    return [StudyResult.of(study, [take(cell) for cell in study.cells], interrupted) for study in studies]


def run_study(
    study: Study,
    options: RunOptions = DEFAULTS,
    watcher: StudyWatcher = SILENT,
    given: Given | None = None,
) -> StudyResult:
    """Run the cells of one study; refused along axes where no experiment has the measure."""
    (result,) = run_studies([study], options, watcher, given)
    if study.axes and result.finished and not result.has_numbers:
        raise InputError(
            f"no experiment of {study.name} has the measure {study.measure.name}: choose another one"
        )
    return result


def _measure(cell: Cell, tolerant: bool) -> tuple[Reading | GraphveilError | None, bool]:
    """Measure a cell that learns nothing; and whether that was interrupted."""
    try:
        return cell.measure.of(cell.experiment), False
    except KeyboardInterrupt:
        return None, True
    except GraphveilError as error:
        if not tolerant:
            raise
        return error, False


def _unread(study: Study) -> tuple[Part, ...]:
    """The parts of a run that nobody looks at: a quick study has no structure, and a table shows whole results."""
    unread = tuple(part for part in PARTS if study.axes and part not in study.measure.parts)
    return (*unread, "structure") if study.quick else unread


class FreshStore(UnitStore):
    """A store that adds to a file and finds only what was added since it was opened."""

    def __init__(self, store: UnitStore) -> None:
        super().__init__(store.file)
        self.added: set[str] = set()

    def add(self, spec: Experiment, unit: UnitResult) -> None:
        super().add(spec, unit)
        self.added.add(RunUnit(spec, unit.part, unit.run).key)

    def looks_for(self, unit: RunUnit) -> bool:
        return unit.key in self.added


def unit_count(
    experiments: Sequence[Experiment], skip: tuple[Part, ...] = (), given: Given | None = None
) -> int:
    """Return how many units some experiments have, shared ones counted each time."""
    return sum(spec.runs * len(_parts(spec, skip, given)) for spec in experiments)


def _parts(experiment: Experiment, skip: tuple[Part, ...], given: Given | None = None) -> list[Part]:
    return [part for part in parts_of(experiment, given) if part not in skip]


@held()
def run_cells(
    experiments: Sequence[Experiment],
    options: RunOptions = DEFAULTS,
    *,
    store: UnitStore,
    skip: tuple[Part, ...] = (),
    alone: Sequence[bool] = (),
    keep: Callable[[Result], None] = lambda _: None,
    watcher: StudyWatcher = SILENT,
    given: Given | None = None,
) -> tuple[list[Result | GraphveilError | None], bool]:
    """Run experiments and ``keep`` each result; return them in their order, and whether that was interrupted.

    In place of a result stands why there is none, or nothing where it was interrupted; of the experiment that was interrupted stand the
    runs that it had finished. ``alone`` says for each whether its units run one after the other in processes of their own, so that seconds
    and memory are theirs. Finished units are in the store. All share the same workers, which begin with the units of the next where there
    are no more of this one.
    """
    jobs, engine = options.jobs, options.engine
    used = FreshStore(store) if options.fresh else store
    results: list[Result | GraphveilError | None] = [None] * len(experiments)
    before, total = 0, unit_count(experiments, skip, given)
    if len(experiments) > 1:
        engine.check_units("this")
    if options.fresh and given is None:
        _forget(experiments, skip, engine)
    with engine.shared(jobs) as pool:
        ahead = Ahead(pool, lambda spec: _left(spec, used, skip))
        for place, spec in enumerate(experiments):
            watcher.begin(spec, before, total)
            # A graph that is given is sent along with each unit: nothing of it begins before its turn.
            ahead.coming = _together(experiments, alone, place + 1) if given is None else ()

            def watch(
                _unit: UnitResult, done: int, _total: int, spec: Experiment = spec, before: int = before
            ) -> None:
                watcher.add(spec, before + done, total)

            try:
                result = run_experiment(
                    spec,
                    jobs=jobs,
                    engine=engine,
                    store=used,
                    skip=skip,
                    reuse=True,
                    inside=watcher.inside,
                    watch=watch,
                    alone=bool(alone) and alone[place],
                    ahead=ahead,
                    given=given,
                )
                keep(result)
            except KeyboardInterrupt:
                _keep_finished(ahead, used)
                return results, True
            except StoreError:
                # No other experiment could be kept either.
                raise
            except GraphveilError as error:
                # Without workers, or with workers of other versions, no other experiment could be computed either.
                nowhere = isinstance(error, EngineError) and not isinstance(error, UnitLostError)
                if nowhere or not options.tolerant:
                    raise
                results[place] = error
            else:
                results[place] = result
                if result.interrupted:
                    _keep_finished(ahead, used)
                    return results, True
            before += unit_count([spec], skip, given)
        return results, False


def _left(spec: Experiment, store: UnitStore, skip: tuple[Part, ...]) -> list[RunUnit]:
    """The units of an experiment that the store does not hold."""
    parts = _parts(spec, skip)
    return units_left(spec, parts, store.find(spec, parts))


def _forget(experiments: Sequence[Experiment], skip: tuple[Part, ...], engine: Engine) -> None:
    """Forget trainings that were interrupted; what cannot be run says so when its turn comes."""
    for spec in experiments:
        with suppress(GraphveilError):
            remove_checkpoints(units_left(spec, _parts(spec, skip), ()), engine.workers)


def _together(experiments: Sequence[Experiment], alone: Sequence[bool], place: int) -> Sequence[Experiment]:
    """The experiments from a place on, up to the first that must have the machine for itself."""
    later = list(alone[place:])
    return experiments[place : place + later.index(True)] if True in later else experiments[place:]


def _keep_finished(ahead: Ahead, store: UnitStore) -> None:
    """Keep what was computed before its turn when an interrupt came, unless its data have changed since."""
    for begun, unit in ahead.finished():
        if begun.unit.digest == begun.digest:
            store.add(begun.unit.spec, unit)


NAME = "sweep"


def sweep(
    method: str,
    data: Any = None,
    users: Users | None = None,
    *,
    over: Mapping[str, Sequence[Any]] | None = None,
    measure: str | None = None,
    jobs: int | None = None,
    engine: str | Engine = HERE,
    fresh: bool = False,
    keep: bool = True,
    **options: Any,
) -> StudyResult:
    """Run an experiment over the values of one to three of its fields: the first is x, the second gives lines, the third panels.

    ``over`` names the fields, a setting as settings.KEY, each with its values; ``data`` and options are as in `run`. Without
    ``over``, ``method`` is a sweep that comes along (`graphveil sweep` lists them) or a .toml file, and options are fields of its
    base. Finished runs on named data are reused unless ``fresh``; results are kept unless ``keep`` is False.

    >>> options = {"keep": False, "control": False, "settings": {"epochs": 2, "data.users": 400}}
    >>> found = sweep("base", "town", over={"epsilon": [1.0, 4.0]}, **options)
    >>> [len(found.at(epsilon).scores()) for epsilon in (1.0, 4.0)]
    [1, 1]
    """
    given: Given | None = None
    if over is None:
        study = _find_sweep(method, data, users, options)
    else:
        name, given, options = take_data(data, users, options)
        base = {"method": method, "data": name, **options}
        axes = [{"field": field, "values": list(values)} for field, values in over.items()]
        study = sweep_of({"base": base, "axes": axes, "title": f"{method} on {name}"}, NAME, "over")
    if measure is not None:
        study = study.with_measure(measure)
    how = RunOptions(jobs, Engine.of(engine), fresh, keep=keep)
    if given is None:
        return run_study(study.prepare(everything=True), how)
    if study.measure.read is None:
        raise InputError(
            f"{study.measure.name} is measured on data that has a name: write the graph to an .npz file"
        )
    study.check_runs()
    return run_study(study, how, given=given)


def _find_sweep(name: str, data: Any, users: Users | None, options: dict[str, Any]) -> Study:
    """A sweep that comes along, or from a file, with other fields in its base."""
    if users is not None or not (data is None or isinstance(data, str)):
        raise InputError(
            f"{name} names its graphs itself: give over={{FIELD: [VALUES]}} to sweep a method over a graph of yours"
        )
    fields = experiment_fields(options, "the options")
    return find_sweep(str(name)).with_fields(fields).on([data] if data else [])
