"""What a paper has: printed tables with the experiments that stand for their numbers, figures, and what is no experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from graphveil.errors import InputError
from graphveil.experiments.measures.measure import Measure, find_measure
from graphveil.experiments.papers.points import PrintedPoint
from graphveil.experiments.specs.presence import not_here
from graphveil.experiments.specs.shortened import SHORT, quickened, shortened
from graphveil.experiments.specs.spec import Spec
from graphveil.experiments.sweeps.sweep import Sweep, find_sweep

SLOW = "slow: left out of --quick, run with --all"
SCORE = "score"


@dataclass(frozen=True)
class PaperCell:
    """A printed number (None where none is printed), our experiment for it, and what is measured of that.

    A number is in the unit of its measure: scores are in percent. ``spread`` names what the document prints behind ± (one of
    `SPREADS`, or nothing), ``printed_spread`` is that number.
    """

    row: str
    column: str
    printed: float | None
    spec: Spec
    slow: bool = False
    measured: str = SCORE
    spread: str = ""
    printed_spread: float | None = None
    # What is to be said of how it is run.
    remark: str = ""

    @property
    def measure(self) -> Measure:
        """How the number comes out of the experiment."""
        return find_measure(self.measured)

    def with_runs(self, runs: int) -> PaperCell:
        """The same cell with another number of runs."""
        return replace(self, spec=replace(self.spec, runs=runs))

    def quick(self) -> PaperCell:
        """As few runs as its measure needs, of a few epochs."""
        return replace(self, spec=quickened(self.spec, self.measure.fewest))

    def shortened(self) -> PaperCell:
        """One run of few epochs where it is slow, which is then said beside it; else the cell as it is."""
        return replace(self, spec=shortened(self.spec), remark=SHORT) if self.slow else self

    def skipped(self, slow_too: bool = True) -> str:
        """Why it is not run; empty where it is."""
        if missing := not_here(self.spec.data):
            return missing
        return SLOW if self.slow and not slow_too else ""


@dataclass(frozen=True)
class PaperTable:
    """One printed table, cell by cell."""

    name: str
    title: str
    note: str
    cells: tuple[PaperCell, ...]
    # What the document prints behind ±, one of `SPREADS`; nothing where it prints means alone.
    spread: str = ""

    @property
    def data(self) -> list[str]:
        """The graphs of the table, in its order."""
        return list(dict.fromkeys(cell.spec.data for cell in self.cells))


@dataclass(frozen=True)
class PaperFigure:
    """A figure that is no table of experiments: it is computed, or it is a sweep.

    ``computed`` names the computation and ``data`` the graph, where it needs one. ``sweep`` names a packaged sweep or a file,
    ``graphs`` are those that were asked for (none: all), ``points`` the numbers that the document's text has of it.
    """

    name: str
    title: str
    note: str
    computed: str = ""
    data: str = ""
    sweep: str = ""
    graphs: tuple[str, ...] = ()
    points: tuple[PrintedPoint, ...] = ()

    @property
    def found_sweep(self) -> Sweep:
        """The sweep that it is, on the graphs that were asked for; its points must be points of it."""
        sweep = find_sweep(self.sweep)
        for point in self.points:
            point.check(sweep, self.name)
        return sweep.on(self.graphs or sweep.graphs)

    def skipped(self) -> str:
        """Why it is not computed; empty where it is."""
        return not_here(self.data) if self.data else ""

    @property
    def about(self) -> str:
        """Its title, with the graph or the sweep."""
        more = self.data or (f"sweep {self.sweep}" if self.sweep else "")
        return f"{self.title}; {more}" if more else self.title


@dataclass(frozen=True)
class Paper:
    """A paper with its tables and its figures; ``others`` says of all the rest why it is not run."""

    name: str
    title: str
    source: str
    tables: tuple[PaperTable, ...]
    figures: tuple[PaperFigure, ...] = ()
    others: Mapping[str, str] = field(default_factory=dict)

    @property
    def parts(self) -> dict[str, str]:
        """The titles of its tables and figures, by name."""
        tables = {table.name: table.title for table in self.tables}
        return tables | {figure.name: figure.title for figure in self.figures}

    def table(self, name: str) -> PaperTable:
        """The table of that name."""
        for table in self.tables:
            if table.name == name:
                return table
        known = ", ".join(self.parts)
        what = "table or figure" if self.figures else "table"
        raise InputError(f"{self.name} has no {what} named {name!r}: choose one of {known}")
