"""Experiments and settings in TOML files: the fields of an experiment, each of the right type, and packaged files by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment
from graphveil.files import read_json, read_toml
from graphveil.methods.terms import RECORDS

# The two tables of a file: how the settings were found, and the settings.
HEADER, SETTINGS = "tuned", "settings"
NONE = "none"  # TOML knows no null; `--set` writes it so too


def read_settings(file: Path, method: str) -> dict[str, Any]:
    """Return the settings of a TOML or JSON file: its table ``settings``, or all of it without that table.

    A file that was tuned for another method is refused. Whether the settings exist is for the method to say.
    """
    read = read_json if file.suffix == ".json" else read_toml
    content = read(file, "name a TOML or JSON file of settings")
    if not isinstance(content, dict):
        raise InputError(f'{file} must hold an object of settings, like {{"lr": 0.01}}')
    if SETTINGS not in content:
        return flat(content)
    header, settings = content.get(HEADER, {}), content[SETTINGS]
    if not isinstance(header, dict) or not isinstance(settings, dict):
        raise InputError(f"{file}: {HEADER} and {SETTINGS} must be tables, like [{SETTINGS}] lr = 0.01")
    unknown = sorted(set(content) - {HEADER, SETTINGS})
    if unknown:
        raise InputError(f"{file} has {unknown[0]!r} beside [{SETTINGS}]: put it into [{SETTINGS}]")
    if header.get("method", method) != method:
        raise InputError(f"{file} was tuned for {header['method']}, not for {method}: tune {method}")
    return flat(settings)


def flat(table: dict[str, Any], above: str = "") -> dict[str, Any]:
    """Return a table with nested tables as dotted keys, as in `--set data.users=200`."""
    keys: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            keys |= flat(value, f"{above}{key}.")
        else:
            keys[above + key] = None if value == NONE else value
    return keys


SUFFIX = ".toml"
OPTIONS = "data_options"
# Some fields of an experiment.
Fields = dict[str, Any]


def packaged(room: str) -> dict[str, Path]:
    """Return the packaged files of one folder of the catalogue, by name."""
    return {
        file.stem: file for file in sorted((Path(__file__).parent / "catalogue" / room).glob("*" + SUFFIX))
    }


def known_only(table: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    """Raise an error if a table has an unknown key.

    Parameters
    ----------
    table
        The table.
    known
        The keys that it may have.
    where
        The name of the table in errors.
    """
    names = tuple(known)
    for key in table:
        if key not in names:
            raise InputError(f"{where} has no {key!r}: it takes {', '.join(names)}")


def typed(table: Mapping[str, Any], key: str, kind: type, where: str, default: Any = None) -> Any:
    """Return the value of a key, which must be of type ``kind``.

    Parameters
    ----------
    where
        The name of the table in errors.
    default
        The value of a missing key; without it the key is required.
    """
    value = table.get(key, default)
    if value is None:
        raise InputError(f"{where} needs {key}, {_KINDS[kind]}")
    if not isinstance(value, kind):
        raise InputError(f"{where}: {key} must be {_KINDS[kind]}, got {value!r}")
    return value


_KINDS: dict[type, str] = {str: "a text", list: "a list", dict: "a table"}


def experiment_fields(table: Mapping[str, Any], where: str) -> Fields:
    """Return the experiment fields of a table; tables inside ``settings`` become dotted keys."""
    hints = _hints()
    known_only(table, hints, where)
    found: Fields = {}
    for key, value in table.items():
        if key in (SETTINGS, OPTIONS):
            inside = typed(table, key, dict, where)
            found[key] = flat(inside) if key == SETTINGS else inside
            continue
        value = tuple(value) if isinstance(value, list) else None if value == NONE else value
        try:
            found[key] = hints[key].validate_python(value, strict=True)
        except ValidationError as error:
            raise InputError(f"{where}: {key}: {first_problem(error)}, got {table[key]!r}") from None
    return found


def first_problem(error: ValidationError) -> str:
    """Return the first mistake that pydantic found, behind the field that it is in, without the value."""
    first = error.errors(include_url=False, include_input=False)[0]
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))


def one_field(field: str, value: Any, where: str) -> Fields:
    """Return the fields of an experiment with one field, or one setting as ``settings.KEY``, set.

    Parameters
    ----------
    field
        The name of the field.
    value
        Its value, as TOML has it.
    where
        The name of the table in errors.
    """
    name, dot, key = field.partition(".")
    key = key.strip("\"'")
    if name == SETTINGS and dot and key:
        return experiment_fields({SETTINGS: {key: value}}, where)
    return experiment_fields({field: value}, where)


@dataclass(frozen=True)
class LabelledEntry:
    """A row, a column or a choice of a file: its label, the fields of the experiment that it sets, and all that stands there."""

    label: str
    fields: Fields
    table: Mapping[str, Any]


def labelled_entries(
    table: Mapping[str, Any], key: str, where: str, more: tuple[str, ...] = (), default: Fields | None = None
) -> list[LabelledEntry]:
    """Read a list of tables that have a label and set fields.

    Parameters
    ----------
    key
        The key of the list in ``table``.
    where
        The name of the table in errors.
    more
        Other keys that entries may have.
    default
        The fields of an entry without ``set``; without it ``set`` is required.
    """
    entries: list[LabelledEntry] = []
    for entry in typed(table, key, list, where):
        if not isinstance(entry, Mapping):
            raise InputError(f"{where}: {key} must be tables with label and set, got {entry!r}")
        known_only(entry, ("label", "set", *more), f"{where}: {key}")
        label = typed(entry, "label", str, f"{where}: {key}")
        place = f"{where}, {label}"
        given = experiment_fields(typed(entry, "set", dict, place, default), place)
        entries.append(LabelledEntry(label, given, entry))
    if not entries:
        raise InputError(f"{where} has no {key}: list at least one")
    return entries


def field_names(given: Fields) -> set[str]:
    """Return the names of some fields, settings as settings.KEY."""
    own = {key for key in given if key != SETTINGS}
    return own | {f"{SETTINGS}.{key}" for key in given.get(SETTINGS, {})}


def merged(*parts: Fields) -> Fields:
    """Merge fields, later ones winning; settings are merged one by one."""
    whole: Fields = {}
    for part in parts:
        inside = {key: {**whole.get(key, {}), **part[key]} for key in (SETTINGS, OPTIONS) if key in part}
        whole = {**whole, **part, **inside}
    return whole


def build_experiment(given: Fields, where: str) -> Experiment:
    """Return the experiment of the fields, checked."""
    for name in ("method", "data"):
        if name not in given:
            raise InputError(f"{where} needs {name}: name one in its base")
    with errors_in(where):
        spec = Experiment.of(**given)
        spec.check()
    return spec


@contextmanager
def errors_in(where: str) -> Iterator[None]:
    """Say where the mistake is that an error within is about."""
    try:
        yield
    except InputError as error:
        raise type(error)(f"{where}: {error}") from None


@cache
def _hints() -> dict[str, TypeAdapter[Any]]:
    """Return how each option is validated, by name: those of an experiment, and of its records."""
    adapters: dict[str, TypeAdapter[Any]] = {}
    for holder in (Experiment, *RECORDS.values()):
        hints = get_type_hints(holder)
        own = [each.name for each in fields(holder) if holder is not Experiment or each.name not in RECORDS]
        adapters |= {name: TypeAdapter(hints[name]) for name in own}
    return adapters
