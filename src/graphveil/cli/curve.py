"""`graphveil run` over several budgets: a sweep over ε, as a table with gains, and a curve."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graphveil.cli.console import say, show_table
from graphveil.cli.interrupts import going_on, interrupted
from graphveil.cli.named import default_file
from graphveil.cli.swept import run_sweep
from graphveil.engine.engine import HERE, Engine
from graphveil.errors import InputError
from graphveil.experiments.runs.format import budget, gained
from graphveil.experiments.runs.privacy_record import Privacy
from graphveil.experiments.runs.statistics import Summary
from graphveil.experiments.show.figure import check_figure
from graphveil.experiments.specs.spec import Spec
from graphveil.experiments.sweeps.figure import write_figure
from graphveil.experiments.sweeps.ready import ReadySweep
from graphveil.experiments.sweeps.result import SweepResult
from graphveil.experiments.sweeps.sweep import Axis, Sweep
from graphveil.experiments.table import Table
from graphveil.methods.terms import options_of

EPSILON = "epsilon"


@dataclass(frozen=True)
class How:
    """How runs are computed, and which are reused."""

    jobs: int | None = None
    resume: bool = True
    any_version: bool = False
    engine: Engine = HERE


def run_budgets(spec: Spec, budgets: Sequence[float], how: How, out: Path | None, as_json: bool) -> None:
    """Run, keep, draw and tell an experiment at several budgets."""
    how.engine.check_units("a run at several budgets")
    if twice := [each for place, each in enumerate(budgets) if each in budgets[:place]]:
        raise InputError(f"--epsilon names {twice[0]:g} twice: leave one out")
    for each in budgets:
        spec.having(epsilon=each).check()
    file = check_figure(out or default_file(spec.having(epsilon=budgets[0]), ".svg", budgets))
    sweep = over_budgets(spec, budgets)
    ready = ReadySweep(sweep, tuple(sweep.cells()))
    result = run_sweep(
        ready, jobs=how.jobs, engine=how.engine, fresh=not how.resume, any_version=how.any_version
    )
    drawn = None if result.interrupted else file
    if drawn is not None:
        write_figure(result, drawn)
    if as_json:
        figure = None if drawn is None else str(drawn)
        say(json.dumps({**result.to_dict(), "figure": figure}, ensure_ascii=False))
    else:
        show(result, drawn)
    if result.interrupted:
        state = f"{len(result.results)} of {len(budgets)} budgets are finished"
        raise interrupted(f"{state}; every finished run is kept, and {going_on(not how.resume)} from there")


def over_budgets(spec: Spec, budgets: Sequence[float]) -> Sweep:
    """The sweep of an experiment over its budget for features."""
    own = ("method", "data", "task", "backbone", "runs", "seed", "settings", "data_options", "control")
    base = {**{name: getattr(spec, name) for name in own}, **options_of(spec)}
    del base[EPSILON]
    values = tuple(budgets)
    axis = Axis(EPSILON, values, "ε", tuple({EPSILON: value} for value in values))
    return Sweep("run", f"{spec.method} on {spec.data}, {spec.budgets.mechanism}", base, (axis,))


def show(result: SweepResult, drawn: Path | None) -> None:
    """A row for each budget with what it gains, the verdicts, and where the curve is."""
    if not result.results:
        return
    say(f"{result.sweep.title}: {result.metric}, with 95% intervals")
    head, rows = result.head(), result.rows()
    for title, column in _gains(result):
        if any(column):
            head.append(title)
            rows = [[*row, gained(each)] for row, each in zip(rows, column, strict=True)]
    show_table(Table.of(head, rows))
    done = [found for _, found in sorted(result.results.items())]
    for found in done:
        if found.verdict:
            say(found.verdict)
    privacy = done[-1].to_dict()["privacy"]
    if privacy is not None:
        at = budget(done[-1].spec.budgets.epsilon)
        say(
            f"Each budget is asked for in runs of its own. At {at}: {Privacy.model_validate(privacy).sentence}"
        )
    if drawn is not None:
        say(f"The curve is in {drawn}.")


def _gains(result: SweepResult) -> list[tuple[str, list[Summary | None]]]:
    """What each budget gains over the control and over structure, where it is finished."""
    found = [result.results.get((x, 0, 0)) for x in range(len(result.sweep.axes[0].values))]
    return [
        ("gain over the control", [None if each is None else each.gain for each in found]),
        ("gain over structure", [None if each is None else each.gain_over_structure for each in found]),
    ]
