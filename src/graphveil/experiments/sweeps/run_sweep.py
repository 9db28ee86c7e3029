"""Run a sweep: from Python, or with whatever a command watches it by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from graphveil.engine.engine import HERE, Engine
from graphveil.errors import InputError
from graphveil.experiments.measures.measure import PARTS, Apart, Measure, all_apart
from graphveil.experiments.runs.cells import Cells, run_cells
from graphveil.experiments.runs.records import ResultStore
from graphveil.experiments.runs.result import Result
from graphveil.experiments.runs.unit_store import UnitStore
from graphveil.experiments.specs.file import spec_fields
from graphveil.experiments.specs.given import Given, take_data
from graphveil.experiments.specs.spec import Part, Spec
from graphveil.experiments.store.database import RESULTS
from graphveil.experiments.store.place import results_file
from graphveil.experiments.sweeps.ready import ReadySweep, ready
from graphveil.experiments.sweeps.result import SweepResult
from graphveil.experiments.sweeps.sweep import Sweep, find_sweep, sweep_of
from graphveil.graphs.users import Users

# Runs the specs, without some parts, keeping results or not, some alone.
RunCells = Callable[[Sequence[Spec], tuple[Part, ...], bool, Sequence[bool]], Cells]
# Measures what needs no learning; and whether that was interrupted.
RunApart = Callable[[Sequence[tuple[Measure, Spec]]], tuple[list[Apart], bool]]
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
) -> SweepResult:
    """An experiment over the values of one to three of its fields: the first is x, the second gives lines, the third panels.

    ``over`` names the fields, a setting as settings.KEY, each with its values; ``data`` and options are as in `run`. Without
    ``over``, ``method`` is a sweep that comes along (`graphveil sweep` lists them) or a .toml file, and options are fields of its
    base. Finished runs on named data are reused unless ``fresh``; results are kept unless ``keep`` is False.

    >>> options = {"keep": False, "control": False, "settings": {"epochs": 2, "data.users": 400}}
    >>> found = sweep("base", "town", over={"epsilon": [1.0, 4.0]}, **options)
    >>> [len(found.at(epsilon).scores()) for epsilon in (1.0, 4.0)]
    [1, 1]
    """
    if over is None:
        asked, given = _named(method, data, users, options), None
    else:
        name, given, options = take_data(data, users, options)
        base = {"method": method, "data": name, **options}
        axes = [{"field": field, "values": list(values)} for field, values in over.items()]
        asked = sweep_of({"base": base, "axes": axes, "title": f"{method} on {name}"}, NAME, "over")
    if measure is not None:
        asked = asked.measuring(measure)
    if given is not None and asked.measure.read is None:
        raise InputError(
            f"{asked.measured} is measured on data that has a name: write the graph to an .npz file"
        )
    whole = ready(asked, everything=True) if given is None else ReadySweep(asked, tuple(asked.cells()))
    return run_ready(whole, _runner(jobs, Engine.of(engine), fresh, keep, given), all_apart)


def run_ready(ready: ReadySweep, cells: RunCells, apart: RunApart) -> SweepResult:
    """Run all cells for what the sweep's measure needs.

    Quick results are not kept, and have no structure beside them. A result that lacks a part is kept for nobody; its runs are.
    """
    sweep, specs, measure = ready.sweep, [cell.spec for cell in ready.cells], ready.sweep.measure
    if measure.read is None:
        readings, interrupted = apart([(measure, spec) for spec in specs])
        result = SweepResult.of_readings(sweep, ready.cells, readings, interrupted)
    else:
        unread = tuple(part for part in PARTS if part not in measure.parts)
        skip: tuple[Part, ...] = (*unread, "structure") if ready.quick else unread
        done = cells(specs, skip, not skip, [measure.alone] * len(specs))
        result = SweepResult.of(sweep, ready.cells, done)
    if result.readings and not any(reading.parts for reading in result.readings.values()):
        raise InputError(
            f"no experiment of {sweep.name} has the measure {sweep.measured}: choose another one"
        )
    return result


def _named(name: str, data: Any, users: Users | None, options: dict[str, Any]) -> Sweep:
    """A sweep that comes along, or from a file, with other fields in its base."""
    if users is not None or not (data is None or isinstance(data, str)):
        raise InputError(
            f"{name} names its graphs itself: give over={{FIELD: [VALUES]}} to sweep a method over a graph of yours"
        )
    asked = find_sweep(str(name))
    return asked.over(spec_fields(options, "the options")).on([data] if data else asked.graphs)


def _runner(jobs: int | None, engine: Engine, fresh: bool, keep: bool, given: Given | None) -> RunCells:
    """What runs cells in silence."""

    def run(specs: Sequence[Spec], skip: tuple[Part, ...], kept: bool, alone: Sequence[bool]) -> Cells:
        def add(result: Result) -> None:
            if kept and keep:
                ResultStore(results_file()).add(result)

        with TemporaryDirectory() as folder:
            # Cells share what they have in common, as structure, wherever that is kept.
            store = UnitStore(results_file() if keep else Path(folder) / RESULTS)
            return run_cells(
                specs,
                store=store,
                jobs=jobs,
                engine=engine,
                fresh=fresh,
                skip=skip,
                alone=alone,
                keep=add,
                given=given,
            )

    return run
