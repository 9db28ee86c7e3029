"""The identity of data: a digest that changes with whatever a graph's numbers come from, without loading the graph."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.graphs.load import TOWNS, graph_file, is_sharded_source, outside_digest
from graphveil.graphs.store import digest
from graphveil.graphs.users import Users
from graphveil.lazy import scale


def data_digest(source: str, options: Mapping[str, Any]) -> str:
    """The SHA-256 of a graph's file, or of all files of a sharded one; of its options, and of what it comes from, where a function gives it.

    What is not on this machine yet is downloaded, as `load` does.
    """
    outside = None if source in TOWNS else outside_digest(source)
    if source in TOWNS or outside is not None:
        described = json.dumps([outside or source, options], sort_keys=True, default=str)
        return hashlib.sha256(described.encode()).hexdigest()
    if is_sharded_source(source):
        folder = Path(source).expanduser()
        told = hashlib.sha256()
        for file in scale().sharded_files(folder):
            told.update(f"{file.relative_to(folder).as_posix()} {file_digest(file)}\n".encode())
        return told.hexdigest()
    return file_digest(graph_file(source))


def content_digest(graph: Graph, users: Users) -> str:
    """The SHA-256 of all that a graph and its users hold: for those that are given as objects and have no file."""
    raw, told = users.raw, hashlib.sha256()
    told.update(repr((graph.feature_count, graph.public_range, graph.binary, graph.metric)).encode())
    features = raw.features
    rows = [features.indptr, features.indices, features.data] if hasattr(features, "tocsr") else [features]
    panel = None if graph.panel is None else graph.panel.users
    masks = [graph.train, graph.validation, graph.test, graph.weights, panel]
    for array in (graph.indptr, graph.indices, raw.labels, raw.levels, *rows, *masks):
        told.update(b"-" if array is None else _described(array))
    return told.hexdigest()


def _described(array: Any) -> bytes:
    """Type, shape and numbers of an array."""
    return repr((array.dtype.str, array.shape)).encode() + np.ascontiguousarray(array).tobytes()


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
