"""The best settings as a file, which `tune` writes and `--settings` reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from graphveil.experiments.runs.export import write_whole
from graphveil.experiments.specs.settings_file import HEADER, NONE, SETTINGS
from graphveil.experiments.tuning.tuner import Tuned


def write_settings(tuned: Tuned, file: Path) -> None:
    """The best settings as TOML, below how they were found."""
    fields = tuned.to_dict()
    kept = ("method", "data", "epsilon", "mechanism", "backbone", *tuned.spec.chosen, "seed", "runs")
    header = {key: fields[key] for key in dict.fromkeys(kept) if fields[key] is not None}
    header |= {"trials": len(tuned.trials), "metric": fields["metric"], "validation": tuned.best.score}
    if tuned.defaults is not None:
        header["validation_of_defaults"] = tuned.defaults.score
    header["version"] = fields["version"]
    tables = {HEADER: header, SETTINGS: tuned.settings}
    write_whole(file, "\n".join(_table(name, rows) for name, rows in tables.items()).encode())


def _table(name: str, rows: dict[str, Any]) -> str:
    return "".join([f"[{name}]\n", *(f"{_key(key)} = {_value(value)}\n" for key, value in rows.items())])


def _key(key: str) -> str:
    # A dot would open a table.
    return json.dumps(key) if "." in key else key


def _value(value: Any) -> str:
    """A number, true, false or a text as TOML writes it.

    >>> [_value(value) for value in (1, 1e-05, True, None, "selu")]
    ['1', '1e-05', 'true', '"none"', '"selu"']
    """
    if value is None:
        value = NONE
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False)
