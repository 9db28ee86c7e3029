"""Archives of the SNAP collection (Rozemberczki et al. 2019, 2020), with the features that users really hold.

PyG offers the same graphs with features that were reduced to 128 numbers from everybody's data; nobody can report those
before all raw features have been collected.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.datasets import SnapSource
from graphveil.graphs.npz import Raw

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
