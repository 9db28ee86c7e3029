"""What came of a paper: our results beside the printed numbers of a table, and its figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from graphveil.errors import GraphveilError
from graphveil.experiments.measures.measure import Apart, Reading, all_apart
from graphveil.experiments.papers.figures.computations import compute_figure
from graphveil.experiments.papers.figures.figure import ComputedFigure, Terms
from graphveil.experiments.papers.parts import SCORE, Paper, PaperCell, PaperFigure, PaperTable
from graphveil.experiments.runs.cells import Cells
from graphveil.experiments.runs.result import Result
from graphveil.experiments.runs.statistics import SPREADS
from graphveil.experiments.specs.shortened import QUICK_EPOCHS
from graphveil.experiments.sweeps.ready import ReadySweep
from graphveil.experiments.sweeps.result import SweepResult

UNFINISHED = "not finished"
PARTS = ("method", "control", "structure")
HEAD = ("theirs", "ours", "control", "structure")
# Where the document prints a spread.
SPREAD_HEAD = ("theirs", "ours likewise", *HEAD[1:])
QUICK = f"Quick: one run of at most {QUICK_EPOCHS} epochs, to see that it works. These numbers compare with nothing."
QUICK_FIGURE = "Quick: few values, and one run where it draws at random, to see that it works."


@dataclass(frozen=True)
class Answer:
    """A printed number with what we measured and, where something was learned, the whole result; or why there is none."""

    cell: PaperCell
    reading: Reading
    result: Result | None
    note: str

    @property
    def spread(self) -> float | None:
        """The spread of our runs in the form that the document prints, where it prints one of scores."""
        if not self.cell.spread or self.cell.measured != SCORE or self.result is None:
            return None
        return SPREADS[self.cell.spread].of(self.result.scores("method"))

    def row(self) -> list[str]:
        """Theirs, ours in the same form where theirs has a spread, ours, control, structure and the note."""
        cell, unit = self.cell, self.cell.measure.unit
        theirs = unit.with_spread(cell.printed, cell.printed_spread)
        ours, spread = self.reading.parts.get("method"), self.spread
        likewise = []
        if cell.spread:
            mean = None if ours is None else unit.factor * ours.mean
            likewise = [unit.with_spread(mean, None if spread is None else unit.factor * spread)]
        parts = (unit.interval(self.reading.parts.get(part)) for part in PARTS)
        return [theirs, *likewise, *parts, self.note]

    def to_dict(self) -> dict[str, Any]:
        """The answer in the form that `--json` prints; what was printed is in the unit, percent are 0..1 in what is ours."""
        cell = self.cell
        about = {
            "row": cell.row,
            "column": cell.column,
            "data": cell.spec.data,
            "epsilon": cell.spec.budgets.epsilon,
        }
        measured = {part: asdict(summary) for part, summary in self.reading.parts.items()}
        return {
            **about,
            "measure": cell.measured,
            "unit": cell.measure.unit.name,
            "printed": cell.printed,
            "printed_spread": cell.printed_spread,
            "spread": self.spread,
            "note": self.note or None,
            "measured": measured or None,
            "ours": None if self.result is None else self.result.to_dict(),
        }


def apart(cells: Sequence[PaperCell], interrupted: bool = False) -> tuple[list[Apart], bool]:
    """Measure the cells that need no learning, one after the other; and whether that was interrupted."""
    return all_apart([(cell.measure, cell.spec) for cell in cells], interrupted)


def answers(
    cells: Sequence[PaperCell], skipped: Sequence[str], done: Cells, measured: Sequence[Apart] = ()
) -> list[Answer]:
    """Each cell with what came of it.

    ``done`` and ``measured`` hold the cells that were not skipped, in their order: those that learn, and those that measure
    apart.
    """
    results, readings = iter(done.results), iter(measured)
    answered = []
    for cell, why in zip(cells, skipped, strict=True):
        if why:
            answered.append(Answer(cell, Reading(), None, why))
            continue
        obtained = next(results if cell.measure.read is not None else readings)
        if isinstance(obtained, GraphveilError):
            answered.append(Answer(cell, Reading(), None, f"not run: {obtained}"))
        elif obtained is None:
            answered.append(Answer(cell, Reading(), None, UNFINISHED))
        elif isinstance(obtained, Reading):
            answered.append(Answer(cell, obtained, None, _noted(cell, obtained)))
        else:
            reading = cell.measure.of(obtained)
            answered.append(Answer(cell, reading, obtained, _noted(cell, reading)))
    return answered


def _noted(cell: PaperCell, reading: Reading) -> str:
    """What is said beside a number: how it was run, where that is not as elsewhere, and what its measure says."""
    return "; ".join(note for note in (cell.remark, reading.note) if note)


@dataclass(frozen=True)
class SweptAnswer:
    """A figure that is a sweep, with how it was run and what it found."""

    ready: ReadySweep
    result: SweepResult

    @property
    def remarks(self) -> list[str]:
        """What is to be said of how it was run, and of what is missing."""
        said = [*self.ready.remarks(), *(f"Not run: {why}." for why in self.result.failed)]
        if self.result.interrupted:
            said.append(f"Interrupted: {len(self.result.results)} of {len(self.ready.cells)} cells are here.")
        return said

    def to_dict(self) -> dict[str, Any]:
        """The sweep in the form that `--json` prints."""
        return {**self.result.to_dict(), **self.ready.to_dict()}


@dataclass(frozen=True)
class FigureAnswer:
    """A figure that was computed or swept, and the file that it is drawn in; or why there is none."""

    figure: PaperFigure
    computed: ComputedFigure | None = None
    note: str = ""
    file: Path | None = None
    swept: SweptAnswer | None = None

    @property
    def ran(self) -> bool:
        """Whether there is anything of it."""
        return self.computed is not None or (self.swept is not None and bool(self.swept.result.results))

    @property
    def finished(self) -> bool:
        """Whether all of it is there that can be."""
        return self.ran and not (self.swept is not None and self.swept.result.interrupted)

    @property
    def heading(self) -> str:
        """The title of the figure, with its graph."""
        figure = self.figure
        return f"{figure.title} ({Path(figure.data).stem})" if figure.data else figure.title

    @property
    def missing(self) -> str:
        """Why there is nothing of it."""
        return self.note or " ".join(self.swept.remarks if self.swept is not None else [])

    def point_rows(self) -> list[list[str]]:
        """The numbers that the document's text has of a sweep, ours beside them."""
        if self.swept is None:
            return []
        return [point.row(self.swept.result) for point in self.figure.points]

    def to_dict(self) -> dict[str, Any]:
        """The figure in the form that `--json` prints."""
        figure = self.figure
        more = {} if self.computed is None else self.computed.to_dict()
        if self.swept is not None:
            more = {"swept": self.swept.to_dict(), "points": self.point_rows()}
        return {
            "name": figure.name,
            "title": figure.title,
            "note": figure.note,
            "computed": figure.computed or None,
            "sweep": figure.sweep or None,
            "data": figure.data or None,
            "left_out": None if self.ran else self.missing,
            "file": None if self.file is None else str(self.file),
            **more,
        }


def figure_answer(figure: PaperFigure, terms: Terms) -> FigureAnswer:
    """Compute a figure from its graph; where that cannot be, the answer says why."""
    if why := figure.skipped():
        return FigureAnswer(figure, note=why)
    try:
        return FigureAnswer(figure, compute_figure(figure.computed, replace(terms, data=figure.data)))
    except GraphveilError as error:
        return FigureAnswer(figure, note=f"not computed: {error}")


@dataclass(frozen=True)
class TableAnswer:
    """A table with what came of each of its cells."""

    table: PaperTable
    answers: tuple[Answer, ...]

    @property
    def ran(self) -> bool:
        """Whether anything of it was measured."""
        return any(answer.reading.parts for answer in self.answers)

    @property
    def head(self) -> tuple[str, ...]:
        """What stands above `Answer.row`, but for the note."""
        return SPREAD_HEAD if self.table.spread else HEAD

    @property
    def forms(self) -> str:
        """What stands around the numbers, theirs and ours."""
        ours = "[…] are 95% t-intervals of our means."
        if not self.table.spread:
            return f"The document's numbers have no interval here; {ours}"
        return f"±: {SPREADS[self.table.spread].words}, theirs and ours; {ours}"

    def to_dict(self) -> dict[str, Any]:
        """The table in the form that `--json` prints."""
        return {
            "name": self.table.name,
            "title": self.table.title,
            "note": self.table.note,
            "spread": self.table.spread or None,
            "cells": [answer.to_dict() for answer in self.answers],
        }


@dataclass(frozen=True)
class PaperAnswer:
    """What came of a paper, or of the parts of it that were asked for."""

    paper: Paper
    tables: tuple[TableAnswer, ...]
    figures: tuple[FigureAnswer, ...]
    quick: bool = False
    interrupted: bool = False
    # Whether all of the paper was asked for.
    whole: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The paper in the form that `--json` prints."""
        return {
            "paper": self.paper.name,
            "title": self.paper.title,
            "source": self.paper.source,
            "quick": self.quick,
            "tables": [table.to_dict() for table in self.tables],
            "figures": [figure.to_dict() for figure in self.figures],
            "others": dict(self.paper.others) if self.whole else {},
            "interrupted": self.interrupted,
        }
