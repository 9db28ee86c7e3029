"""Many experiments with one progress bar, as sweeps and papers run them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

from graphveil.cli.console import Console, Description
from graphveil.cli.interrupts import GOES_ON, saying
from graphveil.cli.kept import keep, results_file, told
from graphveil.engine.engine import HERE, Engine
from graphveil.experiments.measures.measure import Apart, Measure, all_apart
from graphveil.experiments.runs.cells import Cells, run_cells, unit_count
from graphveil.experiments.runs.unit_store import UnitStore
from graphveil.experiments.specs.spec import Part, Spec

COLUMNS = (Description(), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())


def watched_cells(
    specs: Sequence[Spec],
    *,
    jobs: int | None,
    engine: Engine = HERE,
    fresh: bool = False,
    skip: tuple[Part, ...] = (),
    tolerant: bool = False,
    kept: bool = True,
    alone: Sequence[bool] = (),
    any_version: bool = False,
) -> Cells:
    """Run experiments with a progress bar on stderr, keeping every finished run and, if it is to be kept, every result."""
    store = UnitStore(results_file(), any_version)
    with (
        saying(GOES_ON),
        told(store),
        Progress(*COLUMNS, console=Console(stderr=True), transient=True) as bars,
    ):
        whole = bars.add_task("starting", total=unit_count(specs, skip))
        current = bars.add_task("starting", total=100, visible=engine.inside(jobs))
        return run_cells(
            specs,
            store=store,
            jobs=jobs,
            engine=engine,
            fresh=fresh,
            skip=skip,
            tolerant=tolerant,
            alone=alone,
            keep=keep if kept else lambda _: None,
            watch=lambda spec, done: bars.update(
                whole, description=f"{spec.method} on {spec.data}", completed=done
            ),
            inside=lambda what, share: bars.update(current, description=what, completed=int(100 * share)),
        )


def watched_apart(wanted: Sequence[tuple[Measure, Spec]]) -> tuple[list[Apart], bool]:
    """Measure what needs no learning, with a progress bar on stderr; and whether that was interrupted."""
    with Progress(*COLUMNS, console=Console(stderr=True), transient=True) as bars:
        whole = bars.add_task("starting", total=len(wanted))
        return all_apart(
            wanted,
            watch=lambda spec, done: bars.update(
                whole, description=f"{spec.method} on {spec.data}", completed=done
            ),
        )
