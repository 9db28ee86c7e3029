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
from typing import IO, Any

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
# What each array must be: the kinds and the number of its dimensions that numpy knows it by, and the same in words.
INTEGERS, NUMBERS, TRUTHS = "iu", "biuf", "biu"
ARRAYS: Mapping[str, tuple[str, tuple[int, ...], str]] = {
    "edges": (INTEGERS, (2,), "pairs of integers (E x 2)"),
    "x": (NUMBERS, (2,), "numbers, users x features"),
    "x_indptr": (INTEGERS, (1,), "integers"),
    "x_indices": (INTEGERS, (1,), "integers"),
    "x_data": (NUMBERS, (1,), "numbers"),
    "x_shape": (INTEGERS, (1,), "two integers"),
    "y": (NUMBERS + "U", (1, 2), "one label a user, or users x labels"),
    "range": ("iuf", (1, 2), "two numbers LOW, HIGH"),
    "binary": (TRUTHS, (0, 1), "True or False"),
    "feature_names": (NUMBERS + "U", (1,), "one name a feature"),
    "panel": ("b", (1,), "True for each user who volunteers and False for the others"),
    **{part: (TRUTHS, (1, 2), "masks of True and False, users or splits x users") for part in PARTS},
}
SIZES = {"x_shape": 2, "range": 2, "binary": 1}
KNOWN_KEYS = {*ARRAYS, "metric", "ids"}


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

    @property
    def user_count(self) -> int:
        """The number of users: of labels, else of feature rows, else one more than the largest number in an edge."""
        if self.labels is not None:
            return len(self.labels)
        if self.features is not None:
            return int(self.features.shape[0])
        return int(self.edges.max()) + 1 if self.edges.size else 0

    @property
    def feature_count(self) -> int:
        """The number of features of a user."""
        return 0 if self.features is None else int(self.features.shape[1])


def read_npz(path: Path, max_gigabytes: float | None = None) -> Raw:
    """Read a graph; reject a file that is not one, or that takes more than ``max_gigabytes`` of memory (4)."""
    most = MAX_GIGABYTES
    if max_gigabytes is not None:
        most = check_number(max_gigabytes, "max_gigabytes", above=0, infinite=True)
    arrays = read_arrays(path, most)
    raw, sparse = raw_of(arrays, path), csr_arrays(arrays, path)
    raw = replace(raw, features=arrays.get("x") if sparse is None else csr_features(path, *sparse))
    _check_fit(raw, path, most)
    return raw


def raw_of(arrays: dict[str, NDArray[Any]], path: Path) -> Raw:
    """Return what a file holds besides its features, checked; of large arrays no value is looked at."""
    if "edges" not in arrays:
        raise InputError(f"{path} has no array 'edges': a graph needs its edges, as pairs of users (E x 2)")
    if not arrays["edges"].size:
        arrays["edges"] = np.empty((0, 2), dtype=np.int64)
    for key, array in arrays.items():
        kinds, dimensions, what = ARRAYS.get(key, (array.dtype.kind, (array.ndim,), ""))
        fits = array.dtype.kind in kinds and array.ndim in dimensions
        if not fits or array.size != SIZES.get(key, array.size) or (key == "edges" and array.shape[1] != 2):
            hint = ": transpose it" if key == "edges" and array.ndim == 2 and len(array) == 2 else ""
            raise InputError(f"{path}: {key} must be {what}, got {array.dtype} of shape {array.shape}{hint}")
    ends, names = arrays.get("range"), arrays.get("feature_names")
    return Raw(
        edges=arrays["edges"],
        labels=arrays.get("y"),
        range=None if ends is None else (float(ends.flat[0]), float(ends.flat[1])),
        binary=bool(arrays.get("binary", False)),
        metric=str(arrays["metric"]) if "metric" in arrays else None,
        feature_names=None if names is None else tuple(map(str, names)),
        given=_masks(arrays, path),
        other_labels={key: array for key, array in arrays.items() if key not in KNOWN_KEYS},
        panel=arrays.get("panel"),
        ids=arrays.get("ids"),
    )


def write_npz(file: IO[bytes] | Path, raw: Raw) -> None:
    """Write a graph in the format of this file."""
    arrays: dict[str, Any] = {"edges": raw.edges, "y": raw.labels, "panel": raw.panel, "ids": raw.ids}
    arrays.update(raw.other_labels)
    if hasattr(raw.features, "tocsr"):
        matrix = raw.features.tocsr()
        values = (matrix.indptr.astype(np.int64), matrix.indices, matrix.data, np.array(matrix.shape))
        arrays.update(zip(CSR_KEYS, values, strict=True))
    else:
        arrays["x"] = raw.features
    arrays["range"] = None if raw.range is None else np.array(raw.range, dtype=np.float64)
    arrays["binary"] = np.array(True) if raw.binary else None
    arrays["metric"] = None if raw.metric in (None, "accuracy") else np.array(raw.metric)
    arrays["feature_names"] = None if raw.feature_names is None else np.array(raw.feature_names)
    if raw.given is not None:
        arrays.update({part: getattr(raw.given, part) for part in PARTS})
    np.savez_compressed(file, **{key: array for key, array in arrays.items() if array is not None})


def _masks(arrays: Mapping[str, NDArray[Any]], path: Path) -> GivenSplit | None:
    masks = [arrays[part] for part in PARTS if part in arrays]
    if not masks:
        return None
    if len(masks) < len(PARTS):
        raise InputError(f"{path} has not all of {', '.join(PARTS)}: add the other masks or leave all out")
    if len({mask.shape for mask in masks}) > 1 or not len(masks[0]):
        raise InputError(f"{path}: {', '.join(PARTS)} must have the same shape: users, or splits x users")
    return GivenSplit(*masks)


def csr_arrays(arrays: Mapping[str, NDArray[Any]], path: Path) -> tuple[NDArray[Any], ...] | None:
    """Return the arrays of sparse features in the order of `CSR_KEYS`; None where there are none."""
    absent = [key for key in CSR_KEYS if key not in arrays]
    if "x" in arrays or len(absent) == len(CSR_KEYS):
        return None
    if absent:
        raise InputError(f"{path} has sparse features without {', '.join(absent)}: add them")
    if not all(0 <= int(side) < MAX_NODES for side in arrays["x_shape"]):
        raise InputError(f"{path}: x_shape must be two numbers from 0 to {MAX_NODES - 1}")
    return tuple(arrays[key] for key in CSR_KEYS)


def csr_features(
    path: Path, indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any], shape: Any
) -> Any:
    """Return sparse features; refuse arrays that do not fit together.

    Parameters
    ----------
    path
        The file, for errors.
    indptr, indices, data, shape
        The arrays of a CSR matrix.
    """
    from scipy.sparse import csr_array

    try:
        matrix = csr_array((data, indices, indptr), shape=tuple(map(int, shape)))
        matrix.check_format()
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{path} has sparse features that do not fit together ({error})") from None
    return matrix


def _check_fit(raw: Raw, path: Path, max_gigabytes: float) -> None:
    """Refuse arrays that are not about the same users, and more users or features than there is memory for."""
    users, rows = raw.user_count, None if raw.features is None else int(raw.features.shape[0])
    if rows not in (None, users):
        raise InputError(f"{path}: features must have one row for each of {users} users, got {rows}")
    if raw.edges.size and not 0 <= int(raw.edges.min()) <= int(raw.edges.max()) < min(users, MAX_NODES):
        raise InputError(f"{path}: edges must name users 0..{min(users, MAX_NODES) - 1}")
    if raw.panel is not None and len(raw.panel) != users:
        raise InputError(f"{path}: panel must be {users} truths, one a user, got {len(raw.panel)}")
    labels = raw.labels.size if raw.labels is not None and raw.labels.ndim == 2 else 0
    size = BYTES_A_USER * users + BYTES_A_FEATURE * raw.feature_count + BYTES_A_LABEL * labels
    check_gigabytes(path, size, max_gigabytes)


def with_label(name: str, raw: Raw, label: str | int | None, allowed: tuple[str, ...] | None = None) -> Raw:
    """Return the data with another label.

    Parameters
    ----------
    name
        The name of the data, for errors.
    raw
        The data.
    label
        The name of an array, or the number of a column of y; None and "y" change nothing.
    allowed
        The names that may be chosen; all by default.
    """
    if label is None or label == "y":
        return raw
    if isinstance(label, str) and not label.isdigit():
        choices = [each for each in ("y", *raw.other_labels) if allowed is None or each in allowed]
        if label not in choices:
            raise InputError(f"{name} has no label {label!r}: choose one of {', '.join(choices)}")
        return replace(raw, labels=raw.other_labels[label])
    if raw.labels is None or raw.labels.ndim != 2:
        raise InputError(f"{name} does not have several labels a user: leave out label={label!r}")
    if not 0 <= int(label) < raw.labels.shape[1]:
        raise InputError(f"label must lie in 0..{raw.labels.shape[1] - 1}, got {label!r}")
    return replace(raw, labels=raw.labels[:, int(label)])


def with_largest_classes(raw: Raw, count: int) -> Raw:
    """Return only the users of the ``count`` largest classes, the edges between them, and classes numbered anew in order."""
    if raw.labels is None or raw.labels.ndim != 1 or raw.labels.dtype.kind not in NUMBERS:
        raise InputError("largest_classes needs one label a user, a number")
    users = len(raw.labels)
    if (raw.features is not None and raw.features.shape[0] != users) or np.max(
        raw.edges, initial=-1
    ) >= users:
        raise InputError(f"largest_classes needs a label for each user, this file has {users}")
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
