"""Where graphs are kept: the data folder and the user's cache, with checksums."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from graphveil.errors import InputError
from graphveil.graphs.npz import Raw, write_npz
from graphveil.settings import settings

Place = Literal["data folder", "cache"]
SUFFIX = ".npz"


@dataclass(frozen=True)
class Found:
    """A graph's file and the place that it is in."""

    path: Path
    place: Place


def find(name: str) -> Found | None:
    """The file of a graph: in the data folder, else in the cache."""
    places = settings()
    if places.data is not None and (path := places.data / (name + SUFFIX)).is_file():
        return Found(path, "data folder")
    if (path := places.cache / (name + SUFFIX)).is_file():
        return Found(path, "cache")
    return None


def own_names() -> list[str]:
    """The names of all graphs in the data folder and the cache."""
    places = settings()
    folders = [folder for folder in (places.data, places.cache) if folder is not None and folder.is_dir()]
    return sorted({path.stem for folder in folders for path in folder.glob("*" + SUFFIX)})


def keep(name: str, raw: Raw) -> Path:
    """Write a graph into the cache with its checksum; whoever looks in between sees no file or the whole one."""
    folder = settings().cache
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (name + SUFFIX)
    written = _temporary(folder, lambda file: write_npz(file, raw))
    try:
        line = f"{digest(written)}  {path.name}\n"
        checksum = _temporary(folder, lambda file: file.write_text(line))
        # The checksum goes first: a file without its own checksum is never trusted in its place.
        os.replace(checksum, checksum_path(path))
        os.replace(written, path)
    except BaseException:
        written.unlink(missing_ok=True)
        raise
    return path


def verify(path: Path) -> None:
    """Refuse a file whose checksum is recorded beside it and does not match."""
    record = checksum_path(path)
    if not record.is_file():
        return
    words = record.read_text(encoding="utf-8", errors="replace").split()
    if not words or words[0] != digest(path):
        raise InputError(
            f"{path} does not match its checksum in {record.name}: it is damaged or was changed. Delete both, or run "
            f"`graphveil data get {path.stem} --again`"
        )


def checksum_path(path: Path) -> Path:
    """Where the checksum of a file is recorded, in the form that ``sha256sum -c`` reads."""
    return path.with_name(path.name + ".sha256")


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _temporary(folder: Path, write: Callable[[Path], object]) -> Path:
    """A finished file under a name that nobody looks for; gone again if writing fails."""
    path = folder / f".{uuid.uuid4().hex}.part"
    try:
        write(path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path
