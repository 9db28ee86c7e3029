"""Papers: printed tables, and the experiments that stand for each of their numbers; figures that are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphveil.errors import InputError
from graphveil.experiments.papers.figures.figure import Computation
from graphveil.experiments.papers.figures.registry import COMPUTATIONS
from graphveil.experiments.papers.measures import Measure, find_measure
from graphveil.experiments.runs.format import PERCENT, Unit
from graphveil.experiments.runs.statistics import SPREADS
from graphveil.experiments.specs.file import (
    SUFFIX,
    Fields,
    build_spec,
    known_only,
    merged,
    packaged,
    read_toml,
    spec_fields,
    typed,
)
from graphveil.experiments.specs.presence import not_here
from graphveil.experiments.specs.shortened import SHORT, shortened
from graphveil.experiments.specs.spec import Spec
from graphveil.registry import unknown_name

FOLDER = "papers"
# Enough to see that it works, not to compare.
QUICK_EPOCHS = 5
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
        settings = {**self.spec.settings, "epochs": QUICK_EPOCHS}
        return replace(self, spec=replace(self.spec, runs=self.measure.fewest, settings=settings))

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
    """A figure that is no table of experiments: ``computed`` names the computation, ``data`` the graph, where it needs one."""

    name: str
    title: str
    note: str
    computed: str
    data: str = ""

    @property
    def computation(self) -> Computation:
        """How it is computed."""
        return COMPUTATIONS.find(self.computed)

    def skipped(self) -> str:
        """Why it is not computed; empty where it is."""
        return not_here(self.data) if self.data else ""


@dataclass(frozen=True)
class Paper:
    """A paper with its tables and its computed figures."""

    name: str
    title: str
    source: str
    tables: tuple[PaperTable, ...]
    figures: tuple[PaperFigure, ...] = ()

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


def papers() -> list[Paper]:
    """All papers that come with graphveil."""
    return [read_paper(file) for file in packaged(FOLDER).values()]


def find_tables(name: str) -> tuple[Paper, tuple[PaperTable, ...]]:
    """NAME or NAME/TABLE: the paper, and all its tables or the one that is named."""
    paper, tables, _ = find_parts(name)
    return paper, tables


def find_parts(name: str) -> tuple[Paper, tuple[PaperTable, ...], tuple[PaperFigure, ...]]:
    """NAME, NAME/TABLE or NAME/FIGURE: the paper, and all its tables and figures or the one that is named.

    NAME is one that comes with graphveil, or the path of one's own file, FILE.toml.
    """
    paper_name, part = _divided(name)
    paper = _find_paper(paper_name)
    if not part:
        return paper, paper.tables, paper.figures
    figures = tuple(figure for figure in paper.figures if figure.name == part)
    return paper, () if figures else (paper.table(part),), figures


def _divided(name: str) -> tuple[str, str]:
    """A paper and, behind a slash, its part. The path of a file has slashes of its own.

    >>> _divided("ppgnn/table3"), _divided("own/small.toml"), _divided("own/small.toml/one")
    (('ppgnn', 'table3'), ('own/small.toml', ''), ('own/small.toml', 'one'))
    """
    if name.endswith(SUFFIX):
        return name, ""
    file, slash, part = name.rpartition("/")
    if slash and file.endswith(SUFFIX):
        return file, part
    paper, _, part = name.partition("/")
    return paper, part


def _find_paper(name: str) -> Paper:
    """A packaged paper by its name, or one's own by the path of its file."""
    known = packaged(FOLDER)
    if name in known:
        return read_paper(known[name])
    if not name.endswith(SUFFIX):
        raise unknown_name("paper", name, known)
    return read_paper(Path(name))


def figures_on(figures: Sequence[PaperFigure], data: Sequence[str]) -> tuple[PaperFigure, ...]:
    """The figures, or, where a graph is named, those that are computed from one, from that graph; it must be here."""
    if not data:
        return tuple(figures)
    on_graph = [replace(figure, data=data[0]) for figure in figures if figure.data]
    if on_graph and len(data) > 1:
        raise InputError(f"{on_graph[0].name} is of one graph: name one with --data, got {len(data)}")
    for figure in on_graph:
        if why := figure.skipped():
            raise InputError(why)
    return tuple(on_graph)


def only(tables: Sequence[PaperTable], data: Sequence[str]) -> tuple[PaperTable, ...]:
    """The cells on some graphs, or all where none is named."""
    graphs = list(dict.fromkeys(name for table in tables for name in table.data))
    for name in data:
        if name not in graphs:
            raise InputError(f"no table here has {name!r}: choose from {', '.join(graphs)}")
    if not data:
        return tuple(tables)
    chosen = (
        replace(table, cells=tuple(cell for cell in table.cells if cell.spec.data in data))
        for table in tables
    )
    return tuple(table for table in chosen if table.cells)


def read_paper(file: Path) -> Paper:
    """A paper from its file; whatever cannot be run is refused."""
    content, where = read_toml(file, "a TOML file with a paper"), file.name
    known_only(content, ("title", "source", "tables", "figures"), where)
    figures = typed(content, "figures", dict, where, {})
    tables = typed(content, "tables", dict, where, {} if figures else None)
    if twice := [name for name in figures if name in tables]:
        raise InputError(f"{where} has a table and a figure named {twice[0]!r}: give them different names")
    return Paper(
        file.stem,
        typed(content, "title", str, where),
        typed(content, "source", str, where),
        tuple(_table(name, tables, where) for name in tables),
        tuple(_figure(name, figures, where) for name in figures),
    )


def _figure(name: str, figures: Mapping[str, Any], where: str) -> PaperFigure:
    """A computed figure; it names a graph just where it is computed from one."""
    figure = typed(figures, name, dict, where)
    where = f"{where}, {name}"
    known_only(figure, ("title", "note", "computed", "data"), where)
    title, note = typed(figure, "title", str, where), typed(figure, "note", str, where, "")
    computed = typed(figure, "computed", str, where)
    try:
        computation = COMPUTATIONS.find(computed)
    except InputError as error:
        raise type(error)(f"{where}: {error}") from None
    if "data" in figure and not computation.needs_graph:
        raise InputError(f"{where}: {computed} is computed without a graph: leave data out")
    data = typed(figure, "data", str, where) if computation.needs_graph else ""
    return PaperFigure(name, title, note, computed, data)


def _table(name: str, tables: Mapping[str, Any], where: str) -> PaperTable:
    """Every row crossed with every column; a row's fields go over a column's, and both over the base."""
    table = typed(tables, name, dict, where)
    where = f"{where}, {name}"
    known_only(table, ("title", "note", "spread", "base", "columns", "rows"), where)
    spread = _spread(table, where)
    base = spec_fields(typed(table, "base", dict, where), f"{where}: base")
    columns = _labelled(table, "columns", where, ("measure",))
    cells: list[PaperCell] = []
    for label, given, row in _labelled(table, "rows", where, ("printed", "spreads", "slow", "measure")):
        here = f"{where}, {label}"
        printed, slow = typed(row, "printed", list, here), typed(row, "slow", list, here, [])
        if len(printed) != len(columns):
            raise InputError(f"{here}: printed must have {len(columns)} numbers, got {len(printed)}")
        spreads = typed(row, "spreads", list, here, ["-"] * len(columns))
        if len(spreads) != len(columns) or ("spreads" in row and not spread):
            raise InputError(
                f"{here}: spreads must be {len(columns)} numbers, in a table that says what its spread is"
            )
        if unknown := [name for name in slow if name not in [column for column, *_ in columns]]:
            raise InputError(f"{here}: slow names {unknown[0]!r}, which is no column")
        for (column, override, whole), number, around in zip(columns, printed, spreads, strict=True):
            spec = build_spec(merged(base, override, given), f"{here}, {column}")
            measured = typed({**whole, **row}, "measure", str, here, SCORE)
            unit = _unit(measured, here)
            read, half = _printed(number, unit, here), _printed(around, unit, here)
            cells.append(PaperCell(label, column, read, spec, column in slow, measured, spread, half))
    title = typed(table, "title", str, where)
    return PaperTable(name, title, typed(table, "note", str, where, ""), tuple(cells), spread)


def _spread(table: Mapping[str, Any], where: str) -> str:
    """What a table prints behind ±."""
    spread: str = typed(table, "spread", str, where, "")
    if spread and spread not in SPREADS:
        raise InputError(f"{where}: spread must be one of {', '.join(SPREADS)}, got {spread!r}")
    return spread


def _labelled(
    table: Mapping[str, Any], key: str, where: str, more: tuple[str, ...] = ()
) -> list[tuple[str, Fields, Mapping[str, Any]]]:
    """Rows or columns: a label, the fields of the experiment, and the whole entry."""
    entries: list[tuple[str, Fields, Mapping[str, Any]]] = []
    for entry in typed(table, key, list, where):
        if not isinstance(entry, Mapping):
            raise InputError(f"{where}: {key} must be tables, got {entry!r}")
        known_only(entry, ("label", "set", *more), f"{where}: {key}")
        label = typed(entry, "label", str, f"{where}: {key}")
        given = spec_fields(typed(entry, "set", dict, f"{where}, {label}", {}), f"{where}, {label}")
        entries.append((label, given, entry))
    if not entries:
        raise InputError(f"{where} has no {key}: write at least one")
    return entries


def _unit(measured: str, where: str) -> Unit:
    try:
        return find_measure(measured).unit
    except InputError as error:
        raise type(error)(f"{where}: {error}") from None


def _printed(number: Any, unit: Unit, where: str) -> float | None:
    """A printed number, or None for "-"."""
    if number == "-":
        return None
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 <= number <= unit.most:
        allowed = "from 0 to 100" if unit is PERCENT else "of at least 0"
        raise InputError(f'{where}: printed must be numbers {allowed} or "-", got {number!r}')
    return float(number)
