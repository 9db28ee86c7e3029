"""Users' data in files of a simulation: their rows of features, dense or sparse, and everybody's label.

These files stand apart from the public ones. Nothing but a simulation reads them, on the users' side.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.graph import UNKNOWN
from graphveil.graphs.tables import Columns, Lists, TableFile, writing_table
from graphveil.scale.manifest import AGAIN

# Users of a row group, about.
GROUP = 1 << 16
ROW, INDICES, VALUES = "row", "indices", "values"


def write_held(
    file: Path, labels: NDArray[np.int64], rows: Callable[[int, int], Any], step: int = GROUP
) -> None:
    """Write what the users of a partition hold, ``step`` users at a time.

    Parameters
    ----------
    file
        The file to write.
    labels
        Their labels: (users,) int64.
    rows
        Called with the first place and the one after the last, in order: their features, dense or sparse, or None.
    step
        The most users whose features are in memory at a time.
    """
    with writing_table(file) as write:
        for begin in range(0, max(len(labels), 1), step):
            write(_columns(rows(begin, begin + step), labels[begin : begin + step]))


def _columns(features: Any, labels: NDArray[np.int64]) -> Columns:
    """The columns of some users, from their features (an array, a sparse matrix, or None) and labels."""
    known = {"label": labels.astype(np.int32)}
    if features is None or features.shape[1] == 0:
        return known
    if not hasattr(features, "tocsr"):
        return {**known, ROW: Lists(np.ascontiguousarray(features).reshape(-1), features.shape[1])}
    matrix = features.tocsr()
    indices = Lists(matrix.indices.astype(np.int32), pointers=matrix.indptr)
    return {**known, INDICES: indices, VALUES: Lists(matrix.data, pointers=matrix.indptr)}


def read_held(file: Path, users: int, features: int, classes: int) -> tuple[Any, NDArray[np.int64]]:
    """Return the features and the labels of a partition's users; features are None where there are none.

    Parameters
    ----------
    file
        The file of what they hold.
    users
        The number of users that it must have.
    features, classes
        The numbers of features and of classes, as in the manifest.
    """
    table = TableFile(file, AGAIN)
    labels = read_held_labels(file, users, classes)
    if ROW in table.names:
        return _dense(table, users, features), labels
    if INDICES in table.names:
        return _sparse(table, users, features), labels
    if features:
        raise InputError(f"{file} has no features, and the manifest says {features}: {AGAIN}")
    return None, labels


def read_held_labels(file: Path, users: int, classes: int) -> NDArray[np.int64]:
    """Return the labels of a partition's users, (users,) int64, without reading their features.

    Parameters
    ----------
    file
        The file of what they hold.
    users, classes
        The numbers of users and of classes, as in the manifest.
    """
    table = TableFile(file, AGAIN)
    table.check_rows(users)
    labels = table.array("label", np.int32)
    check_labels(labels, classes, file)
    return labels.astype(np.int64)


def check_labels(labels: NDArray[np.int32], classes: int, file: Path) -> None:
    """Refuse labels that are not valid classes.

    Parameters
    ----------
    labels
        The labels: (users,) int32.
    classes
        The number of classes.
    file
        The file that they come from, for errors.
    """
    if labels.size and not UNKNOWN <= int(labels.min()) <= int(labels.max()) < max(classes, 1):
        raise InputError(f"{file} is damaged: labels must be {UNKNOWN}..{classes - 1}; {AGAIN}")


def _dense(table: TableFile, users: int, features: int) -> NDArray[Any]:
    found: NDArray[Any] | None = None
    place = 0
    for group, size in enumerate(table.groups):
        rows = table.column(ROW, group)
        if not isinstance(rows, Lists) or rows.pointers is not None or rows.width != features:
            raise InputError(f"{table.file}: rows must have {features} values each; {AGAIN}")
        if found is None:
            found = np.empty((users, features), dtype=rows.values.dtype)
        found[place : place + size] = rows.values.reshape(size, features)
        place += size
    return np.empty((0, features)) if found is None else found


def _sparse(table: TableFile, users: int, features: int) -> Any:
    from scipy.sparse import csr_array

    pointers, indices = table.lists(INDICES, np.int32)
    others, values = table.lists(VALUES)
    if not np.array_equal(pointers, others):
        raise InputError(f"{table.file}: indices and values must be lists of the same lengths; {AGAIN}")
    if indices.size and not 0 <= int(indices.min()) <= int(indices.max()) < features:
        raise InputError(f"{table.file}: indices must be below {features}, the number of features; {AGAIN}")
    return csr_array((values, indices, pointers), shape=(users, features))
