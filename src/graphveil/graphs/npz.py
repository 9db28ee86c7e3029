"""The file format: one ``NAME.npz`` a graph, readable with numpy alone.

    edges                                       int, E x 2: pairs of users, in any order
    x                                           dense features, users x features
    x_indptr, x_indices, x_data, x_shape        or sparse features, as CSR; or none at all
    y                                           int, one label a user, -1 where unknown; or users x labels, 0 or 1 each, where a
                                                user may have any number of labels (a row of -1 where unknown)
    range                                       two numbers: the public range of the features (one's own data)
    binary                                      whether features are only ever the two ends of the range (optional)
    metric                                      accuracy, roc_auc or f1 (optional: f1 for users x labels, else accuracy)
    feature_names                               one name a feature (optional)
    train, validation, test                     masks, users or splits x users (optional)
    ids                                         one id a user, text or integers, all different: what the users are called elsewhere (optional)
    panel                                       truths, one a user: whether this user is a volunteer, who gives the raw row of
                                                features to the server by consent (optional; any user may be one)

Any other array with one entry a user is a label of its own, to be chosen by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.checks import check_number, check_whole
from graphveil.errors import InputError
from graphveil.files import MAX_GIGABYTES, check_gigabytes, read_arrays
from graphveil.graphs.graph import MAX_NODES
from graphveil.graphs.splits import PARTS, GivenSplit

CSR_KEYS = ("x_indptr", "x_indices", "x_data", "x_shape")
# What a graph keeps for each user besides the file's own arrays (labels, masks, row pointers), and a model for each feature.
BYTES_A_USER, BYTES_A_FEATURE = 32, 64
# Several labels a user are kept twice, on the server's side and on the users'.
BYTES_A_LABEL = 16
KNOWN_KEYS = {
    "edges",
    "x",
    "y",
    "range",
    "binary",
    "metric",
    "feature_names",
    "ids",
    "panel",
    *CSR_KEYS,
    *PARTS,
}


@dataclass(frozen=True, eq=False)
class Raw:
    """A whole dataset before it is divided: what the server may know and what only users hold, together."""

    edges: NDArray[Any]
    labels: NDArray[Any] | None
    features: Any = None
    range: tuple[float, float] | None = None
    binary: bool = False
    # None takes what is usual for the labels.
    metric: str | None = None
    feature_names: tuple[str, ...] | None = None
    given: GivenSplit | None = None
    other_labels: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    # Who volunteered to give the raw row, a truth a user.
    panel: NDArray[np.bool_] | None = None
    # What users are called elsewhere.
    ids: NDArray[Any] | None = None


def read_npz(path: Path, max_gigabytes: float | None = None) -> Raw:
    """Read a graph; a file that is none is refused, and so is one that takes more than ``max_gigabytes`` of memory (4)."""
    most = check_gigabyte_limit(max_gigabytes)
    arrays = read_arrays(path, most)
    if "edges" not in arrays:
        raise InputError(f"{path} has no array 'edges': a graph needs its edges, as pairs of users (E x 2)")
    raw = raw_of(arrays, path, _edges(arrays["edges"], path), _features(arrays, path))
    _check_fit(raw, path, most)
    return raw


def raw_of(arrays: Mapping[str, NDArray[Any]], path: Path, edges: NDArray[Any], features: Any) -> Raw:
    """What a file holds besides its edges and features, checked, with those."""
    return Raw(
        edges=edges,
        labels=_labels(arrays, path),
        features=features,
        range=_range(arrays, path),
        binary=_binary(arrays, path),
        metric=str(arrays["metric"]) if "metric" in arrays else None,
        feature_names=_names(arrays, path),
        given=_masks(arrays, path),
        other_labels={key: array for key, array in arrays.items() if key not in KNOWN_KEYS},
        panel=_panel(arrays, path),
        ids=arrays.get("ids"),
    )


def check_gigabyte_limit(gigabytes: Any) -> float:
    """Return a limit of memory as a number of gigabytes, or say that it is none."""
    if gigabytes is None:
        return MAX_GIGABYTES
    return check_number(gigabytes, "max_gigabytes", above=0, infinite=True)


def write_npz(path: Path, raw: Raw) -> None:
    """Write a graph in the format of this file."""
    arrays: dict[str, Any] = {"edges": raw.edges, **raw.other_labels}
    if raw.labels is not None:
        arrays["y"] = raw.labels
    if hasattr(raw.features, "tocsr"):
        matrix = raw.features.tocsr()
        values = (matrix.indptr.astype(np.int64), matrix.indices, matrix.data, np.array(matrix.shape))
        arrays.update(zip(CSR_KEYS, values, strict=True))
    elif raw.features is not None:
        arrays["x"] = raw.features
    if raw.range is not None:
        arrays["range"] = np.array(raw.range, dtype=np.float64)
    if raw.binary:
        arrays["binary"] = np.array(True)
    if raw.metric not in (None, "accuracy"):
        arrays["metric"] = np.array(raw.metric)
    if raw.feature_names is not None:
        arrays["feature_names"] = np.array(raw.feature_names)
    if raw.given is not None:
        arrays.update({part: getattr(raw.given, part) for part in PARTS})
    if raw.panel is not None:
        arrays["panel"] = raw.panel
    if raw.ids is not None:
        arrays["ids"] = raw.ids
    with open(path, "wb") as file:
        np.savez_compressed(file, **arrays)


def _edges(edges: NDArray[Any], path: Path) -> NDArray[Any]:
    if edges.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        hint = ": transpose it" if edges.ndim == 2 and edges.shape[0] == 2 else ""
        raise InputError(
            f"{path}: edges must be pairs of integers (E x 2), got {edges.dtype} of shape {edges.shape}{hint}"
        )
    if int(edges.min()) < 0 or int(edges.max()) >= MAX_NODES:
        raise InputError(
            f"{path}: edges must name users by numbers from 0 to {MAX_NODES - 1}: number them anew"
        )
    return edges


def _labels(arrays: Mapping[str, NDArray[Any]], path: Path) -> NDArray[Any] | None:
    labels = arrays.get("y")
    if labels is not None and labels.ndim not in (1, 2):
        raise InputError(
            f"{path}: y must be one label a user, or users x labels, got the shape {labels.shape}"
        )
    return labels


def _binary(arrays: Mapping[str, NDArray[Any]], path: Path) -> bool:
    binary = arrays.get("binary", np.array(False))
    if binary.size != 1 or binary.dtype.kind not in "biu":
        raise InputError(f"{path}: binary must be True or False, got {binary.dtype} of shape {binary.shape}")
    return bool(binary.reshape(()))


def _names(arrays: Mapping[str, NDArray[Any]], path: Path) -> tuple[str, ...] | None:
    names = arrays.get("feature_names")
    if names is None:
        return None
    if names.ndim != 1:
        raise InputError(f"{path}: feature_names must be one name a feature, got the shape {names.shape}")
    return tuple(map(str, names))


def _masks(arrays: Mapping[str, NDArray[Any]], path: Path) -> GivenSplit | None:
    masks = [arrays[part] for part in PARTS if part in arrays]
    if not masks:
        return None
    if len(masks) < len(PARTS):
        raise InputError(
            f"{path} has some masks but not all of {', '.join(PARTS)}: add the others or leave all out"
        )
    shapes = {mask.shape for mask in masks}
    if len(shapes) > 1 or masks[0].ndim not in (1, 2) or not len(masks[0]):
        raise InputError(f"{path}: {', '.join(PARTS)} must have the same shape: users, or splits x users")
    if any(mask.dtype.kind not in "biu" for mask in masks):
        raise InputError(f"{path}: {', '.join(PARTS)} must be masks of True and False")
    return GivenSplit(*masks)


def _panel(arrays: Mapping[str, NDArray[Any]], path: Path) -> NDArray[np.bool_] | None:
    panel = arrays.get("panel")
    if panel is None:
        return None
    if panel.ndim != 1 or panel.dtype != np.bool_:
        raise InputError(
            f"{path}: panel must be True for each user who volunteers and False for the others, one a user, got {panel.dtype} "
            f"of shape {panel.shape}: write it so, or rename an array that is something else"
        )
    return panel


def _features(arrays: Mapping[str, NDArray[Any]], path: Path) -> Any:
    if "x" in arrays:
        dense = arrays["x"]
        if dense.ndim != 2 or dense.dtype.kind not in "biuf":
            raise InputError(
                f"{path}: x must be numbers, users x features, got {dense.dtype} of shape {dense.shape}"
            )
        return dense
    if not any(key in arrays for key in CSR_KEYS):
        return None
    absent = [key for key in CSR_KEYS if key not in arrays]
    if absent:
        raise InputError(
            f"{path} has sparse features without {', '.join(absent)}: all of {', '.join(CSR_KEYS)} are needed"
        )
    indptr, indices, data, shape = (arrays[key] for key in CSR_KEYS)
    return _sparse(indptr, indices, data, shape, path)


def _sparse(
    indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any], shape: NDArray[Any], path: Path
) -> Any:
    """Sparse features, all of whose parts fit together."""
    integers = all(part.ndim == 1 and part.dtype.kind in "iu" for part in (indptr, indices, shape))
    if not integers or data.ndim != 1 or data.dtype.kind not in "biuf" or shape.size != 2:
        raise InputError(
            f"{path} has sparse features that do not fit together: x_indptr, x_indices and x_shape (two of them) must be "
            "integers, x_data numbers"
        )
    rows, columns = (int(side) for side in shape)
    if not (0 <= rows < MAX_NODES and 0 <= columns < MAX_NODES):
        raise InputError(
            f"{path}: x_shape must be two numbers from 0 to {MAX_NODES - 1}, got {rows} x {columns}"
        )
    from scipy.sparse import csr_array

    try:
        matrix = csr_array((data, indices, indptr), shape=(rows, columns))
        matrix.check_format()
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{path} has sparse features that do not fit together ({error})") from None
    return matrix


def _check_fit(raw: Raw, path: Path, max_gigabytes: float) -> None:
    """Refuse arrays that are not about the same users, and more users or features than there is memory for."""
    counts = {
        "y": None if raw.labels is None else len(raw.labels),
        "x": None if raw.features is None else int(raw.features.shape[0]),
    }
    known = {key: count for key, count in counts.items() if count is not None}
    named = int(raw.edges.max()) + 1 if raw.edges.size else 0
    if len(set(known.values())) > 1:
        raise InputError(
            f"{path}: features must have one row for each of {known['y']} users, got {known['x']}"
        )
    users = next(iter(known.values()), named)
    if named > users:
        raise InputError(
            f"{path}: edges must name users 0..{users - 1}, got {named - 1}: leave out the others"
        )
    if raw.panel is not None and len(raw.panel) != users:
        raise InputError(
            f"{path}: panel must be True or False for each of {users} users, got {len(raw.panel)} of them"
        )
    columns = 0 if raw.features is None else int(raw.features.shape[1])
    labels = raw.labels.size if raw.labels is not None and raw.labels.ndim == 2 else 0
    check_gigabytes(
        path, BYTES_A_USER * users + BYTES_A_FEATURE * columns + BYTES_A_LABEL * labels, max_gigabytes
    )


def _range(arrays: Mapping[str, NDArray[Any]], path: Path) -> tuple[float, float] | None:
    if "range" not in arrays:
        return None
    ends = np.ravel(arrays["range"])
    if ends.shape != (2,) or ends.dtype.kind not in "iuf":
        raise InputError(
            f"{path}: range must be two numbers LOW, HIGH, got {ends.dtype} of shape {arrays['range'].shape}"
        )
    return float(ends[0]), float(ends[1])


def with_label(name: str, raw: Raw, label: str | int | None, allowed: tuple[str, ...] | None = None) -> Raw:
    """The data with the chosen label: an array of that name, or a column of y by its number."""
    if label is None or label == "y":
        return raw
    if isinstance(label, str) and not label.isdigit():
        names = ("y", *raw.other_labels)
        choices = [choice for choice in names if allowed is None or choice in allowed]
        if label not in choices:
            raise InputError(f"{name} has no label {label!r}: choose one of {', '.join(choices)}")
        return replace(raw, labels=raw.other_labels[label])
    if raw.labels is None or raw.labels.ndim != 2:
        raise InputError(f"{name} does not have several labels a user: leave out label={label!r}")
    if not 0 <= int(label) < raw.labels.shape[1]:
        raise InputError(f"label must lie in 0..{raw.labels.shape[1] - 1}, got {label!r}")
    return replace(raw, labels=raw.labels[:, int(label)])


def with_largest_classes(raw: Raw, count: int) -> Raw:
    """Only the users of the ``count`` largest classes, the edges between them, and classes numbered anew in order."""
    if raw.labels is None or raw.labels.ndim != 1:
        raise InputError("largest_classes needs one label a user")
    users = len(raw.labels)
    if raw.labels.dtype.kind not in "biuf" or (raw.edges.size and int(raw.edges.max()) >= users):
        raise InputError(f"largest_classes needs labels that are numbers, one for each of {users} users")
    if raw.features is not None and raw.features.shape[0] != users:
        raise InputError(f"features must have one row for each of {users} users, got {raw.features.shape[0]}")
    classes, sizes = np.unique(raw.labels[raw.labels >= 0], return_counts=True)
    check_whole(count, "largest_classes", least=2, most=len(classes), why="the number of classes")
    largest = np.sort(classes[np.argsort(-sizes, kind="stable")[:count]])
    kept = np.isin(raw.labels, largest)
    number = np.cumsum(kept) - 1
    return replace(
        raw,
        edges=number[raw.edges[kept[raw.edges].all(axis=1)]],
        labels=np.searchsorted(largest, raw.labels[kept]),
        features=None if raw.features is None else raw.features[kept],
        given=None if raw.given is None else raw.given.of(kept),
        other_labels={},
        panel=None if raw.panel is None else raw.panel[kept],
    )
