"""What commands share that run studies: bars on stderr while they run, and their tables afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from graphveil.cli.console import RUNS_KEPT, Bars, on_interrupt, print_result, progress_bars, say_reused
from graphveil.cli.options import Computing
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.page import Section
from graphveil.experiments.runner import RunOptions, StudyWatcher
from graphveil.experiments.study_result import StudyResult
from graphveil.experiments.table import Table
from graphveil.experiments.unit import UnitResult


class BarWatcher(StudyWatcher):
    """Shows bars of how far experiments are, and counts the units that are computed."""

    bars: Bars

    def __init__(self) -> None:
        self.computed = 0
        self.reused: list[str] = []

    def begin(self, experiment: Experiment, done: int, total: int) -> None:
        self.bars.count(done, total, f"{experiment.method} on {experiment.data}")

    def add(self, experiment: Experiment, unit: UnitResult, done: int, total: int) -> None:
        self.computed += 1
        self.begin(experiment, done, total)

    def end(self, sentences: Sequence[str]) -> None:
        self.reused += sentences

    def sentences(self) -> list[str]:
        """Return what is to be said about runs that were found."""
        return self.reused


@contextmanager
def study_bars(sentence: str = RUNS_KEPT) -> Iterator[BarWatcher]:
    """Show bars on stderr until the studies within are run, and then what was reused; an interrupt ends the command with a sentence."""
    watcher = BarWatcher()
    with on_interrupt(sentence), say_reused(watcher), progress_bars() as bars:
        watcher.bars, watcher.inside = bars, bars.step
        yield watcher


def run_options(computing: Computing, *, tolerant: bool = False) -> RunOptions:
    """Return how studies are run, as the options of a command say it."""
    return RunOptions(
        computing.jobs,
        computing.resolved_engine,
        fresh=not computing.resume,
        any_version=computing.any_version,
        tolerant=tolerant,
    )


def section_parts(section: Section) -> list[Table | str]:
    """Return a table below its title, and what is to be said about it."""
    table = [] if section.table is None else [section.table]
    return [section.title, *section.text, *table, *section.notes]


def show_study(result: StudyResult, file: Path, as_json: bool, drawn: str = "figure") -> None:
    """Draw a finished study to a file, and print all that came of it; ``drawn`` is what the picture is called."""
    if not result.interrupted:
        result.chart.write(file)
    figure = None if result.interrupted else str(file)
    shown = [part for section in result.sections for part in section_parts(section)]
    shown += [] if result.interrupted else [f"The {drawn} is in {file}."]
    print_result({**result.to_dict(), "figure": figure}, as_json, *shown, *result.study.remarks)
