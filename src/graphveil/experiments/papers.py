"""Papers: printed tables and figures with the experiments that stand for their numbers, read from TOML files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from graphveil.errors import InputError
from graphveil.experiments.computed_figures import check_computation
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
from graphveil.experiments.measures import SCORE, find_measure
from graphveil.experiments.result import Result
from graphveil.experiments.study import FOLDER as SWEEPS
from graphveil.experiments.study import PRINTED, Cell, Study, find_sweep, missing_graph, read_spread
from graphveil.experiments.study_result import PRINTED_PARTS, StudyResult
from graphveil.files import read_toml
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
        for place in (self.at, self.over or self.at):
            known = (value in axis.values for axis, value in zip(axes, place, strict=False))
            if len(place) != len(axes) or not all(known):
                raise InputError(
                    f"{where}: {study.name} has no point {list(place)!r}: name a value of each of its {len(axes)} axes"
                )

    def row(self, result: StudyResult) -> list[str]:
        """Return where it is, theirs, and ours with control and structure; what is missing is not run here."""
        one = result.at(*self.at)
        other = result.at(*self.over) if self.over else None
        there = one is not None and (other is not None or not self.over)
        ours = [PERCENT.interval(_summary(one, other, part)) if there else NONE for part in PRINTED_PARTS]
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


def _summary(one: Result | None, other: Result | None, part: str) -> Summary | None:
    """The mean over runs, or that of differences run by run; None where the part is not there."""
    scores = [] if one is None else one.scores(part)
    if other is not None:
        less = other.scores(part)
        scores = [a - b for a, b in zip(scores, less, strict=True)] if len(less) == len(scores) else []
    return t_interval(scores) if scores else None


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
    """A paper with its tables and its figures; ``others`` says of all the rest why it is not run."""

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

    def table(self, name: str) -> Study:
        """Return the table of that name."""
        for table in self.tables:
            if table.name == name:
                return table
        what = "table or figure" if self.figures else "table"
        raise InputError(f"{self.name} has no {what} named {name!r}: choose one of {', '.join(self.parts)}")


class PaperSelection(NamedTuple):
    """A paper with those of its tables and figures that are asked for."""

    paper: Paper
    tables: tuple[Study, ...]
    figures: tuple[PaperFigure, ...]

    @property
    def whole(self) -> bool:
        """Whether all of the paper is asked for."""
        paper = self.paper
        return (len(self.tables), len(self.figures)) == (len(paper.tables), len(paper.figures))


FOLDER = "papers"


def papers() -> list[Paper]:
    """Return all papers that come with graphveil."""
    return [read_paper(file) for file in packaged(FOLDER).values()]


def find_tables(name: str) -> tuple[Paper, tuple[Study, ...]]:
    """Return the paper of NAME or NAME/TABLE, and all its tables or the one that is named."""
    paper, tables, _ = find_parts(name)
    return paper, tables


def find_parts(name: str) -> PaperSelection:
    """Return the paper of NAME, NAME/TABLE or NAME/FIGURE, and all its tables and figures or the one that is named.

    NAME is one that comes with graphveil, or the path of one's own file, FILE.toml.
    """
    paper_name, part = _divided(name)
    known = packaged(FOLDER)
    if paper_name not in known and not paper_name.endswith(SUFFIX):
        raise unknown_name("paper", paper_name, known)
    paper = read_paper(known.get(paper_name, Path(paper_name)))
    if not part:
        return PaperSelection(paper, paper.tables, paper.figures)
    figures = tuple(figure for figure in paper.figures if figure.name == part)
    return PaperSelection(paper, () if figures else (paper.table(part),), figures)


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


def select(name: str, graphs: Sequence[str], columns: Sequence[str] = ()) -> PaperSelection:
    """Return what of a paper is computed: its tables and figures on some graphs, or all where none is named.

    Where ``columns`` are named, its tables have these alone, and figures, which have none, are left out.
    """
    paper, tables, figures = find_parts(name)
    if columns and not tables:
        raise InputError(f"{name} has no table, so no columns: leave --column out")
    if columns:
        tables, figures = in_columns(tables, columns), ()
    if not graphs:
        return PaperSelection(paper, tables, figures)
    alone = not tables and len(figures) == 1
    chosen = tuple(there for figure in figures if (there := figure.on(graphs, alone=alone)))
    if figures and not tables and not chosen:
        raise InputError(f"{name} is computed without a graph: leave --data out")
    # A figure can be computed from graphs that no table has.
    elsewhere = chosen and not any(graph in graphs for table in tables for graph in table.graphs)
    return PaperSelection(paper, () if elsewhere else on_graphs(tables, graphs), chosen)


def select_every(graphs: Sequence[str]) -> list[PaperSelection]:
    """Return all papers, or those that have a table on one of some graphs, and of these what is on them."""
    chosen, known = [], []
    for paper in papers():
        own = list(dict.fromkeys(graph for table in paper.tables for graph in table.graphs))
        here = [graph for graph in graphs if graph in own]
        if here or not graphs:
            chosen.append(select(paper.name, here))
        known += own
    for graph in graphs:
        if graph not in known:
            raise InputError(
                f"no paper has a table on {graph!r}: choose from {', '.join(dict.fromkeys(known))}"
            )
    return chosen


def on_graphs(tables: Sequence[Study], graphs: Sequence[str]) -> tuple[Study, ...]:
    """Return the cells on some graphs, or all where none is named."""
    known = list(dict.fromkeys(name for table in tables for name in table.graphs))
    for name in graphs:
        if name not in known:
            raise InputError(f"no table here has {name!r}: choose from {', '.join(known)}")
    return _choose(tables, lambda cell: not graphs or cell.experiment.data in graphs)


def in_columns(tables: Sequence[Study], columns: Sequence[str]) -> tuple[Study, ...]:
    """Return the cells in some columns, or all where none is named."""
    known = list(dict.fromkeys(cell.labels[1] for table in tables for cell in table.cells))
    for name in columns:
        if name not in known:
            raise InputError(f"no table here has a column {name!r}: choose from {'; '.join(known)}")
    return _choose(tables, lambda cell: not columns or cell.labels[1] in columns)


def _choose(tables: Sequence[Study], wanted: Callable[[Cell], bool]) -> tuple[Study, ...]:
    chosen = (table.choose(wanted) for table in tables)
    return tuple(table for table in chosen if table.cells)


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
    if sweep not in known:
        sweep = str(folder / sweep)
    points = tuple(
        _read_point(point, f"{where}: points") for point in typed(table, "points", list, where, [])
    )
    study = find_sweep(sweep)
    for point in points:
        point.check(study, name)
    return replace(figure, sweep=sweep, study=study, points=points)


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
            f"{where}: spreads must be {len(columns)} numbers, in a table that says what its spread is"
        )
    if unknown := [name for name in slow if name not in [column.label for column in columns]]:
        raise InputError(f"{where}: slow names {unknown[0]!r}, which is no column")
    cells = []
    for column, number, around in zip(columns, printed, spreads, strict=True):
        fields = merged(base, column.fields, row.fields)
        experiment = build_experiment(fields, f"{where}, {column.label}")
        name = typed({**column.table, **row.table}, "measure", str, where, SCORE)
        with errors_in(where):
            measure = find_measure(name)
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
