"""Studies: experiments in cells, with what is measured of each; sweeps over the fields of an experiment, read from TOML."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.experiment_file import (
    OPTIONS,
    SETTINGS,
    SUFFIX,
    Fields,
    LabelledEntry,
    build_experiment,
    errors_in,
    experiment_fields,
    field_names,
    known_only,
    labelled_entries,
    merged,
    one_field,
    packaged,
    typed,
)
from graphveil.experiments.measures import SCORE, Measure, find_measure
from graphveil.files import read_toml
from graphveil.graphs.load import TOWNS
from graphveil.graphs.store import find
from graphveil.number_format import value_text
from graphveil.plugins import is_reference
from graphveil.statistics import SPREADS

NOT_HERE = "not here"


def missing_graph(data: str) -> str:
    """Return advice about a graph that is not on this machine; an empty text if it is."""
    if data in TOWNS or find(data) is not None or Path(data).is_file() or is_reference(data):
        return ""
    return f"{data} is {NOT_HERE}: `graphveil data get {data}`, or put {data}.npz into the folder that GRAPHVEIL_DATA names"


# Where users and features come to more than so many entries, and each of them is answered, a run takes many minutes.
MOST_ENTRIES = 20_000_000
SHORT_EPOCHS = 100
SHORT = f"one run of at most {SHORT_EPOCHS} epochs, as every user answers every value; --all takes all runs"
SLOW = "slow: left out of --quick, run with --all"
# Enough to see that it works, not to compare: epochs, and steps a user where a walk finds a dendrogram of links.
QUICK_EPOCHS, QUICK_STEPS = 5, 100
WALKS = ("edgerr", "privhrg")


def shorten(experiment: Experiment) -> Experiment:
    """Return the same experiment in one run of few epochs."""
    return _with_epochs(experiment, 1, SHORT_EPOCHS)


def _with_epochs(experiment: Experiment, runs: int, most: int) -> Experiment:
    epochs = min(most, experiment.resolved_settings.epochs)
    return replace(experiment, runs=runs, settings={**experiment.settings, "epochs": epochs})


SCORES = find_measure(SCORE)


@dataclass(frozen=True)
class Cell:
    """One experiment of a study: where it stands, what is measured of it, and what a document prints for it.

    Parameters
    ----------
    experiment
        What is run.
    labels
        Its names along the axes, or its row and its column in a printed table.
    place
        Where it stands along each axis: x, line, panel. A printed table has no axes.
    measure
        How the number comes out of the experiment.
    printed, printed_spread
        The number that a document prints, and what it prints behind ±, in the unit of the measure; None where there is none.
    slow_on
        The graphs on which it takes very long.
    remark
        What is to be said of how it is run.
    left_out
        Why it is not run; empty where it is.
    fields
        What the experiment was made of, where a file says it.
    """

    experiment: Experiment
    labels: tuple[str, ...] = ()
    place: tuple[int, ...] = ()
    measure: Measure = SCORES
    printed: float | None = None
    printed_spread: float | None = None
    slow_on: tuple[str, ...] = ()
    remark: str = ""
    left_out: str = ""
    fields: Fields = field(default_factory=dict)

    @property
    def slow(self) -> bool:
        """Whether it takes very long on its graph."""
        return self.experiment.data in self.slow_on

    def quick(self) -> Cell:
        """Return it in as few runs as its measure needs, of a few epochs."""
        quick = _with_epochs(self.experiment, self.measure.fewest, QUICK_EPOCHS)
        if quick.budgets.link_mechanism in WALKS and quick.budgets.private_links:
            quick = replace(quick, settings={**quick.settings, "link.sweeps": QUICK_STEPS})
        return replace(self, experiment=quick)

    def prepare(self, missing: str, everything: bool, quick: bool) -> Cell:
        """Return the cell as it is run: in full, shortened, or left out.

        Parameters
        ----------
        missing
            Why its graph is not here; empty where it is.
        everything, quick
            As in `Study.prepare`.
        """
        if missing or (quick and self.slow and not everything):
            return replace(self, left_out=missing or SLOW)
        if quick:
            return self.quick()
        if self.slow and not everything:
            return replace(self, experiment=shorten(self.experiment), remark=SHORT)
        return self


@dataclass(frozen=True)
class Axis:
    """A field of the experiment with the values that it takes, or choices: names for several fields at once.

    An axis of choices has no field, and its values are names. ``fixes`` are the fields that it decides, settings as settings.KEY.
    """

    field: str
    label: str
    values: tuple[Any, ...]
    fixes: frozenset[str]

    def name(self, value: Any) -> str:
        """Return a value beside the name of the field, for a column or a line; a choice is its own name."""
        return f"{self.label} = {value_text(value)}" if self.field else str(value)


DATA = "data"
SWEEP, PRINTED = "sweep", "printed"
QUICK_SWEEP = (
    f"Quick: one run of at most {QUICK_EPOCHS} epochs, on the first graph, at the first and the last value of x, to see that it "
    "works. These numbers compare with nothing."
)
SLOW_SWEEP = "left out of --quick, as every user answers every value; --all runs it"


@dataclass(frozen=True)
class Study:
    """Cells, and how they are laid out: along one to three axes (x, lines, panels), or as rows and columns of a printed table.

    Parameters
    ----------
    kind
        How results are shown: a name of `graphveil.experiments.study_result.KINDS`.
    spread
        What a document prints or draws around its means, one of `SPREADS`; empty where it has means alone.
    also
        What else of each run has a table of its own.
    quick, missing
        Whether it is run just to see that it works, and which graphs are left out of it, as `prepare` has found.
    """

    name: str
    title: str
    cells: tuple[Cell, ...]
    axes: tuple[Axis, ...] = ()
    kind: str = SWEEP
    note: str = ""
    spread: str = ""
    also: tuple[str, ...] = ()
    quick: bool = False
    missing: tuple[str, ...] = ()

    @property
    def measure(self) -> Measure:
        """The measure along the axes."""
        return self.cells[0].measure

    @property
    def graphs(self) -> list[str]:
        """The graphs of all cells, in their order."""
        return list(dict.fromkeys(cell.experiment.data for cell in self.cells))

    @property
    def lines(self) -> list[str]:
        """The names of the lines."""
        if len(self.axes) > 1:
            return [self.axes[1].name(value) for value in self.axes[1].values]
        methods = {cell.experiment.method for cell in self.cells}
        return [methods.pop() if len(methods) == 1 else SCORE]

    def each(self, change: Callable[[Cell], Cell]) -> Study:
        """Return the study with every cell changed."""
        return replace(self, cells=tuple(map(change, self.cells)))

    def choose(self, wanted: Callable[[Cell], bool]) -> Study:
        """Return the study with some cells alone; values of an axis that none of them has are dropped."""
        cells = [cell for cell in self.cells if wanted(cell)]
        used = [sorted({cell.place[place] for cell in cells}) for place in range(len(self.axes))]
        axes = (
            replace(axis, values=tuple(axis.values[place] for place in places))
            for axis, places in zip(self.axes, used, strict=True)
        )

        def moved(cell: Cell) -> Cell:
            now = (places.index(place) for places, place in zip(used, cell.place, strict=True))
            return replace(cell, place=tuple(now))

        return replace(self, axes=tuple(axes), cells=tuple(map(moved, cells)))

    def on(self, graphs: Sequence[str]) -> Study:
        """Return the cells on some graphs, where an axis has several; else the study on another graph. All where none is named."""
        if not graphs:
            return self
        if not any(DATA in axis.fixes for axis in self.axes):
            if len(graphs) > 1:
                raise InputError(f"{self.name} is of one graph: name one with --data, got {len(graphs)}")
            return self.with_fields({DATA: graphs[0]})
        for name in graphs:
            if name not in self.graphs:
                raise InputError(f"{self.name} has no graph {name!r}: choose from {', '.join(self.graphs)}")
        return self.choose(lambda cell: cell.experiment.data in graphs)

    def with_fields(self, given: Fields) -> Study:
        """Return the study with other fields in every experiment; a field that an axis decides cannot be fixed."""
        if not given:
            return self
        for name in sorted({name for axis in self.axes for name in axis.fixes} & field_names(given)):
            raise InputError(f"{self.name} sweeps {name}, so it cannot be fixed: leave it out")

        def changed(cell: Cell) -> Cell:
            fields = merged(cell.fields, given)
            return replace(cell, fields=fields, experiment=build_experiment(fields, self._where(cell)))

        return self.each(changed)

    def with_measure(self, name: str) -> Study:
        """Return the same with another measure; what a document draws around scores is then left out."""
        spread = self.spread if name == SCORE else ""
        return _set_measure(replace(self, spread=spread), name, self.name)

    def ends(self) -> Study:
        """Return the cells on the first graph, at the first and the last value of x."""
        there = self.choose(lambda cell: cell.experiment.data == self.graphs[0])
        last = len(there.axes[0].values) - 1
        return there.choose(lambda cell: cell.place[0] in (0, last))

    def prepare(self, *, everything: bool = False, quick: bool = False) -> Study:
        """Return what of it is run on this machine.

        Along axes, graphs that are not here are dropped, and the study is refused where none is; in a table their cells say so.
        ``everything`` takes all runs of slow cells, ``quick`` one short run of some cells.
        """
        self.check_runs()
        missing = {graph: why for graph in self.graphs if (why := missing_graph(graph))}
        study = replace(self, quick=quick)
        if self.axes:
            if len(missing) == len(self.graphs):
                raise InputError("; ".join(missing.values()))
            study = study.choose(lambda cell: cell.experiment.data not in missing)
            study = replace(study.ends() if quick else study, missing=tuple(missing.values()))
        return study.each(lambda cell: cell.prepare(missing.get(cell.experiment.data, ""), everything, quick))

    def check_runs(self) -> None:
        """Refuse, along axes, fewer runs than the measure needs."""
        for cell in self.cells if self.axes else ():
            runs, fewest = cell.experiment.runs, cell.measure.fewest
            if runs < fewest:
                raise InputError(
                    f"{self._where(cell)}: {cell.measure.name} needs {fewest} runs or more, got {runs}"
                )

    def _where(self, cell: Cell) -> str:
        return ", ".join((f"{self.name}{SUFFIX}", *cell.labels))

    @property
    def shortened(self) -> list[str]:
        """The mechanisms that take one short run."""
        return _mechanisms([cell for cell in self.cells if cell.remark])

    @property
    def slow(self) -> list[str]:
        """The mechanisms that are left out because they take very long."""
        return _mechanisms([cell for cell in self.cells if cell.left_out == SLOW])

    @property
    def remarks(self) -> list[str]:
        """Remarks on how it is run along its axes."""
        said = [QUICK_SWEEP] if self.quick else []
        said += [f"{', '.join(self.shortened)}: {SHORT}."] if self.shortened else []
        said += [f"{', '.join(self.slow)}: {SLOW_SWEEP}."] if self.slow else []
        return [*said, *(f"Left out: {why}." for why in self.missing)]


def _mechanisms(cells: Sequence[Cell]) -> list[str]:
    """Return what answers, and on which graph, each once."""
    named = (f"{cell.experiment.budgets.mechanism} on {cell.experiment.data}" for cell in cells)
    return list(dict.fromkeys(named))


FOLDER = "sweeps"
# Fields that say how much is computed, not what.
NO_AXES = (SETTINGS, OPTIONS, "runs", "seed", "control", "max_memory", "device", "allow_dense")


def find_sweep(name: str) -> Study:
    """Return a packaged sweep by its name, or one's own by the path of its file."""
    known = packaged(FOLDER)
    if name in known:
        return read_sweep(known[name])
    if not name.endswith(SUFFIX):
        raise InputError(
            f"no sweep is named {name!r}: choose one of {', '.join(known)}, or give a {SUFFIX} file"
        )
    return read_sweep(Path(name))


def read_sweep(file: Path) -> Study:
    """Read a sweep from its file; unknown fields, empty axes and wrong types are refused."""
    return sweep_of(read_toml(file, "name a TOML file with a sweep"), file.stem, file.name)


def sweep_of(content: Mapping[str, Any], name: str, where: str) -> Study:
    """Return the sweep that a file describes.

    A line whose choice sets the field of x to "none" is the same at each x.

    Parameters
    ----------
    content
        The parsed TOML file.
    where
        The name of the file in errors.
    """
    known_only(content, ("title", "base", "axes", "measure", "also", "spread"), where)
    base = experiment_fields(typed(content, "base", dict, where), f"{where}: base")
    tables = typed(content, "axes", list, where)
    if not 1 <= len(tables) <= 3:
        raise InputError(f"{where} needs one to three axes, got {len(tables)}: write each below [[axes]]")
    read = [_read_axis(table, where) for table in tables]
    _check_axes(read, where)
    also = typed(content, "also", list, where, [])
    if not all(isinstance(name, str) for name in also):
        raise InputError(f"{where}: also must be a list of names, like class_bias, got {also!r}")
    study = Study(
        name,
        typed(content, "title", str, where, name),
        _cells(base, read, where),
        tuple(axis for axis, _ in read),
        spread=read_spread(content, where),
        also=tuple(also),
    )
    return _set_measure(study, typed(content, "measure", str, where, SCORE), where)


def read_spread(table: Mapping[str, Any], where: str) -> str:
    """Read what a document prints or draws around its means."""
    spread: str = typed(table, "spread", str, where, "")
    if spread and spread not in SPREADS:
        raise InputError(f"{where}: spread must be one of {', '.join(SPREADS)}, got {spread!r}")
    return spread


# An axis, and for each of its values what that sets.
ReadAxis = tuple[Axis, list[LabelledEntry]]


def _cells(base: Fields, axes: Sequence[ReadAxis], where: str) -> tuple[Cell, ...]:
    """All experiments, checked, panel by panel and line by line."""
    cells = []
    for places in product(*(range(len(entries)) for _, entries in reversed(axes))):
        place = places[::-1]
        entries = [entries[at] for (_, entries), at in zip(axes, place, strict=True)]
        labels = tuple(entry.label for entry in entries)
        fields = merged(base, *(entry.fields for entry in entries))
        experiment = build_experiment(fields, ", ".join((where, *labels)))
        slow_on = tuple(graph for entry in entries for graph in entry.table.get("slow", ()))
        cells.append(Cell(experiment, labels, place, slow_on=slow_on, fields=fields))
    return tuple(cells)


def _set_measure(study: Study, name: str, where: str) -> Study:
    """Return the study with a measure, unless there is none of that name, or what else it has goes with scores or with learning alone."""
    with errors_in(f"{where}: measure"):
        measure = find_measure(name)
    if study.spread and name != SCORE:
        raise InputError(f"{where}: spread is drawn around scores, and its measure is {name}: leave one out")
    if study.also and measure.read is None:
        raise InputError(f"{where}: {name} learns nothing, so there is nothing else to show: leave also out")
    return study.each(lambda cell: replace(cell, measure=measure))


def _read_axis(table: Any, where: str) -> ReadAxis:
    if not isinstance(table, Mapping):
        raise InputError(f"{where}: axes must be tables: write each below [[axes]], with field and values")
    known_only(table, ("field", "values", "label", "choices"), f"{where}: an axis")
    field, label, entries = _read_choices(table, where) if "choices" in table else _read_values(table, where)
    values = tuple(table["values"]) if field else tuple(entry.label for entry in entries)
    fixes = frozenset(name for entry in entries for name in field_names(entry.fields))
    return Axis(field, label, values, fixes), entries


def _read_values(table: Mapping[str, Any], where: str) -> tuple[str, str, list[LabelledEntry]]:
    """A field with its values."""
    field = typed(table, "field", str, f"{where}: an axis")
    place = f"{where}: axis {field}"
    if field in NO_AXES:
        raise InputError(f"{place}: it cannot be swept; name another field, or a setting as {SETTINGS}.KEY")
    values = typed(table, "values", list, place)
    if not values:
        raise InputError(f"{place} has no values: list at least one")
    if any(value in values[:number] for number, value in enumerate(values)):
        raise InputError(f"{place} has a value twice: leave one out")
    # What a field is called where nothing else is said.
    short = {"epsilon": "ε", "gamma": "γ"}.get(field, field.removeprefix(f"{SETTINGS}.").strip("\"'"))
    label = typed(table, "label", str, place, short)
    named = Axis(field, label, (), frozenset())
    return (
        field,
        label,
        [LabelledEntry(named.name(each), one_field(field, each, place), {}) for each in values],
    )


def _read_choices(table: Mapping[str, Any], where: str) -> tuple[str, str, list[LabelledEntry]]:
    """Names, each for some fields of the experiment."""
    for key in ("field", "values"):
        if key in table:
            raise InputError(f"{where}: an axis has choices, or a field with values: leave {key} out")
    label = typed(table, "label", str, f"{where}: an axis of choices")
    place = f"{where}: axis {label}"
    entries = labelled_entries(table, "choices", place, ("slow",))
    names = [entry.label for entry in entries]
    for entry in entries:
        if names.count(entry.label) > 1:
            raise InputError(f"{place} has the choice {entry.label!r} twice: leave one out")
        if refused := [key for key in entry.fields if key in NO_AXES and key not in (SETTINGS, OPTIONS)]:
            raise InputError(f"{place}, {entry.label}: {refused[0]} cannot be swept: leave it out")
        typed(entry.table, "slow", list, f"{place}, {entry.label}", [])
    return "", label, entries


def _check_axes(axes: Sequence[ReadAxis], where: str) -> None:
    """Refuse two axes of one field. A line may say that it has no such field as x is: it is flat."""
    for (one, _), (other, entries) in combinations(axes, 2):
        flat: set[str] = set()
        if not other.field and (one, other) == (axes[0][0], axes[1][0]):
            decided = (
                {key: value for key, value in entry.fields.items() if value is not None} for entry in entries
            )
            flat = set(other.fixes) - {name for fields in decided for name in field_names(fields)}
        if shared := sorted((one.fixes & other.fixes) - flat):
            raise InputError(f"{where} has two axes of {shared[0]}: let one of them go")
