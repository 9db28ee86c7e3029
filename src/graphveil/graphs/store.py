"""Storage of graphs: the data folder and the user's cache, with checksums, and downloads, converted once."""

from __future__ import annotations

import csv
import hashlib
import importlib
import json
import tempfile
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.files import unreadable, write_whole, writing_whole
from graphveil.graphs.convert import raw_from_pyg
from graphveil.graphs.datasets import Dataset, PygSource, SnapSource, dataset
from graphveil.graphs.graph import UNKNOWN, symmetric_csr
from graphveil.graphs.npz import Raw, write_npz
from graphveil.graphs.splits import PARTS, GivenSplit
from graphveil.settings import settings

Place = Literal["data folder", "cache", "file"]
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
    """Write a graph into the cache with its checksum; anybody who looks in between sees no file or the whole one."""
    folder = settings().cache
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (name + SUFFIX)
    with writing_whole(path) as file:
        write_npz(file, raw)
        file.flush()
        # The checksum goes first: a file without its own checksum is never trusted in its place.
        write_whole(checksum_path(path), f"{digest(Path(file.name))}  {path.name}\n")
    return path


def verify(path: Path) -> None:
    """Refuse a file whose checksum is recorded beside it and does not match."""
    record = checksum_path(path)
    if not record.is_file():
        return
    words = record.read_text(encoding="utf-8", errors="replace").split()
    if not words or words[0] != digest(path):
        again = f"delete both, or run `graphveil data get {path.stem} --again`"
        raise InputError(f"{path} does not match its checksum in {record.name}, so it was changed: {again}")


def checksum_path(path: Path) -> Path:
    """Return the path at which a file's checksum is recorded, in the form that ``sha256sum -c`` reads."""
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
        raise unreadable(path, error, "name a file that is there") from None


@lru_cache(maxsize=64)
def _digest(path: Path, _inode: int, _size: int, _time: int) -> str:
    return digest(path)


URL = "https://snap.stanford.edu/data"


def read_snap(source: SnapSource, feature_count: int, folder: Path) -> Raw:
    """Read the three files of a graph.

    Parameters
    ----------
    source
        What the files are called and hold.
    feature_count
        The number of features.
    folder
        The folder that they are in, at any depth.
    """
    links, table, lists = (_file(folder, source.stem, end) for end in ("edges.csv", "target.csv", ".json"))
    edges = np.loadtxt(links, delimiter=",", skiprows=1, dtype=np.int64, ndmin=2)
    targets = _targets(table, source)
    features = _features(lists, (len(targets), feature_count))
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
        raise InputError(f"the archive has changed: {len(files)} files are named *{stem}*{ending}")
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
        raise _failure(known, f"cannot be downloaded ({known.note})")
    folder = settings().cache
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".download-") as place:
        try:
            raw = _fetch(known, known.source, Path(place))
        except InputError:
            raise
        except ImportError as error:
            package = (error.name or str(error)).partition(".")[0]
            raise _failure(known, f"needs the package {package} to be downloaded: install it") from None
        except Exception as error:  # PyG's downloaders let every error of theirs and of the network through.
            reason = f"{type(error).__name__}: {error}".removesuffix(": ")
            raise _failure(known, f"could not be downloaded ({reason})") from error
    return _tidy(known, raw)


def _fetch(known: Dataset, source: PygSource | SnapSource, folder: Path) -> Raw:
    if isinstance(source, SnapSource):
        from torch_geometric.data import download_url, extract_zip

        assert known.features is not None
        extract_zip(download_url(f"{URL}/{source.archive}", str(folder)), str(folder))
        return read_snap(source, known.features, folder)
    kind = getattr(importlib.import_module(source.module), source.kind)
    if not source.parts:
        return raw_from_pyg(kind(root=str(folder), **source.options)[0])
    parts = [list(kind(root=str(folder), **source.options, split=part)) for part in source.parts]
    return _side_by_side(parts)


def _side_by_side(parts: list[list[Any]]) -> Raw:
    """Many graphs as one that falls apart into them; each part is a mask, in the order train, validation, test."""
    from torch_geometric.data import Batch

    whole = raw_from_pyg(Batch.from_data_list([data for part in parts for data in part]))
    users = [sum(data.num_nodes for data in part) for part in parts]
    part_of = np.repeat(np.arange(len(parts)), users)
    return replace(whole, given=GivenSplit(*(part_of == part for part in range(len(PARTS)))))


def _tidy(known: Dataset, raw: Raw) -> Raw:
    """Return edges once, in order, and labels as integers; reject what is not the dataset of this name."""
    count = known.users or 0 if raw.labels is None else len(raw.labels)
    indptr, indices = symmetric_csr(raw.edges, count)
    rows = np.repeat(np.arange(count, dtype=np.int32), np.diff(indptr))
    once = rows < indices
    labels = None if raw.labels is None else np.nan_to_num(raw.labels, nan=UNKNOWN).astype(np.int64)
    sizes = {
        "users": (known.users, len(np.asarray(raw.labels))),
        "features": (known.features, raw.feature_count),
        "edges": (known.edges, int(once.sum())),
    }
    if labels is not None and labels.ndim == 1:
        sizes["classes"] = known.classes, int(labels.max()) + 1
    elif labels is not None:
        sizes["labels"] = known.classes, labels.shape[1]
    for what, (expected, got) in sizes.items():
        if expected is not None and got != expected:
            raise _failure(known, f"has {expected} {what}, but {got} were downloaded: its source has changed")
    return replace(raw, edges=np.stack([rows[once], indices[once]], axis=1), labels=labels)


def _failure(known: Dataset, problem: str) -> InputError:
    """The error of a dataset: the problem, where it was looked for, and what to do."""
    places, file = settings(), f"{known.name}.npz"
    data = "GRAPHVEIL_DATA is not set"
    if places.data is not None:
        data = f"the data folder {places.data} has no {file}"
    network = f", or run `graphveil data get {known.name}` where there is a network" if known.source else ""
    return InputError(
        f"{known.name} {problem}. {data}, and the cache {places.cache} does not have it either: "
        f"set GRAPHVEIL_DATA to a folder that holds {file}{network}"
    )
