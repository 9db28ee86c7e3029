"""Experiments in TOML files: the fields of `Spec`, each of the right type, and packaged files by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from graphveil.errors import InputError
from graphveil.experiments.specs.settings_file import NONE, flat
from graphveil.experiments.specs.spec import Spec
from graphveil.methods.terms import RECORDS

SUFFIX = ".toml"
SETTINGS, OPTIONS = "settings", "data_options"
# Some fields of a Spec.
Fields = dict[str, Any]


def packaged(room: str) -> dict[str, Path]:
    """The files of one room of experiments that come with graphveil, by name."""
    return {file.stem: file for file in sorted((Path(__file__).parents[1] / room).glob("*" + SUFFIX))}


def known_only(table: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    """Refuse a key that has no meaning."""
    names = tuple(known)
    for key in table:
        if key not in names:
            raise InputError(f"{where} has no {key!r}: it takes {', '.join(names)}")


def typed(table: Mapping[str, Any], key: str, kind: type, where: str, default: Any = None) -> Any:
    """A value of a table that must be of one kind; without a default it must be there."""
    value = table.get(key, default)
    if value is None:
        raise InputError(f"{where} needs {key}, {_KINDS[kind]}")
    if not isinstance(value, kind):
        raise InputError(f"{where}: {key} must be {_KINDS[kind]}, got {value!r}")
    return value


_KINDS: dict[type, str] = {str: "a text", list: "a list", dict: "a table"}


def spec_fields(table: Mapping[str, Any], where: str) -> Fields:
    """The fields of a Spec in a table; tables inside ``settings`` become dotted keys."""
    hints = _hints()
    known_only(table, hints, where)
    fields: Fields = {}
    for key, value in table.items():
        if key in (SETTINGS, OPTIONS):
            inside = typed(table, key, dict, where)
            fields[key] = flat(inside) if key == SETTINGS else inside
            continue
        value = tuple(value) if isinstance(value, list) else None if value == NONE else value
        try:
            fields[key] = hints[key].validate_python(value, strict=True)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]["msg"]
            raise InputError(f"{where}: {key}: {problem}, got {table[key]!r}") from None
    return fields


def one_field(field: str, value: Any, where: str) -> Fields:
    """One field of a Spec by its name, or one setting as ``settings.KEY``."""
    name, dot, key = field.partition(".")
    key = key.strip("\"'")
    if name == SETTINGS and dot and key:
        return spec_fields({SETTINGS: {key: value}}, where)
    return spec_fields({field: value}, where)


def merged(*parts: Fields) -> Fields:
    """Fields over fields, the later ones winning; settings are merged one by one."""
    whole: Fields = {}
    for part in parts:
        inside = {key: {**whole.get(key, {}), **part[key]} for key in (SETTINGS, OPTIONS) if key in part}
        whole = {**whole, **part, **inside}
    return whole


def build_spec(given: Fields, where: str) -> Spec:
    """The experiment, checked."""
    for name in ("method", "data"):
        if name not in given:
            raise InputError(f"{where} needs {name}: name one in its base")
    try:
        spec = Spec.of(**given)
        spec.check()
    except InputError as error:
        raise type(error)(f"{where}: {error}") from None
    return spec


@cache
def _hints() -> dict[str, TypeAdapter[Any]]:
    own = {name: hint for name, hint in get_type_hints(Spec).items() if name not in RECORDS}
    options = {name: hint for record in RECORDS.values() for name, hint in get_type_hints(record).items()}
    return {name: TypeAdapter(hint) for name, hint in {**own, **options}.items()}
