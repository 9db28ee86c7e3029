"""What is written behind options, read as values."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from graphveil.checks import short
from graphveil.errors import InputError
from graphveil.experiments.specs.settings_file import NONE, read_settings


def all_settings(method: str, file: Path | None, pairs: list[str]) -> dict[str, Any]:
    """The settings of a file, if one is given, and over them those of --set."""
    return {**({} if file is None else read_settings(file, method)), **parse_settings(pairs)}


def parse_settings(pairs: list[str]) -> dict[str, Any]:
    """KEY=VALUE pairs, values as numbers, true, false, none, lists or text.

    >>> parse_settings(["epochs=20", "lr=0.1", "activation=relu", "mechanism.shares=[0.5, 0.5]"])
    {'epochs': 20, 'lr': 0.1, 'activation': 'relu', 'mechanism.shares': [0.5, 0.5]}
    """
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise InputError(f"--set takes KEY=VALUE, got {pair!r}: for example --set epochs=20")
        key, text = key.strip(), text.strip()
        settings[key] = parse_list(key, text) if text.startswith("[") else parse_value(text)
    return settings


def parse_list(key: str, text: str) -> list[Any]:
    """A list, as TOML or JSON has it; single words need no quotes.

    >>> parse_list("sizes", "[16, 8]"), parse_list("names", "[sage, 'g c n']"), parse_list("pairs", "[[0, 1], []]")
    ([16, 8], ['sage', 'g c n'], [[0, 1], []])
    """
    # Bare words get quotes; numbers, and what has quotes, stay as they are.
    quoted = re.sub(QUOTED_OR_BARE, lambda found: found[1] or _written(found[2]), text)
    try:
        (value,) = tomllib.loads(f"value = {quoted}").values()
        return _without_none(value)
    except (ValueError, TypeError, RecursionError):
        raise InputError(
            f"--set {key} takes a list in brackets with commas between its values, got {short(text)}: for example --set "
            f"'{key}=[0.5,0.5]'"
        ) from None


# A text in quotes, or a word without.
QUOTED_OR_BARE = re.compile(r"""("[^"]*"|'[^']*')|([^\s,\[\]"'=#]+)""")


def _written(word: str) -> str:
    """A bare word as TOML has it."""
    value = parse_value(word)
    return json.dumps(NONE if value is None else value)


def _without_none(values: list[Any]) -> list[Any]:
    return [
        _without_none(value) if isinstance(value, list) else None if value == NONE else value
        for value in values
    ]


def parse_value(text: str) -> Any:
    """A number, true, false, none, or the text itself."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def parse_numbers(option: str, text: str | None) -> tuple[float, ...] | None:
    """E1,E2,… behind an option as numbers.

    >>> parse_numbers("budgets", "0.5,1,2")
    (0.5, 1.0, 2.0)
    """
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"--{option} takes numbers with commas between them, got {text!r}: for example --{option} 1,2,4"
        ) from None


def parse_range(text: str) -> tuple[float, float]:
    """LOW,HIGH as two numbers."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"--range takes LOW,HIGH, two numbers, got {text!r}: for example --range 0,1"
        ) from None
    return low, high


def range_option(text: str | None) -> dict[str, Any]:
    """What the loader is told of --range: nothing, where it is not given.

    >>> range_option("0,1")
    {'range': (0.0, 1.0)}
    """
    return {} if text is None else {"range": parse_range(text)}
