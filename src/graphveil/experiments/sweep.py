"""A sweep: one experiment over the values of one or two of its fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from graphveil.errors import InputError
from graphveil.experiments.settings_file import NONE
from graphveil.experiments.spec import Spec
from graphveil.experiments.spec_file import (
    OPTIONS,
    SETTINGS,
    SUFFIX,
    Fields,
    build_spec,
    known_only,
    merged,
    one_field,
    packaged,
    read_toml,
    spec_fields,
    typed,
)

FOLDER = "sweeps"
# Fields that say how much is computed, not what.
NO_AXES = (SETTINGS, OPTIONS, "runs", "seed", "control", "max_memory", "device")


@dataclass(frozen=True)
class Axis:
    """A field of the experiment and the values that it takes."""

    field: str
    values: tuple[Any, ...]
    label: str

    def name(self, value: Any) -> str:
        """A value beside the name of the field, for a column or a line."""
        return f"{self.label} = {text(value)}"


@dataclass(frozen=True)
class Cell:
    """One experiment of a sweep: where it stands on each axis (a line of 0 where there is one axis only)."""

    x: int
    line: int
    spec: Spec


@dataclass(frozen=True)
class Sweep:
    """A base experiment and its axes: the first is x, the second, if there is one, gives lines."""

    name: str
    title: str
    base: Fields
    axes: tuple[Axis, ...]

    @property
    def lines(self) -> list[str]:
        """The names of the lines."""
        if len(self.axes) == 1:
            return [str(self.base.get("method", "score"))]
        return [self.axes[1].name(value) for value in self.axes[1].values]

    def cells(self) -> list[Cell]:
        """All experiments, checked, line by line."""
        x, *more = self.axes
        second: list[tuple[int, Any]] = list(enumerate(more[0].values)) if more else [(0, None)]
        cells = []
        for (line, other), (place, value) in product(second, enumerate(x.values)):
            given, where = merged(self.base, one_field(x.field, value, self.name)), x.name(value)
            if more:
                given = merged(given, one_field(more[0].field, other, self.name))
                where += f", {more[0].name(other)}"
            cells.append(Cell(place, line, build_spec(given, f"{self.name}, {where}")))
        return cells

    def over(self, given: Fields) -> Sweep:
        """The sweep with other fields in its base; a field that is swept cannot be fixed."""
        swept = {axis.field.replace('"', "") for axis in self.axes}
        fixed = {key for key in given if key != SETTINGS} | {
            f"{SETTINGS}.{key}" for key in given.get(SETTINGS, {})
        }
        for field in sorted(swept & fixed):
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
    content, where = read_toml(file, "a TOML file with a sweep"), file.name
    known_only(content, ("title", "base", "axes"), where)
    base = spec_fields(typed(content, "base", dict, where), f"{where}: base")
    axes = typed(content, "axes", list, where)
    if not 1 <= len(axes) <= 2:
        raise InputError(f"{where} needs one or two axes, got {len(axes)}: write each below [[axes]]")
    read = tuple(_axis(axis, where) for axis in axes)
    if len({axis.field for axis in read}) < len(read):
        raise InputError(f"{where} has two axes of {read[0].field}: let one of them go")
    sweep = Sweep(file.stem, typed(content, "title", str, where, file.stem), base, read)
    sweep.cells()
    return sweep


def _axis(table: Any, where: str) -> Axis:
    if not isinstance(table, Mapping):
        raise InputError(f"{where}: axes must be tables: write each below [[axes]], with field and values")
    known_only(table, ("field", "values", "label"), f"{where}: an axis")
    field = typed(table, "field", str, f"{where}: an axis")
    place = f"{where}: axis {field}"
    if field in NO_AXES:
        raise InputError(f"{place}: it cannot be swept; name another field, or a setting as {SETTINGS}.KEY")
    values = typed(table, "values", list, place)
    if not values:
        raise InputError(f"{place} has no values: list at least one")
    if any(value in values[:number] for number, value in enumerate(values)):
        raise InputError(f"{place} has a value twice: leave one out")
    for value in values:
        one_field(field, value, place)
    return Axis(field, tuple(values), typed(table, "label", str, place, _short(field)))


def _short(field: str) -> str:
    """What a field is called where nothing else is said."""
    return {"epsilon": "ε", "gamma": "γ"}.get(field, field.removeprefix(f"{SETTINGS}.").strip("\"'"))


def text(value: Any) -> str:
    """A value in few characters.

    >>> [text(value) for value in (0.01, 1.0, 4, True, "sage", [1, 2.5])]
    ['0.01', '1', '4', 'true', 'sage', '1, 2.5']
    """
    if isinstance(value, bool) or value is None:
        return NONE if value is None else str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(text(part) for part in value) if isinstance(value, (list, tuple)) else str(value)
