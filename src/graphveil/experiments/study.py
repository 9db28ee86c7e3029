"""A study: one experiment over the values of one to three of its fields, or over named choices of several fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
    build_experiment,
    experiment_fields,
    known_only,
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
# What `not_here` says, wherever it stands in a text.
SENTENCE = re.compile(
    rf"(?P<data>\S+) is {NOT_HERE}: `graphveil data get (?P=data)`, or put (?P=data)\.npz into the folder that "
    "GRAPHVEIL_DATA names"
)


def not_here(data: str) -> str:
    """What to do about a graph that is not on this machine; empty where it is."""
    if data in TOWNS or find(data) is not None or Path(data).is_file() or is_reference(data):
        return ""
    return f"{data} is {NOT_HERE}: `graphveil data get {data}`, or put {data}.npz into the folder that GRAPHVEIL_DATA names"


def sentences_of(text: str) -> list[str]:
    """What a text says to do about graphs that are not here, in its order."""
    return [found[0] for found in SENTENCE.finditer(text)]


def briefly(text: str) -> str:
    """A text that says which graphs are not here, but not what to do about it; of a single such sentence two words are left.

    >>> briefly("Left out: lastfm is not here: `graphveil data get lastfm`, or put lastfm.npz into the folder that "
    ... "GRAPHVEIL_DATA names.")
    'Left out: lastfm is not here.'
    """
    if SENTENCE.fullmatch(text):
        return NOT_HERE
    return SENTENCE.sub(lambda found: f"{found['data']} is {NOT_HERE}", text)


# Where users and features come to more than so many entries, and each of them is answered, a run takes many minutes.
MOST_ENTRIES = 20_000_000
SHORT_EPOCHS = 100
SHORT = f"one run of at most {SHORT_EPOCHS} epochs, as every user answers every value; --all takes all runs"
# Enough to see that it works, not to compare: epochs, and steps a user where a walk finds a dendrogram of links.
QUICK_EPOCHS, QUICK_STEPS = 5, 100
WALKS = ("edgerr", "privhrg")


def shortened(spec: Experiment) -> Experiment:
    """The same experiment in one run of few epochs."""
    return _cut(spec, 1, SHORT_EPOCHS)


def quickened(spec: Experiment, runs: int = 1) -> Experiment:
    """The same experiment, just to see that it works."""
    spec = _cut(spec, runs, QUICK_EPOCHS)
    if spec.budgets.link_mechanism not in WALKS or not spec.budgets.private_links:
        return spec
    return replace(spec, settings={**spec.settings, "link.sweeps": QUICK_STEPS})


def _cut(spec: Experiment, runs: int, most: int) -> Experiment:
    epochs = min(most, spec.resolved_settings.epochs)
    return replace(spec, runs=runs, settings={**spec.settings, "epochs": epochs})


FOLDER = "sweeps"
DATA = "data"
# Fields that say how much is computed, not what.
NO_AXES = (SETTINGS, OPTIONS, "runs", "seed", "control", "max_memory", "device", "allow_dense")


@dataclass(frozen=True)
class Axis:
    """A field of the experiment and the values that it takes, or choices: names for several fields at once.

    ``given`` are the fields that each value stands for. An axis of choices has no field, and its values are names. ``slow`` are the
    graphs on which each choice takes one run of few epochs.
    """

    field: str
    values: tuple[Any, ...]
    label: str
    given: tuple[Fields, ...]
    slow: tuple[tuple[str, ...], ...] = ()

    def name(self, value: Any) -> str:
        """A value beside the name of the field, for a column or a line; a choice says its own name."""
        return f"{self.label} = {value_text(value)}" if self.field else str(value)

    @property
    def fixes(self) -> set[str]:
        """The fields that it decides, settings as settings.KEY."""
        return {name for fields in self.given for name in _names(fields)}

    @property
    def leaves_out(self) -> set[str]:
        """The fields that some of its values say there are none of, and no value decides otherwise."""
        decided = {name for fields in self.given for name in _names(_kept(fields))}
        return self.fixes - decided

    def graphs(self) -> list[str]:
        """The graphs that its values stand for."""
        return list(dict.fromkeys(fields[DATA] for fields in self.given if DATA in fields))

    def on(self, graphs: Iterable[str]) -> Axis:
        """Only the values that stand for some graphs, or for none."""
        wanted = set(graphs)
        kept = [place for place, fields in enumerate(self.given) if fields.get(DATA) in (None, *wanted)]
        values, given = (tuple(each[place] for place in kept) for each in (self.values, self.given))
        return replace(
            self, values=values, given=given, slow=tuple(self.slow[place] for place in kept if self.slow)
        )

    def ends(self) -> Axis:
        """Only its first value and its last."""
        values, given = self.values[:: len(self.values) - 1 or 1], self.given[:: len(self.given) - 1 or 1]
        return replace(self, values=values, given=given, slow=self.slow[:: len(self.slow) - 1 or 1])

    def is_slow(self, place: int, data: str) -> bool:
        """Whether one of its values takes too long on a graph."""
        return bool(self.slow) and data in self.slow[place]


@dataclass(frozen=True)
class Cell:
    """One experiment of a sweep: where it stands on each axis (a line of 0 where there is one axis only)."""

    x: int
    line: int
    spec: Experiment
    panel: int = 0
    slow: bool = False

    def shortened(self) -> Cell:
        """One run of few epochs where it is slow; else the cell as it is."""
        return replace(self, spec=shortened(self.spec)) if self.slow else self

    def quick(self, runs: int = 1) -> Cell:
        """As few runs as a measure needs, of a few epochs."""
        return replace(self, spec=quickened(self.spec, runs))


@dataclass(frozen=True)
class Sweep:
    """A base experiment and its axes: the first is x, the second, if there is one, gives lines, and the third panels.

    A line whose choice sets the field of x to "none" is the same at each x. ``measured`` names the measure that is its value; ``also`` names what is measured besides the score, and shown
    in a table of its own; ``spread`` what the document draws around its means, one of `SPREADS`.
    """

    name: str
    title: str
    base: Fields
    axes: tuple[Axis, ...]
    also: tuple[str, ...] = ()
    spread: str = ""
    measured: str = SCORE

    @property
    def measure(self) -> Measure:
        """What its values are."""
        return find_measure(self.measured)

    def measuring(self, name: str) -> Sweep:
        """The same with another measure for its value; what a document draws around scores is then left out."""
        other = replace(self, measured=name, spread=self.spread if name == SCORE else "")
        _check_measure(other, self.name)
        return other

    @property
    def graphs(self) -> list[str]:
        """The graphs of an axis that has some; none where all cells have the same."""
        return next((graphs for axis in self.axes if (graphs := axis.graphs())), [])

    @property
    def all_graphs(self) -> list[str]:
        """The graphs of all cells."""
        return self.graphs or list(dict.fromkeys(cell.spec.data for cell in self.cells()))

    def on(self, graphs: Sequence[str]) -> Sweep:
        """Only the cells on some graphs, where an axis has several; else the sweep on another graph."""
        known = self.graphs
        if not known:
            if len(graphs) > 1:
                raise InputError(f"{self.name} is of one graph: name one with --data, got {len(graphs)}")
            return self.over({DATA: graphs[0]}) if graphs else self
        for name in graphs:
            if name not in known:
                raise InputError(f"{self.name} has no graph {name!r}: choose from {', '.join(known)}")
        return replace(self, axes=tuple(axis.on(graphs) if axis.graphs() else axis for axis in self.axes))

    def quick(self) -> Sweep:
        """Only its first graph, and the first and the last value of x."""
        there = self.on(self.graphs[:1])
        return replace(there, axes=(there.axes[0].ends(), *there.axes[1:]))

    @property
    def lines(self) -> list[str]:
        """The names of the lines."""
        if len(self.axes) == 1:
            return [str(self.base.get("method", "score"))]
        return [self.axes[1].name(value) for value in self.axes[1].values]

    @property
    def panels(self) -> list[Sweep]:
        """A sweep of two axes for each value of the third; itself where there is none."""
        if len(self.axes) < 3:
            return [self]
        third = self.axes[2]
        return [
            replace(
                self,
                base=merged(self.base, given),
                axes=self.axes[:2],
                title=f"{self.title}; {third.name(value)}",
            )
            for value, given in zip(third.values, third.given, strict=True)
        ]

    def cells(self) -> list[Cell]:
        """All experiments, checked, panel by panel and line by line."""
        if len(self.axes) == 3:
            return [
                replace(cell, panel=number)
                for number, panel in enumerate(self.panels)
                for cell in panel.cells()
            ]
        x, *more = self.axes
        cells = []
        for line, place in product(range(len(more[0].values) if more else 1), range(len(x.values))):
            given, where = merged(self.base, x.given[place]), x.name(x.values[place])
            for axis in more:
                given = merged(given, axis.given[line])
                where += f", {axis.name(axis.values[line])}"
            where = f"{self.name}{SUFFIX}, {where}"
            spec = build_experiment(given, where)
            if spec.runs < (fewest := self.measure.fewest):
                raise InputError(f"{where}: {self.measured} needs at least {fewest} runs, got {spec.runs}")
            slow = x.is_slow(place, spec.data) or any(axis.is_slow(line, spec.data) for axis in more)
            cells.append(Cell(place, line, spec, slow=slow))
        return cells

    def over(self, given: Fields) -> Sweep:
        """The sweep with other fields in its base; a field that is swept cannot be fixed."""
        swept = {name for axis in self.axes for name in axis.fixes}
        for field in sorted(swept & _names(given)):
            raise InputError(f"{self.name} sweeps {field}, so it cannot be fixed: leave it out")
        return replace(self, base=merged(self.base, given))


def find_sweep(name: str) -> Sweep:
    """A packaged sweep by its name, or one's own by the path of its file."""
    known = packaged(FOLDER)
    if name in known:
        return read_sweep(known[name])
    if not name.endswith(SUFFIX):
        raise InputError(
            f"no sweep is named {name!r}: choose one of {', '.join(known)}, or give a {SUFFIX} file"
        )
    return read_sweep(Path(name))


def read_sweep(file: Path) -> Sweep:
    """A sweep from its file; unknown fields, empty axes and wrong types are refused."""
    return sweep_of(read_toml(file, "name a TOML file with a sweep"), file.stem, file.name)


def sweep_of(content: Mapping[str, Any], name: str, where: str) -> Sweep:
    """A sweep from what its file says; ``where`` that stands, for errors."""
    known_only(content, ("title", "base", "axes", "measure", "also", "spread"), where)
    base = experiment_fields(typed(content, "base", dict, where), f"{where}: base")
    axes = typed(content, "axes", list, where)
    if not 1 <= len(axes) <= 3:
        raise InputError(f"{where} needs one to three axes, got {len(axes)}: write each below [[axes]]")
    read = tuple(_axis(axis, where) for axis in axes)
    for one, other in combinations(read, 2):
        # A line may say that it has no such field as x is: it is flat.
        flat = other.leaves_out if not other.field and (one, other) == read[:2] else set()
        if shared := sorted((one.fixes & other.fixes) - flat):
            raise InputError(f"{where} has two axes of {shared[0]}: let one of them go")
    also = typed(content, "also", list, where, [])
    if not all(isinstance(name, str) for name in also):
        raise InputError(f"{where}: also must be a list of names, like class_bias, got {also!r}")
    spread = typed(content, "spread", str, where, "")
    if spread and spread not in SPREADS:
        raise InputError(f"{where}: spread must be one of {', '.join(SPREADS)}, got {spread!r}")
    title = typed(content, "title", str, where, name)
    measured = typed(content, "measure", str, where, SCORE)
    sweep = Sweep(name, title, base, read, tuple(also), spread, measured)
    _check_measure(sweep, where)
    sweep.cells()
    return sweep


def _check_measure(sweep: Sweep, where: str) -> None:
    """Refuse a measure that there is not, and what goes with scores or with learning alone."""
    try:
        measure = sweep.measure
    except InputError as error:
        raise type(error)(f"{where}: measure: {error}") from None
    if sweep.spread and sweep.measured != SCORE:
        raise InputError(
            f"{where}: spread is drawn around scores, and its measure is {sweep.measured}: leave one out"
        )
    if sweep.also and measure.read is None:
        raise InputError(
            f"{where}: {sweep.measured} learns nothing, so there is nothing else to show: leave also out"
        )


def _axis(table: Any, where: str) -> Axis:
    if not isinstance(table, Mapping):
        raise InputError(f"{where}: axes must be tables: write each below [[axes]], with field and values")
    known_only(table, ("field", "values", "label", "choices"), f"{where}: an axis")
    if "choices" in table:
        return _choices(table, where)
    field = typed(table, "field", str, f"{where}: an axis")
    place = f"{where}: axis {field}"
    if field in NO_AXES:
        raise InputError(f"{place}: it cannot be swept; name another field, or a setting as {SETTINGS}.KEY")
    values = typed(table, "values", list, place)
    if not values:
        raise InputError(f"{place} has no values: list at least one")
    if any(value in values[:number] for number, value in enumerate(values)):
        raise InputError(f"{place} has a value twice: leave one out")
    given = tuple(one_field(field, value, place) for value in values)
    return Axis(field, tuple(values), typed(table, "label", str, place, _short(field)), given)


def _choices(table: Mapping[str, Any], where: str) -> Axis:
    """An axis whose values are names, each for some fields of the experiment."""
    for key in ("field", "values"):
        if key in table:
            raise InputError(f"{where}: an axis has choices, or a field with values: leave {key} out")
    label = typed(table, "label", str, f"{where}: an axis of choices")
    names: list[str] = []
    given: list[Fields] = []
    slow: list[tuple[str, ...]] = []
    for choice in typed(table, "choices", list, f"{where}: axis {label}"):
        place = f"{where}: axis {label}"
        if not isinstance(choice, Mapping):
            raise InputError(f"{place}: choices must be tables with label and set, got {choice!r}")
        known_only(choice, ("label", "set", "slow"), place)
        names.append(typed(choice, "label", str, place))
        given.append(experiment_fields(typed(choice, "set", dict, place), f"{place}, {names[-1]}"))
        if names[-1] in names[:-1]:
            raise InputError(f"{place} has the choice {names[-1]!r} twice: leave one out")
        if refused := [key for key in given[-1] if key in NO_AXES and key not in (SETTINGS, OPTIONS)]:
            raise InputError(f"{place}, {names[-1]}: {refused[0]} cannot be swept: leave it out")
        slow.append(tuple(typed(choice, "slow", list, f"{place}, {names[-1]}", [])))
    if not names:
        raise InputError(f"{where}: axis {label} has no choices: list at least one")
    return Axis("", tuple(names), label, tuple(given), tuple(slow))


def _names(fields: Fields) -> set[str]:
    """The names of some fields, settings as settings.KEY."""
    return {key for key in fields if key != SETTINGS} | {
        f"{SETTINGS}.{key}" for key in fields.get(SETTINGS, {})
    }


def _kept(fields: Fields) -> Fields:
    """Fields without those that are none."""
    return {key: value for key, value in fields.items() if value is not None}


def _short(field: str) -> str:
    """What a field is called where nothing else is said."""
    return {"epsilon": "ε", "gamma": "γ"}.get(field, field.removeprefix(f"{SETTINGS}.").strip("\"'"))


QUICK = (
    f"Quick: one run of at most {QUICK_EPOCHS} epochs, on the first graph, at the first and the last value of x, to see that it "
    "works. These numbers compare with nothing."
)
SLOW = "left out of --quick, as every user answers every value; --all runs it"


@dataclass(frozen=True)
class ReadySweep:
    """The sweep with what is run of it.

    ``missing`` says what to do about graphs that are not here, ``shortened`` names what takes one short run, ``slow`` what is
    left out of a quick one.
    """

    sweep: Sweep
    cells: tuple[Cell, ...]
    missing: tuple[str, ...] = ()
    shortened: tuple[str, ...] = ()
    slow: tuple[str, ...] = ()
    quick: bool = False

    def remarks(self) -> list[str]:
        """What is to be said of how it is run."""
        said = [QUICK] if self.quick else []
        said += [f"{', '.join(self.shortened)}: {SHORT}."] if self.shortened else []
        said += [f"{', '.join(self.slow)}: {SLOW}."] if self.slow else []
        return [*said, *(f"Left out: {why}." for why in self.missing)]

    def to_dict(self) -> dict[str, Any]:
        """How it is run, in the form that `--json` prints."""
        return {
            "quick": self.quick,
            "left_out": list(self.missing),
            "shortened": list(self.shortened),
            "slow": list(self.slow),
        }


def ready(sweep: Sweep, *, everything: bool = False, quick: bool = False) -> ReadySweep:
    """A sweep on those of its graphs that are here; refused where none is.

    ``everything`` takes all runs of slow cells, ``quick`` one short run of some cells.
    """
    graphs = sweep.all_graphs
    missing = {graph: why for graph in graphs if (why := not_here(graph))}
    if len(missing) == len(graphs):
        raise InputError("; ".join(missing.values()))
    if missing:
        sweep = sweep.on([graph for graph in graphs if graph not in missing])
    if quick:
        sweep = sweep.quick()
        cells = sweep.cells()
        fewest = sweep.measure.fewest
        kept = tuple(cell.quick(fewest) for cell in cells if everything or not cell.slow)
        slow = () if everything else _named(cells)
        return ReadySweep(sweep, kept, tuple(missing.values()), slow=slow, quick=True)
    cells = sweep.cells()
    if everything:
        return ReadySweep(sweep, tuple(cells), tuple(missing.values()))
    return ReadySweep(
        sweep, tuple(cell.shortened() for cell in cells), tuple(missing.values()), _named(cells)
    )


def _named(cells: Sequence[Cell]) -> tuple[str, ...]:
    """The cells that are slow, by what answers every value and on which graph."""
    named: Iterable[str] = (
        f"{cell.spec.budgets.mechanism} on {cell.spec.data}" for cell in cells if cell.slow
    )
    return tuple(dict.fromkeys(named))
