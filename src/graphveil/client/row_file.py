"""One person's row from a file: CSV, JSON or NPY; and whom the person is linked to. An error says where something is wrong, and never what stands there."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

from graphveil.client.held import Held
from graphveil.errors import InputError
from graphveil.files import MAX_TEXT, read_array, read_json, read_text

OWN = "name the file of your own row"
FIELDS = {"values": "row", "label": "label", "level": "level", "neighbours": "neighbours"}


def read_held(path: Path) -> Held:
    """What a person holds: one line of numbers (.csv), a list or an object with "values" (.json), an array (.npy).

    An object may have "label", "level" and "neighbours" besides. An empty cell is a value that is missing.
    """
    readers = {".csv": _read_csv, ".json": _read_json, ".npy": _read_npy}
    if path.suffix.lower() not in readers:
        raise InputError(f"{str(path)!r} must be a file that ends in {', '.join(readers)}")
    return readers[path.suffix.lower()](path)


def read_links(path: Path) -> tuple[str, ...]:
    """Whom a person is linked to: a text file with an id a line, as the collection calls people; an empty one names nobody."""
    text = read_text(path, "name a file with the ids of those whom you are linked to, one a line")
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def _read_csv(path: Path) -> Held:
    text = read_text(path, f"{OWN}, one line of numbers with commas between them")
    try:
        read = csv.reader(io.StringIO(text, newline=""))
        lines = [line for line in read if any(cell.strip() for cell in line)]
    except csv.Error:
        raise InputError(f"{path} is not text with commas: give one line of numbers") from None
    if len(lines) == 2 and len(lines[0]) == len(lines[1]):
        # The first line has names.
        lines = lines[1:]
    if len(lines) != 1:
        raise InputError(
            f"{str(path)!r} must hold one row, or a line of names and one row; it has {len(lines)} lines"
        )
    return _held(path, row=[_number(cell, path, place) for place, cell in enumerate(lines[0], 1)])


def _number(cell: str, path: Path, place: int) -> float:
    if not cell.strip():
        return math.nan
    try:
        return float(cell)
    except ValueError:
        raise InputError(
            f"column {place} of {str(path)!r} holds no number: write one, or leave it empty"
        ) from None


def _read_json(path: Path) -> Held:
    told = read_json(path, f"{OWN}, a list of numbers")
    if isinstance(told, list):
        told = {"values": told}
    if not isinstance(told, dict) or not told or not set(told) <= set(FIELDS):
        raise InputError(f"{str(path)!r} must hold a list of numbers, or an object with {', '.join(FIELDS)}")
    for name in ("values", "neighbours"):
        if name in told and not (isinstance(told[name], list) and all(map(_is_number, told[name]))):
            raise InputError(
                f"{name} in {str(path)!r} must be a list of numbers; null is one that is missing"
            )
    for name in ("label", "level"):
        if name in told and not _is_number(told[name]):
            raise InputError(f"{name} in {str(path)!r} must be a number")
    # What is missing is answered like what does not fit, at random: silence would tell that it is missing.
    return _held(path, **{FIELDS[name]: math.nan if value is None else value for name, value in told.items()})


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _read_npy(path: Path) -> Held:
    array = read_array(path, "a row of numbers", OWN, MAX_TEXT / 1e9)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{path} must be an array of numbers, it is one of words: write a row of numbers")
    return _held(path, row=array)


def _held(path: Path, **values: Any) -> Held:
    try:
        return Held(**values)
    except InputError as error:
        raise InputError(f"{path}: {error.as_written}") from None
