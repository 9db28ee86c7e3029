"""Sweeps that commands run: with a progress bar, and printed as tables."""

from __future__ import annotations

from collections.abc import Sequence

from graphveil.cli.cells import watched_apart, watched_cells
from graphveil.cli.console import say, show_table
from graphveil.engine.engine import HERE, Engine
from graphveil.experiments.runs.cells import Cells
from graphveil.experiments.runs.statistics import SPREADS
from graphveil.experiments.specs.spec import Part, Spec
from graphveil.experiments.sweeps.ready import ReadySweep
from graphveil.experiments.sweeps.result import SweepResult
from graphveil.experiments.sweeps.run_sweep import run_ready
from graphveil.experiments.table import Table


def run_sweep(
    ready: ReadySweep,
    *,
    jobs: int | None,
    engine: Engine = HERE,
    fresh: bool = False,
    tolerant: bool = False,
    any_version: bool = False,
) -> SweepResult:
    """Run all cells with a progress bar."""

    def cells(specs: Sequence[Spec], skip: tuple[Part, ...], kept: bool, alone: Sequence[bool]) -> Cells:
        return watched_cells(
            specs,
            jobs=jobs,
            engine=engine,
            fresh=fresh,
            skip=skip,
            tolerant=tolerant,
            kept=kept,
            alone=alone,
            any_version=any_version,
        )

    return run_ready(ready, cells, watched_apart)


def show_sweep(result: SweepResult, quick: bool = False) -> None:
    """A table for each panel, in the document's form too where it draws a spread of runs, and what else was measured."""
    for panel in result.panels:
        say(f"{panel.sweep.title}: {panel.metric}" if panel.readings else panel.sweep.title)
        show_table(Table.of(panel.head(), panel.rows()))
        for note in panel.notes:
            say(note)
        if panel.sweep.spread and not quick:
            say(f"±: {SPREADS[panel.sweep.spread].words}, as the document draws it")
            show_table(Table.of([panel.sweep.axes[0].label, *panel.sweep.lines], panel.spread_rows()))
        for name in panel.sweep.also:
            say(f"{name.replace('_', ' ')} (%)")
            show_table(Table.of([panel.sweep.axes[0].label, *panel.sweep.lines], panel.also_rows(name)))
