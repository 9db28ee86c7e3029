"""Where graphs are kept: the data folder and the user's cache, with checksums."""

from __future__ import annotations

import csv
import hashlib
import importlib
import json
import os
import tempfile
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.convert import raw_from_pyg
from graphveil.graphs.datasets import Dataset, PygSource, SnapSource, dataset
from graphveil.graphs.graph import UNKNOWN, symmetric_csr
from graphveil.graphs.npz import Raw, write_npz
from graphveil.graphs.splits import PARTS, GivenSplit
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


def file_digest(path: Path) -> str:
    """The SHA-256 of a file, read again only when its size, its time or the file itself is another one."""
    try:
        now = path.stat()
        return _digest(path.resolve(), now.st_ino, now.st_size, now.st_mtime_ns)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror or error}): name a file that is there"
        ) from None


@lru_cache(maxsize=64)
def _digest(path: Path, _inode: int, _size: int, _time: int) -> str:
    return digest(path)


def _temporary(folder: Path, write: Callable[[Path], object]) -> Path:
    """A finished file under a name that nobody looks for; gone again if writing fails."""
    path = folder / f".{uuid.uuid4().hex}.part"
    try:
        write(path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


URL = "https://snap.stanford.edu/data"


def fetch_snap(source: SnapSource, feature_count: int, folder: Path) -> Raw:
    """Download an archive into a folder and read it."""
    from torch_geometric.data import download_url, extract_zip

    extract_zip(download_url(f"{URL}/{source.archive}", str(folder)), str(folder))
    return read_snap(source, feature_count, folder)


def read_snap(source: SnapSource, feature_count: int, folder: Path) -> Raw:
    """Read the three files of a graph, wherever they are in a folder."""
    edges = np.loadtxt(
        _file(folder, source.stem, "edges.csv"), delimiter=",", skiprows=1, dtype=np.int64, ndmin=2
    )
    targets = _targets(_file(folder, source.stem, "target.csv"), source)
    features = _features(_file(folder, source.stem, ".json"), (len(targets), feature_count))
    if not source.thresholds:
        return Raw(edges, np.unique(targets, return_inverse=True)[1].astype(np.int64), features)
    numbers = targets.astype(np.int64)
    labels = {name: (numbers >= least).astype(np.int64) for name, least in source.thresholds.items()}
    return Raw(edges, labels.pop("y"), features, other_labels=labels)


def _targets(path: Path, source: SnapSource) -> NDArray[np.str_]:
    """The target of every user, by the user's number."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = {int(row[source.user]): row[source.target] for row in csv.DictReader(file)}
    if sorted(rows) != list(range(len(rows))):
        raise InputError(f"{path.name} does not number its users 0..{len(rows) - 1}: the archive has changed")
    return np.array([rows[user] for user in range(len(rows))])


def _features(path: Path, shape: tuple[int, int]) -> Any:
    """A list of features for every user, as a binary matrix."""
    from scipy.sparse import coo_array

    with open(path, encoding="utf-8") as file:
        lists = {int(user): held for user, held in json.load(file).items()}
    users = np.repeat(np.array(list(lists), dtype=np.int64), [len(held) for held in lists.values()])
    held = np.array([feature for held in lists.values() for feature in held], dtype=np.int64)
    matrix = coo_array((np.ones(len(held), dtype=np.float32), (users, held)), shape=shape).tocsr()
    # A feature that is listed twice is still one feature.
    matrix.data[:] = 1.0
    return matrix


def _file(folder: Path, stem: str, ending: str) -> Path:
    files = sorted(path for path in folder.rglob(f"*{stem}*{ending}") if path.is_file())
    if len(files) != 1:
        raise InputError(
            f"the archive should hold one file named *{stem}*{ending}, it has {len(files)}: it has changed"
        )
    return files[0]


def get(name: str, *, again: bool = False) -> Path:
    """The file of a registered dataset; downloaded if it is not here yet, or ``again``."""
    known = dataset(name)
    if known.embedded:
        raise InputError(f"{name} is generated on this machine: load it, there is nothing to get")
    stored = find(name)
    if stored is not None and not again:
        verify(stored.path)
        return stored.path
    return keep(name, fetch(known))


def fetch(known: Dataset) -> Raw:
    """Download a dataset and check its size; every failure says what to do instead."""
    if known.source is None:
        raise InputError(_advice(known, f"cannot be downloaded ({known.note})"))
    folder = settings().cache
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".download-") as place:
        try:
            raw = _fetch(known, known.source, Path(place))
        except InputError:
            raise
        except ImportError as error:
            package = (error.name or str(error)).partition(".")[0]
            raise InputError(
                _advice(known, f"needs the package {package} to be downloaded: install it")
            ) from None
        except Exception as error:  # PyG's downloaders let every error of theirs and of the network through.
            raise InputError(_advice(known, f"could not be downloaded ({_reason(error)})")) from error
    return _checked(known, _tidy(known, raw))


def _fetch(known: Dataset, source: PygSource | SnapSource, folder: Path) -> Raw:
    if isinstance(source, SnapSource):
        assert known.features is not None
        return fetch_snap(source, known.features, folder)
    kind = getattr(importlib.import_module(source.module), source.kind)
    if not source.parts:
        return raw_from_pyg(kind(root=str(folder), **source.options)[0])
    parts = [list(kind(root=str(folder), **source.options, split=part)) for part in source.parts]
    return _side_by_side(parts)


def _side_by_side(parts: list[list[Any]]) -> Raw:
    """Many graphs as one that falls apart into them; each part is a mask, in the order train, validation, test."""
    raws = [(part, raw_from_pyg(data)) for part, graphs in enumerate(parts) for data in graphs]
    counts = [len(np.asarray(raw.labels)) for _, raw in raws]
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    part_of = np.repeat([part for part, _ in raws], counts)
    dense = [raw.features.toarray() if hasattr(raw.features, "tocsr") else raw.features for _, raw in raws]
    return Raw(
        edges=np.concatenate([raw.edges + start for (_, raw), start in zip(raws, starts, strict=True)]),
        labels=np.concatenate([np.asarray(raw.labels) for _, raw in raws]).astype(np.int64),
        features=np.concatenate(dense),
        given=GivenSplit(*(part_of == part for part in range(len(PARTS)))),
    )


def _tidy(known: Dataset, raw: Raw) -> Raw:
    """Edges once, in order; labels as integers."""
    count = known.users or 0 if raw.labels is None else len(raw.labels)
    indptr, indices = symmetric_csr(raw.edges, count)
    rows = np.repeat(np.arange(count, dtype=np.int32), np.diff(indptr))
    once = rows < indices
    labels = None if raw.labels is None else np.nan_to_num(raw.labels, nan=UNKNOWN).astype(np.int64)
    return replace(raw, edges=np.stack([rows[once], indices[once]], axis=1), labels=labels)


def _checked(known: Dataset, raw: Raw) -> Raw:
    """Refuse what is not the dataset that goes by this name."""
    width = 0 if raw.features is None else int(raw.features.shape[1])
    sizes = [
        ("users", known.users, len(np.asarray(raw.labels))),
        ("features", known.features, width),
        ("edges", known.edges, len(raw.edges)),
    ]
    if raw.labels is not None and raw.labels.ndim == 1:
        sizes.append(("classes", known.classes, int(raw.labels.max()) + 1))
    if raw.labels is not None and raw.labels.ndim == 2:
        sizes.append(("labels", known.classes, raw.labels.shape[1]))
    for what, expected, got in sizes:
        if expected is not None and got != expected:
            raise InputError(
                _advice(known, f"has {expected} {what}, but {got} were downloaded: its source has changed")
            )
    return raw


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _advice(known: Dataset, problem: str) -> str:
    """What went wrong with a dataset, where it was looked for, and what to do."""
    places = settings()
    file = f"{known.name}.npz"
    data = (
        "GRAPHVEIL_DATA is not set" if places.data is None else f"the data folder {places.data} has no {file}"
    )
    message = (
        f"{known.name} {problem}. {data}, and the cache {places.cache} does not have it either: "
        f"set GRAPHVEIL_DATA to a folder that holds {file}"
    )
    if known.source is None:
        return message
    return f"{message}, or run `graphveil data get {known.name}` where there is a network"
