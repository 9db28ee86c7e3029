"""Papers that come along or are one's own: found by name, and read from TOML files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from graphveil.errors import InputError
from graphveil.experiments.measures.measure import find_measure
from graphveil.experiments.papers.figures.computations import check_computation
from graphveil.experiments.papers.parts import SCORE, Paper, PaperCell, PaperFigure, PaperTable
from graphveil.experiments.papers.points import PrintedPoint
from graphveil.experiments.runs.format import PERCENT, Unit
from graphveil.experiments.runs.statistics import SPREADS
from graphveil.experiments.specs.file import (
    SUFFIX,
    Fields,
    build_spec,
    known_only,
    merged,
    packaged,
    spec_fields,
    typed,
)
from graphveil.experiments.sweeps.sweep import FOLDER as SWEEPS
from graphveil.files import read_toml
from graphveil.registry import unknown_name

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
