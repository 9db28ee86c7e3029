"""Files of settings, as `--settings` reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graphveil.errors import InputError
from graphveil.files import read_json, read_toml

# The two tables of a file: how the settings were found, and the settings.
HEADER, SETTINGS = "tuned", "settings"
NONE = "none"  # TOML knows no null; `--set` writes it so too


def read_settings(file: Path, method: str) -> dict[str, Any]:
    """The settings of a TOML or JSON file: its table ``settings``, or all of it if it has none.

    A file that was tuned for another method is refused. Whether the settings exist is for the method to say.
    """
    content = _parsed(file)
    if SETTINGS not in content:
        return flat(content)
    header, settings = content.get(HEADER, {}), content[SETTINGS]
    if not isinstance(header, dict) or not isinstance(settings, dict):
        raise InputError(
            f"{file}: {HEADER} and {SETTINGS} must be tables: for example [{SETTINGS}], then lr = 0.01"
        )
    unknown = sorted(set(content) - {HEADER, SETTINGS})
    if unknown:
        raise InputError(
            f"{file} has {unknown[0]!r} beside [{SETTINGS}]: put it into [{SETTINGS}], or leave it out"
        )
    if header.get("method", method) != method:
        raise InputError(
            f"{file} was tuned for {header['method']}, not for {method}: tune {method}, or run {header['method']} with it"
        )
    return flat(settings)


def _parsed(file: Path) -> dict[str, Any]:
    read = read_json if file.suffix == ".json" else read_toml
    content = read(file, "name a TOML or JSON file of settings")
    if not isinstance(content, dict):
        raise InputError(f'{file} must hold an object of settings, like {{"lr": 0.01}}')
    return content


def flat(table: dict[str, Any], above: str = "") -> dict[str, Any]:
    """Tables inside become dotted keys, as in `--set data.users=200`."""
    keys: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            keys |= flat(value, f"{above}{key}.")
        else:
            keys[above + key] = None if value == NONE else value
    return keys
