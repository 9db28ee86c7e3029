"""Papers: printed tables and figures with the experiments or computations that stand for their numbers, read from TOML files."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from graphveil.errors import InputError
from graphveil.experiments.experiment_file import (
    SUFFIX,
    Fields,
    LabelledEntry,
    build_experiment,
    errors_in,
    experiment_fields,
    known_only,
    labelled_entries,
    merged,
    packaged,
    typed,
)
from graphveil.experiments.figure import Chart
from graphveil.experiments.measures import SCORE, find_measure
from graphveil.experiments.study import FOLDER as SWEEPS
from graphveil.experiments.study import PRINTED, Cell, Study, find_sweep, missing_graph, read_spread
from graphveil.experiments.study_result import PRINTED_PARTS, StudyResult
from graphveil.files import read_toml
from graphveil.methods.job import Progress
from graphveil.number_format import NONE, PERCENT, Unit
from graphveil.plugins import unknown_name
from graphveil.statistics import Summary, t_interval

POINT_HEAD = ("in the text", "theirs", "ours", *PRINTED_PARTS[1:])


@dataclass(frozen=True)
class PrintedPoint:
    """A number in the text, as it says it (``theirs``), at some values of the axes of a sweep.

    ``over``: it is how much more than at these other values.
    """

    at: tuple[Any, ...]
    theirs: str
    over: tuple[Any, ...] = ()

    def check(self, study: Study, where: str) -> None:
        """Refuse a point that the sweep does not have."""
        axes = study.axes
        axes_said = f"name a value of each of its {len(axes)} axes"
        for place in (self.at, self.over or self.at):
            known = (value in axis.values for axis, value in zip(axes, place, strict=False))
            if len(place) != len(axes) or not all(known):
                raise InputError(f"{where}: {study.name} has no point {list(place)!r}: {axes_said}")

    def row(self, result: StudyResult) -> list[str]:
        """Return where it is, theirs, and ours with control and structure; what is missing is not run here."""
        ours = [PERCENT.interval(self._summary(result, part)) for part in PRINTED_PARTS]
        if self.over:
            # Whatever they compare, it is the same for both.
            ours[-1] = NONE
        return [self.words(result.study), self.theirs, *ours]

    def words(self, study: Study) -> str:
        """Return where it is, in words; of what it is compared with only what differs."""
        at, over = (
            [axis.name(value) for axis, value in zip(study.axes, place, strict=False)]
            for place in (self.at, self.over)
        )
        other = [name for name in over if name not in at]
        return ", ".join(at) + (f", over {', '.join(other)}" if self.over else "")

    def _summary(self, result: StudyResult, part: str) -> Summary | None:
        """The mean over runs, or that of differences run by run; None where one of both is not there."""
        found = [result.at(*place) for place in (self.at, self.over) if place]
        scores = [[] if each is None else each.scores(part) for each in found]
        if not all(scores) or len({*map(len, scores)}) > 1:
            return None
        first, *others = scores
        return t_interval([a - b for a, b in zip(first, *others, strict=True)] if others else first)


@dataclass(frozen=True)
class PaperFigure:
    """A figure that is no table of experiments: it is computed, or it is a sweep.

    ``computed`` names the computation and ``data`` the graph, where it needs one. ``sweep`` names a packaged sweep or a file, ``study`` is
    that sweep, and ``points`` are the numbers that the document's text has of it.
    """

    name: str
    title: str
    note: str
    computed: str = ""
    data: str = ""
    sweep: str = ""
    study: Study | None = None
    points: tuple[PrintedPoint, ...] = ()

    @property
    def heading(self) -> str:
        """The title, with the graph."""
        return f"{self.title} ({Path(self.data).stem})" if self.data else self.title

    @property
    def about(self) -> str:
        """Its title, with the graph or the sweep."""
        more = self.data or (f"sweep {self.sweep}" if self.sweep else "")
        return f"{self.title}; {more}" if more else self.title

    def on(self, graphs: Sequence[str], *, alone: bool = False) -> PaperFigure | None:
        """Return the figure on some graphs; None where it is of none of them, or of no graph.

        What is computed from a graph is computed from the one that is named, which must be here. A sweep is on those of its graphs that
        are named; one of a single graph is on another only if the figure was asked for ``alone``.
        """
        if self.study is not None:
            known = list(graphs) if alone else [graph for graph in graphs if graph in self.study.graphs]
            return replace(self, study=self.study.on(known)) if known else None
        if not self.data:
            return None
        if len(graphs) > 1:
            raise InputError(f"{self.name} is of one graph: name one with --data, got {len(graphs)}")
        if why := missing_graph(graphs[0]):
            raise InputError(why)
        return replace(self, data=graphs[0])


@dataclass(frozen=True)
class Paper:
    """A paper with its tables and its figures, or some of them; ``others`` says of the rest of a whole one why it is not run."""

    name: str
    title: str
    source: str
    tables: tuple[Study, ...]
    figures: tuple[PaperFigure, ...] = ()
    others: Mapping[str, str] = field(default_factory=dict)

    @property
    def parts(self) -> dict[str, str]:
        """The titles of its tables and figures, by name."""
        tables = {table.name: table.title for table in self.tables}
        return tables | {figure.name: figure.title for figure in self.figures}

    def with_parts(self, tables: tuple[Study, ...], figures: tuple[PaperFigure, ...] = ()) -> Paper:
        """Return the paper with these tables and figures alone."""
        whole = (len(tables), len(figures)) == (len(self.tables), len(self.figures))
        return replace(self, tables=tables, figures=figures, others=self.others if whole else {})

    def part(self, name: str) -> Paper:
        """Return the paper with the table or the figure of that name alone."""
        if name not in self.parts:
            what = "table or figure" if self.figures else "table"
            raise InputError(
                f"{self.name} has no {what} named {name!r}: choose one of {', '.join(self.parts)}"
            )
        tables = tuple(table for table in self.tables if table.name == name)
        return self.with_parts(tables, tuple(figure for figure in self.figures if figure.name == name))


FOLDER = "papers"


def papers() -> list[Paper]:
    """Return all papers that come with graphveil."""
    return [read_paper(file) for file in packaged(FOLDER).values()]


def find_paper(name: str) -> Paper:
    """Return the paper of NAME, NAME/TABLE or NAME/FIGURE, with all its tables and figures or the one that is named.

    NAME is one that comes with graphveil, or the path of one's own file, FILE.toml.
    """
    paper, part = _divided(name)
    known = packaged(FOLDER)
    if paper not in known and not paper.endswith(SUFFIX):
        raise unknown_name("paper", paper, known)
    found = read_paper(known.get(paper, Path(paper)))
    return found.part(part) if part else found


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


def select(name: str, graphs: Sequence[str], columns: Sequence[str] = ()) -> Paper:
    """Return a paper with only the tables and figures to compute.

    Parameters
    ----------
    graphs
        The graphs to compute on; all if empty.
    columns
        The columns of tables to keep; all if empty. Figures have no columns and are left out if any is named.
    """
    paper = find_paper(name)
    tables, figures = paper.tables, () if columns else paper.figures
    if columns and not tables:
        raise InputError(f"{name} has no table, so no columns: leave --column out")
    if graphs:
        alone = not tables and len(figures) == 1
        figures = tuple(there for figure in figures if (there := figure.on(graphs, alone=alone)))
        if not (tables or figures):
            raise InputError(f"{name} is computed without a graph: leave --data out")
        if figures and not any(graph in graphs for table in tables for graph in table.graphs):
            # A figure can be computed from graphs that no table has.
            tables = ()
    return paper.with_parts(choose_cells(tables, graphs if tables else (), columns), figures)


def select_every(graphs: Sequence[str]) -> list[Paper]:
    """Return all papers, or those that have a table on one of some graphs, and of these what is on them."""
    chosen, known = [], []
    for paper in papers():
        own = [graph for table in paper.tables for graph in table.graphs]
        here = [graph for graph in graphs if graph in own]
        if here or not graphs:
            chosen.append(select(paper.name, here))
        known += own
    _check_known(graphs, known, "no paper has a table on", ", ")
    return chosen


def choose_cells(
    tables: Sequence[Study], graphs: Sequence[str] = (), columns: Sequence[str] = ()
) -> tuple[Study, ...]:
    """Return tables with only the cells on some graphs and in some columns; empty tables are left out.

    Parameters
    ----------
    graphs, columns
        The graphs and columns to keep; all if empty.
    """
    cells = [cell for table in tables for cell in table.cells]
    _check_known(columns, [cell.labels[1] for cell in cells], "no table here has a column", "; ")
    _check_known(graphs, [cell.experiment.data for cell in cells], "no table here has", ", ")

    def wanted(cell: Cell) -> bool:
        return (not graphs or cell.experiment.data in graphs) and (not columns or cell.labels[1] in columns)

    return tuple(chosen for table in tables if (chosen := table.choose(wanted)).cells)


def _check_known(names: Sequence[str], known: Sequence[str], refusal: str, between: str) -> None:
    for name in names:
        if name not in known:
            raise InputError(f"{refusal} {name!r}: choose from {between.join(dict.fromkeys(known))}")


def read_paper(file: Path) -> Paper:
    """Read a paper from its file; whatever cannot be run is refused."""
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
        tuple(_read_table(name, tables, where) for name in tables),
        tuple(_read_figure(name, figures, where, file.parent) for name in figures),
        {name: typed(others, name, str, f"{where}: others") for name in others},
    )


def _read_figure(name: str, figures: Mapping[str, Any], where: str, folder: Path) -> PaperFigure:
    """A figure that is computed, or that is a sweep: a packaged one, or a file beside the paper's."""
    table = typed(figures, name, dict, where)
    where = f"{where}, {name}"
    own = ("sweep", "points") if "sweep" in table else ("computed", "data")
    known_only(table, ("title", "note", *own), where)
    figure = PaperFigure(name, typed(table, "title", str, where), typed(table, "note", str, where, ""))
    if "sweep" not in table:
        computed, data = typed(table, "computed", str, where), typed(table, "data", str, where, "")
        with errors_in(where):
            check_computation(computed, data)
        return replace(figure, computed=computed, data=data)
    sweep, known = typed(table, "sweep", str, where), packaged(SWEEPS)
    if sweep not in known and not sweep.endswith(SUFFIX):
        raise InputError(f"{where}: {unknown_name('sweep', sweep, known)}")
    study = find_sweep(sweep := sweep if sweep in known else str(folder / sweep))
    points = [_read_point(point, f"{where}: points") for point in typed(table, "points", list, where, [])]
    for point in points:
        point.check(study, name)
    return replace(figure, sweep=sweep, study=study, points=tuple(points))


def _read_point(point: Any, where: str) -> PrintedPoint:
    if not isinstance(point, Mapping):
        raise InputError(f"{where} must be tables with at and theirs, got {point!r}")
    known_only(point, ("at", "over", "theirs"), where)
    at, over = typed(point, "at", list, where), typed(point, "over", list, where, [])
    return PrintedPoint(tuple(at), typed(point, "theirs", str, where), tuple(over))


def _read_table(name: str, tables: Mapping[str, Any], where: str) -> Study:
    """Every row crossed with every column; a row's fields go over a column's, and both over the base."""
    table = typed(tables, name, dict, where)
    where = f"{where}, {name}"
    known_only(table, ("title", "note", "spread", "base", "columns", "rows"), where)
    spread = read_spread(table, where)
    base = experiment_fields(typed(table, "base", dict, where), f"{where}: base")
    columns = labelled_entries(table, "columns", where, ("measure",), {})
    rows = labelled_entries(table, "rows", where, ("printed", "spreads", "slow", "measure"), {})
    cells = [
        cell for row in rows for cell in _read_row(row, columns, base, bool(spread), f"{where}, {row.label}")
    ]
    title, note = typed(table, "title", str, where), typed(table, "note", str, where, "")
    return Study(name, title, tuple(cells), kind=PRINTED, note=note, spread=spread)


def _read_row(
    row: LabelledEntry, columns: Sequence[LabelledEntry], base: Fields, spread: bool, where: str
) -> list[Cell]:
    """The cells of a row, each with its printed number."""
    printed, slow = typed(row.table, "printed", list, where), typed(row.table, "slow", list, where, [])
    if len(printed) != len(columns):
        raise InputError(f"{where}: printed must have {len(columns)} numbers, got {len(printed)}")
    spreads = typed(row.table, "spreads", list, where, ["-"] * len(columns))
    if len(spreads) != len(columns) or ("spreads" in row.table and not spread):
        raise InputError(
            f"{where}: spreads are {len(columns)} numbers, in a table that says what its spread is"
        )
    if unknown := [name for name in slow if name not in [column.label for column in columns]]:
        raise InputError(f"{where}: slow names {unknown[0]!r}, which is no column")
    cells = []
    for column, number, around in zip(columns, printed, spreads, strict=True):
        fields = merged(base, column.fields, row.fields)
        experiment = build_experiment(fields, f"{where}, {column.label}")
        with errors_in(where):
            measure = find_measure(typed({**column.table, **row.table}, "measure", str, where, SCORE))
        cells.append(
            Cell(
                experiment,
                (row.label, column.label),
                measure=measure,
                printed=_read_number(number, measure.unit, where),
                printed_spread=_read_number(around, measure.unit, where),
                slow_on=(experiment.data,) if column.label in slow else (),
                fields=fields,
            )
        )
    return cells


def _read_number(number: Any, unit: Unit, where: str) -> float | None:
    """A printed number, or None for "-"."""
    if number == "-":
        return None
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 <= number <= unit.most:
        allowed = "from 0 to 100" if unit is PERCENT else "of at least 0"
        raise InputError(f'{where}: printed must be numbers {allowed} or "-", got {number!r}')
    return float(number)


@dataclass(frozen=True)
class FigureInput:
    """The input of a figure: a graph, if it needs one, and the number of runs, if it draws at random.

    ``runs`` None takes the figure's default. ``quick`` is one run at few values, to see that it works.
    """

    data: str = ""
    runs: int | None = None
    quick: bool = False
    progress: Progress = lambda what, share: None


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


def compute_figure(name: str, given: FigureInput) -> Chart:
    """Compute the figure that a file of `reproduce/figures` is about: "walk-distance" is that of walk_distance.py."""
    if not REPRODUCE.is_dir():
        raise InputError(
            f"{name} is computed by a file of reproduce/figures, which comes with the project's source and not with the installed "
            "package: run this in a copy of the project, installed with `pip install -e .`"
        )
    chart: Chart = _module(name).compute(given)
    return chart


def _module(name: str) -> Any:
    """The module of a figure, wherever the command was started."""
    if (folder := str(REPRODUCE.parent)) not in sys.path:
        sys.path.append(folder)
    known = [file.stem.replace("_", "-") for file in sorted((REPRODUCE / "figures").glob("[a-z]*.py"))]
    if name not in known or not hasattr(module := _import(name), "compute"):
        raise unknown_name(
            "computed figure", name, [each for each in known if hasattr(_import(each), "compute")]
        )
    return module


def _import(name: str) -> Any:
    return import_module(f"reproduce.figures.{name.replace('-', '_')}")
