"""Kept results as a table in a file: .csv, .parquet or .json, by its suffix."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from graphveil.errors import InputError
from graphveil.experiments.runs.records import Kept
from graphveil.experiments.store.whole_file import write_whole

__all__ = ["COLUMNS", "check_export", "row", "to_dict", "write_export", "write_whole"]

PARQUET = ".parquet"
TEXT, WHOLE, SEED, NUMBER, FLAG = "string", "int64", "uint64", "float64", "bool"
# Parts of a record that are a mean with its interval.
SUMMARIES = (
    "control",
    "structure",
    "gain",
    "gain_over_structure",
    "edgeless",
    "gain_over_edgeless",
    "unasked",
    "gain_over_unasked",
)
COLUMNS = {
    "number": WHOLE,
    "time": TEXT,
    "version": TEXT,
    "source": TEXT,
    "method": TEXT,
    "data": TEXT,
    "task": TEXT,
    "metric": TEXT,
    "epsilon": NUMBER,
    "label_epsilon": NUMBER,
    "link_epsilon": NUMBER,
    "panel": WHOLE,
    "mechanism": TEXT,
    "backbone": TEXT,
    "seed": SEED,
    "runs": WHOLE,
    "mean": NUMBER,
    "low": NUMBER,
    "high": NUMBER,
    **{f"{part}_{end}": NUMBER for part in SUMMARIES for end in ("mean", "low", "high")},
    "structure_name": TEXT,
    "verdict": TEXT,
    "interrupted": FLAG,
    "tags": TEXT,
    "scores": TEXT,
    "settings": TEXT,
    "data_options": TEXT,
}


def check_export(file: Path, suffixes: Sequence[str] = ()) -> Path:
    """Refuse, before anything is read, a file that could not be written."""
    allowed = (*suffixes, *WRITERS)
    if file.suffix not in allowed:
        raise InputError(f"{file} has an unknown form: name a file that ends in {', '.join(allowed)}")
    if file.suffix == PARQUET and find_spec("pyarrow") is None:
        raise InputError(
            f"{file} needs pyarrow, which is not installed: pip install 'graphveil[parquet]', or name a .csv file"
        )
    if not file.parent.is_dir():
        raise InputError(f"{file.parent} is not a folder: name a file in a folder that is there")
    if file.is_dir():
        raise InputError(f"{file} is a folder: name a file")
    return file


def write_export(file: Path, kept: Sequence[Kept]) -> None:
    """Write results to a file that `check_export` has let pass."""
    write_whole(file, WRITERS[file.suffix](kept))


def to_dict(kept: Kept) -> dict[str, Any]:
    """A result in the form that `--json` prints: its number, its tags, what computed it, and all of its record."""
    about = {"number": kept.number, "tags": list(kept.tags), "source": kept.source}
    return {**about, **kept.record.model_dump(mode="json")}


def row(kept: Kept) -> dict[str, Any]:
    """A result as one row below `COLUMNS`; lists and tables are JSON in one cell."""
    record, setup = kept.record, kept.record.setup
    values: dict[str, Any] = {name: getattr(record, name, None) for name in COLUMNS}
    for part in SUMMARIES:
        summary = getattr(record, part)
        for end in ("mean", "low", "high"):
            values[f"{part}_{end}"] = None if summary is None else getattr(summary, end)
    return values | {
        "number": kept.number,
        "source": kept.source,
        "tags": " ".join(kept.tags),
        "runs": len(record.runs),
        "scores": json.dumps(record.runs),
        "label_epsilon": setup.budgets.label_epsilon,
        "link_epsilon": setup.budgets.link_epsilon,
        "panel": None if record.privacy is None else record.privacy.volunteers,
        "structure_name": record.structure.name if record.structure else None,
        "settings": json.dumps(setup.settings, sort_keys=True, default=str),
        "data_options": json.dumps(setup.data_options, sort_keys=True, default=str),
    }


def _csv(kept: Sequence[Kept]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(row(each) for each in kept)
    return text.getvalue().encode()


def _json(kept: Sequence[Kept]) -> bytes:
    whole = {"results": [to_dict(each) for each in kept]}
    return (json.dumps(whole, ensure_ascii=False, indent=1) + "\n").encode()


def _parquet(kept: Sequence[Kept]) -> bytes:
    import pyarrow
    from pyarrow import parquet

    kinds = {
        TEXT: pyarrow.string(),
        WHOLE: pyarrow.int64(),
        SEED: pyarrow.uint64(),
        NUMBER: pyarrow.float64(),
        FLAG: pyarrow.bool_(),
    }
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()])
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist([row(each) for each in kept], schema), buffer)
    return buffer.getvalue()


WRITERS: dict[str, Callable[[Sequence[Kept]], bytes]] = {".csv": _csv, PARQUET: _parquet, ".json": _json}
