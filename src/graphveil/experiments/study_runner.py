"""Many experiments one after the other: finished units are shared, and whatever stops them loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from graphveil.engine.engine import HERE, Engine
from graphveil.engine.pool import UnitLostError
from graphveil.errors import EngineError, GraphveilError, StoreError
from graphveil.experiments.compute import remove_checkpoints
from graphveil.experiments.experiment import Experiment, Given, Part, input_digest
from graphveil.experiments.result import Result
from graphveil.experiments.runner import Ahead, Inside, parts_of, run_experiment, units_left
from graphveil.experiments.unit import UnitResult
from graphveil.experiments.unit_store import UnitStore
from graphveil.plugins import held


class FreshStore(UnitStore):
    """A store that adds to a file and finds only what was added since it was opened."""

    def __init__(self, store: UnitStore) -> None:
        super().__init__(store.file)
        self.added: set[str] = set()

    def add(self, spec: Experiment, unit: UnitResult) -> None:
        super().add(spec, unit)
        self.added.add(spec.key(unit.part, unit.run))

    def find(
        self, spec: Experiment, parts: list[Part], alone: bool = False, workers: int | None = None
    ) -> list[UnitResult]:
        """The units of this experiment that were added since."""
        wanted = [(part, run) for part in parts for run in range(spec.runs)]
        return self._find(spec, [unit for unit in wanted if spec.key(*unit) in self.added], alone, workers)


@dataclass(frozen=True)
class Cells:
    """What came of some experiments, in their order: a result, why there is none, or nothing where it was interrupted."""

    results: tuple[Result | GraphveilError | None, ...]
    interrupted: bool = False


def unit_count(specs: Sequence[Experiment], skip: tuple[Part, ...] = ()) -> int:
    """How many units some experiments have, shared ones counted each time."""
    return sum(spec.runs * len([part for part in parts_of(spec) if part not in skip]) for spec in specs)


@held()
def run_cells(
    specs: Sequence[Experiment],
    *,
    store: UnitStore,
    jobs: int | None = None,
    engine: Engine = HERE,
    fresh: bool = False,
    skip: tuple[Part, ...] = (),
    tolerant: bool = False,
    alone: Sequence[bool] = (),
    keep: Callable[[Result], None] = lambda _: None,
    watch: Callable[[Experiment, int], None] = lambda _spec, _done: None,
    inside: Inside | None = None,
    given: Given | None = None,
) -> Cells:
    """Run experiments and ``keep`` each result; units that the store holds are reused unless all are to be ``fresh``.

    ``tolerant`` notes why one cannot be run and goes on with the next. ``alone`` says for each whether its units run one after
    the other in processes of their own, so that seconds and memory are theirs (none by default). ``watch`` is told how many units are done in all.
    An interrupt returns the experiments that are finished; finished units of those that are not are in the store.
    All share the same workers, which begin with the units of the next where there are no more of this one. ``given`` are graph and users of all of them, where they were given as objects.
    """
    used = FreshStore(store) if fresh else store
    results: list[Result | GraphveilError | None] = [None] * len(specs)
    before = 0
    engine.check_units("this")
    if fresh and given is None:
        _forget(specs, skip)
    with engine.shared(jobs) as pool:
        ahead = Ahead(pool, lambda spec: _left(spec, used, skip))
        for place, spec in enumerate(specs):
            watch(spec, before)
            ahead.coming = _together(specs, alone, place + 1)

            def tell(
                _unit: UnitResult, done: int, _total: int, spec: Experiment = spec, before: int = before
            ) -> None:
                watch(spec, before + done)

            try:
                result = run_experiment(
                    spec,
                    jobs=jobs,
                    engine=engine,
                    store=used,
                    skip=skip,
                    reuse=True,
                    inside=inside,
                    watch=tell,
                    alone=bool(alone) and alone[place],
                    ahead=ahead,
                    given=given,
                )
                keep(result)
            except KeyboardInterrupt:
                _keep_finished(ahead, used)
                return Cells(tuple(results), interrupted=True)
            except StoreError:
                # No other experiment could be kept either.
                raise
            except GraphveilError as error:
                # Where nobody computes, or whoever does has other versions, no other experiment could be computed either.
                nowhere = isinstance(error, EngineError) and not isinstance(error, UnitLostError)
                if nowhere or not tolerant:
                    raise
                results[place] = error
            else:
                if result.interrupted:
                    _keep_finished(ahead, used)
                    return Cells(tuple(results), interrupted=True)
                results[place] = result
            before += unit_count([spec], skip)
        return Cells(tuple(results))


def _left(spec: Experiment, store: UnitStore, skip: tuple[Part, ...]) -> list[tuple[Part, int]]:
    """The units of an experiment that the store does not hold."""
    parts = [part for part in parts_of(spec) if part not in skip]
    return units_left(spec, parts, store.find(spec, parts))


def _forget(specs: Sequence[Experiment], skip: tuple[Part, ...]) -> None:
    """Forget trainings that were interrupted; what cannot be run says so when its turn comes."""
    for spec in specs:
        with suppress(GraphveilError):
            parts = [part for part in parts_of(spec) if part not in skip]
            remove_checkpoints(spec, units_left(spec, parts, ()))


def _together(specs: Sequence[Experiment], alone: Sequence[bool], place: int) -> Sequence[Experiment]:
    """The experiments from a place on, up to the first that must have the machine for itself."""
    later = list(alone[place:])
    return specs[place : place + later.index(True)] if True in later else specs[place:]


def _keep_finished(ahead: Ahead, store: UnitStore) -> None:
    """Keep what was computed before its turn when an interrupt came, unless its data have changed since."""
    for begun, unit in ahead.finished():
        if input_digest(begun.spec, begun.part) == begun.digest:
            store.add(begun.spec, unit)
