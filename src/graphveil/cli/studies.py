"""What commands share that run studies: bars on stderr while they run, and their tables afterwards."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

from graphveil.cli.console import Console, Description, say, show_table
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.page import Section
from graphveil.experiments.study_result import StudyResult
from graphveil.experiments.study_runner import Watcher


class Bars(Watcher):
    """A bar for all units, and one for what is done inside a unit. It counts the units that are computed."""

    def __init__(self) -> None:
        columns = (Description(), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self.progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self.inside = self._inside
        self.computed = 0
        self.sentences: list[str] = []
        self._all = self.progress.add_task("starting", total=None)
        self._unit = self.progress.add_task("starting", total=100, visible=False)

    def begin(self, experiment: Experiment, done: int, total: int) -> None:
        words = f"{experiment.method} on {experiment.data}"
        self.progress.update(self._all, description=words, completed=done, total=total)

    def add(self, experiment: Experiment, done: int, total: int) -> None:
        self.computed += 1
        self.begin(experiment, done, total)

    def end(self, sentences: Sequence[str]) -> None:
        self.sentences += sentences

    def _inside(self, what: str, share: float) -> None:
        self.progress.update(self._unit, description=what, completed=int(100 * share), visible=True)

    def __enter__(self) -> Self:
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()
        for sentence in self.sentences:
            say(sentence, err=True)


def show_section(section: Section) -> None:
    """Print a table below its title, and what is to be said about it."""
    say(section.title, *section.text)
    if section.table is not None:
        show_table(section.table)
    for note in section.notes:
        say(note)


def show_study(result: StudyResult, file: Path, as_json: bool, drawn: str = "figure") -> None:
    """Draw a finished study to a file, and print all that came of it; ``drawn`` is what the picture is called."""
    if not result.interrupted:
        result.chart.write(file)
    if as_json:
        figure = None if result.interrupted else str(file)
        say(json.dumps({**result.to_dict(), "figure": figure}, ensure_ascii=False))
        return
    for section in result.sections:
        show_section(section)
    if not result.interrupted:
        say(f"The {drawn} is in {file}.")
    for remark in result.study.remarks:
        say(remark)
