"""Papers: printed tables and figures with the experiments that stand for their numbers, read from TOML files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.experiment_file import (
    SUFFIX,
    Fields,
    build_experiment,
    experiment_fields,
    known_only,
    merged,
    packaged,
    typed,
)
from graphveil.experiments.figure import Chart
from graphveil.experiments.measures import Measure, find_measure
from graphveil.experiments.result import Result
from graphveil.experiments.study import FOLDER as SWEEPS
from graphveil.experiments.study import SHORT, Sweep, find_sweep, not_here, quickened, shortened
from graphveil.experiments.study_result import SweepResult
from graphveil.files import read_toml
from graphveil.number_format import NONE, PERCENT, Unit
from graphveil.plugins import unknown_name
from graphveil.statistics import SPREADS, Summary, t_interval

# What is computed now, and which share of all is done.
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Terms:
    """What a figure is computed from: a graph, where it needs one, and so many runs, where it draws at random.

    ``runs`` None is as many as the figure has. ``quick`` is one run at few values, to see that it works.
    """

    data: str = ""
    runs: int | None = None
    quick: bool = False
    progress: Progress = lambda what, share: None


def spans(chosen: Sequence[float], among: Sequence[float]) -> str:
    """Some of the values of an axis in words: neighbours are joined.

    >>> spans([1, 2, 3, 9], [0.5, 1, 2, 3, 4, 9]), spans([1, 2], [1, 2, 3]), spans([], [1])
    ('1 to 3 and 9', '1 and 2', '-')
    """
    runs: list[list[float]] = []
    for place, value in enumerate(among):
        if value in chosen:
            joined = place and among[place - 1] in chosen
            runs[-1].append(value) if joined else runs.append([value])
    told = []
    for run in runs:
        told += [f"{run[0]:g} to {run[-1]:g}"] if len(run) > 2 else [f"{value:g}" for value in run]
    if not told:
        return NONE
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"


# Beside `src`, in a copy of the project.
REPRODUCE = Path(__file__).parents[3] / "reproduce"


def check_computation(name: str, data: str) -> None:
    """Refuse an unknown figure, and a graph that is missing or too many; an installed package knows no figures and refuses none."""
    if not REPRODUCE.is_dir():
        return
    needs_graph = getattr(_module(name), "NEEDS_GRAPH", False)
    if data and not needs_graph:
        raise InputError(f"{name} is computed without a graph: leave data out")
    if needs_graph and not data:
        raise InputError(f"{name} is computed from a graph: name it as data")


def compute_figure(name: str, terms: Terms) -> Chart:
    """Compute the figure that a file of `reproduce/figures` is about: "walk-distance" is that of walk_distance.py."""
    if not REPRODUCE.is_dir():
        raise InputError(
            f"{name} is computed by a file of reproduce/figures, which comes with the project's source and not with the installed "
            "package: run this in a copy of the project, installed with `pip install -e .`"
        )
    chart: Chart = _module(name).compute(terms)
    return chart


def _module(name: str) -> Any:
    """The module of a figure."""
    _load_package()
    known = [file.stem.replace("_", "-") for file in sorted((REPRODUCE / "figures").glob("*.py"))]
    if name not in known or not hasattr(module := import_module(_path(name)), "compute"):
        figures = [each for each in known if hasattr(import_module(_path(each)), "compute")]
        raise unknown_name("computed figure", name, figures)
    return module


def _path(name: str) -> str:
    return f"reproduce.figures.{name.replace('-', '_')}"


def _load_package() -> None:
    """Make `reproduce` importable, wherever the command was started."""
    if "reproduce" in sys.modules:
        return
    init = REPRODUCE / "__init__.py"
    spec = spec_from_file_location("reproduce", init, submodule_search_locations=[str(REPRODUCE)])
    assert spec is not None and spec.loader is not None
    module = sys.modules["reproduce"] = module_from_spec(spec)
    spec.loader.exec_module(module)


POINT_HEAD = ("in the text", "theirs", "ours", "control", "structure")
PARTS = ("method", "control", "structure")


@dataclass(frozen=True)
class PrintedPoint:
    """A number in the text, as it says it (``theirs``), at some values of the axes of a sweep.

    ``over``: it is how much more than at these other values.
    """

    at: tuple[Any, ...]
    theirs: str
    over: tuple[Any, ...] = ()

    def check(self, sweep: Sweep, where: str) -> None:
        """Refuse a point that the sweep does not have."""
        for place in (self.at, self.over or self.at):
            axes = sweep.axes
            if len(place) != len(axes) or any(
                value not in axis.values for axis, value in zip(axes, place, strict=False)
            ):
                raise InputError(
                    f"{where}: {sweep.name} has no point {list(place)!r}: name a value of each of its {len(axes)} axes"
                )

    def row(self, result: SweepResult) -> list[str]:
        """Where it is, theirs, and ours with control and structure; what is missing is not run here."""
        one = result.at(*self.at)
        other = result.at(*self.over) if self.over else None
        there = one is not None and (other is not None or not self.over)
        ours = [PERCENT.interval(_summary(one, other, part)) if there else NONE for part in PARTS]
        if self.over:
            # Whatever they compare, it is the same for both.
            ours[-1] = NONE
        return [self.words(result.sweep), self.theirs, *ours]

    def words(self, sweep: Sweep) -> str:
        """Where it is, in words; of what it is compared with only what differs."""
        said = _named(sweep, self.at)
        if not self.over:
            return ", ".join(said)
        other = [name for name in _named(sweep, self.over) if name not in said]
        return f"{', '.join(said)}, over {', '.join(other)}"


def _named(sweep: Sweep, place: Sequence[Any]) -> list[str]:
    return [axis.name(value) for axis, value in zip(sweep.axes, place, strict=True)]


def _summary(one: Result | None, other: Result | None, part: str) -> Summary | None:
    """The mean over runs, or that of differences run by run; None where the part is not there."""
    scores = [] if one is None else one.scores(part)
    if other is not None:
        less = other.scores(part)
        scores = [a - b for a, b in zip(scores, less, strict=True)] if len(less) == len(scores) else []
    return t_interval(scores) if scores else None


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
    spec: Experiment
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
    def heading(self) -> str:
        """The title, with the graph."""
        return f"{self.title} ({Path(self.data).stem})" if self.data else self.title

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


FOLDER = "papers"


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


def figures_on(
    figures: Sequence[PaperFigure], data: Sequence[str], *, alone: bool = False
) -> tuple[PaperFigure, ...]:
    """The figures, or, where graphs are named, those that are of one of them.

    What is computed from a graph is computed from the one that is named, which must be here. A sweep is on those of its graphs
    that are named; one of a single graph is on another only if it was asked for ``alone``.
    """
    if not data:
        return tuple(figures)
    chosen: list[PaperFigure] = []
    for figure in figures:
        if figure.sweep:
            graphs = _of_sweep(figure, data, alone)
            chosen += [replace(figure, graphs=graphs)] if graphs else []
        elif figure.data:
            chosen.append(_from_graph(figure, data))
    return tuple(chosen)


def _of_sweep(figure: PaperFigure, data: Sequence[str], alone: bool) -> tuple[str, ...]:
    """The graphs among those named that a sweep is on; alone, it takes or refuses all of them."""
    if alone:
        figure.found_sweep.on(data)
        return tuple(data)
    return tuple(graph for graph in data if graph in figure.found_sweep.all_graphs)


def _from_graph(figure: PaperFigure, data: Sequence[str]) -> PaperFigure:
    if len(data) > 1:
        raise InputError(f"{figure.name} is of one graph: name one with --data, got {len(data)}")
    figure = replace(figure, data=data[0])
    if why := figure.skipped():
        raise InputError(why)
    return figure


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


def in_columns(tables: Sequence[PaperTable], columns: Sequence[str]) -> tuple[PaperTable, ...]:
    """The cells in some columns, or all where none is named."""
    known = list(dict.fromkeys(cell.column for table in tables for cell in table.cells))
    for name in columns:
        if name not in known:
            raise InputError(f"no table here has a column {name!r}: choose from {'; '.join(known)}")
    if not columns:
        return tuple(tables)
    chosen = (
        replace(table, cells=tuple(cell for cell in table.cells if cell.column in columns))
        for table in tables
    )
    return tuple(table for table in chosen if table.cells)


def read_paper(file: Path) -> Paper:
    """A paper from its file; whatever cannot be run is refused."""
    content, where = read_toml(file, "name a TOML file with a paper"), file.name
    known_only(content, ("title", "source", "tables", "figures", "others"), where)
    figures = typed(content, "figures", dict, where, {})
    tables = typed(content, "tables", dict, where, {} if figures else None)
    if twice := [name for name in figures if name in tables]:
        raise InputError(f"{where} has a table and a figure named {twice[0]!r}: give them different names")
    others = typed(content, "others", dict, where, {})
    return Paper(
        file.stem,
        typed(content, "title", str, where),
        typed(content, "source", str, where),
        tuple(_table(name, tables, where) for name in tables),
        tuple(_figure(name, figures, where, file.parent) for name in figures),
        {name: typed(others, name, str, f"{where}: others") for name in others},
    )


def _figure(name: str, figures: Mapping[str, Any], where: str, folder: Path) -> PaperFigure:
    """A figure that is computed, or that is a sweep."""
    figure = typed(figures, name, dict, where)
    where = f"{where}, {name}"
    if "sweep" in figure:
        return _swept(name, figure, where, folder)
    known_only(figure, ("title", "note", "computed", "data"), where)
    title, note = typed(figure, "title", str, where), typed(figure, "note", str, where, "")
    computed = typed(figure, "computed", str, where)
    data = typed(figure, "data", str, where, "")
    try:
        check_computation(computed, data)
    except InputError as error:
        raise type(error)(f"{where}: {error}") from None
    return PaperFigure(name, title, note, computed, data)


def _swept(name: str, figure: Mapping[str, Any], where: str, folder: Path) -> PaperFigure:
    """A figure that is a sweep: a packaged one, or a file beside the paper's."""
    known_only(figure, ("title", "note", "sweep", "points"), where)
    title, note = typed(figure, "title", str, where), typed(figure, "note", str, where, "")
    sweep, known = typed(figure, "sweep", str, where), packaged(SWEEPS)
    if sweep not in known and not sweep.endswith(SUFFIX):
        raise InputError(f"{where}: {unknown_name('sweep', sweep, known)}")
    if sweep not in known:
        sweep = str(folder / sweep)
    points = [_point(point, f"{where}: points") for point in typed(figure, "points", list, where, [])]
    return PaperFigure(name, title, note, sweep=sweep, points=tuple(points))


def _point(point: Any, where: str) -> PrintedPoint:
    if not isinstance(point, Mapping):
        raise InputError(f"{where} must be tables with at and theirs, got {point!r}")
    known_only(point, ("at", "over", "theirs"), where)
    at, over = typed(point, "at", list, where), typed(point, "over", list, where, [])
    return PrintedPoint(tuple(at), typed(point, "theirs", str, where), tuple(over))


def _table(name: str, tables: Mapping[str, Any], where: str) -> PaperTable:
    """Every row crossed with every column; a row's fields go over a column's, and both over the base."""
    table = typed(tables, name, dict, where)
    where = f"{where}, {name}"
    known_only(table, ("title", "note", "spread", "base", "columns", "rows"), where)
    spread = _spread(table, where)
    base = experiment_fields(typed(table, "base", dict, where), f"{where}: base")
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
            spec = build_experiment(merged(base, override, given), f"{here}, {column}")
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
        given = experiment_fields(typed(entry, "set", dict, f"{where}, {label}", {}), f"{where}, {label}")
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
