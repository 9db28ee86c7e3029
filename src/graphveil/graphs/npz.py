"""The file format: one ``NAME.npz`` a graph, readable with numpy alone.

    edges                                       int, E x 2: pairs of users, in any order
    x                                           dense features, users x features
    x_indptr, x_indices, x_data, x_shape        or sparse features, as CSR; or none at all
    y                                           int, one label a user, -1 where unknown (or users x labels, see `load`)
    range                                       two numbers: the public range of the features (one's own data)
    binary                                      whether features are only ever the two ends of the range (optional)
    metric                                      accuracy or roc_auc (optional)
    feature_names                               one name a feature (optional)
    train, validation, test                     masks, users or splits x users (optional)

Any other array with one entry a user is a label of its own, to be chosen by its name.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.splits import PARTS, GivenSplit

CSR_KEYS = ("x_indptr", "x_indices", "x_data", "x_shape")
KNOWN_KEYS = {"edges", "x", "y", "range", "binary", "metric", "feature_names", *CSR_KEYS, *PARTS}


@dataclass(frozen=True, eq=False)
class Raw:
    """A whole dataset before it is divided: what the server may know and what only users hold, together."""

    edges: NDArray[Any]
    labels: NDArray[Any] | None
    features: Any = None
    range: tuple[float, float] | None = None
    binary: bool = False
    metric: str = "accuracy"
    feature_names: tuple[str, ...] | None = None
    given: GivenSplit | None = None
    other_labels: Mapping[str, NDArray[Any]] = field(default_factory=dict)


def read_npz(path: Path) -> Raw:
    """Read a graph; a file that is none is refused."""
    try:
        with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
    except FileNotFoundError:
        raise InputError(f"there is no file {path}: give the path of an .npz file") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is not a graph in an .npz file ({error})") from None
    if "edges" not in arrays:
        raise InputError(f"{path} has no array 'edges': a graph needs its edges, as pairs of users (E x 2)")
    masks = [arrays[part] for part in PARTS if part in arrays]
    if masks and len(masks) < len(PARTS):
        raise InputError(
            f"{path} has some masks but not all of {', '.join(PARTS)}: add the others or leave all out"
        )
    return Raw(
        edges=arrays["edges"],
        labels=arrays.get("y"),
        features=_features(arrays, path),
        range=_range(arrays, path),
        binary=bool(arrays.get("binary", False)),
        metric=str(arrays.get("metric", "accuracy")),
        feature_names=tuple(map(str, arrays["feature_names"])) if "feature_names" in arrays else None,
        given=GivenSplit(*masks) if masks else None,
        other_labels={key: array for key, array in arrays.items() if key not in KNOWN_KEYS},
    )


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
    if raw.metric != "accuracy":
        arrays["metric"] = np.array(raw.metric)
    if raw.feature_names is not None:
        arrays["feature_names"] = np.array(raw.feature_names)
    if raw.given is not None:
        arrays.update({part: getattr(raw.given, part) for part in PARTS})
    with open(path, "wb") as file:
        np.savez_compressed(file, **arrays)


def _features(arrays: Mapping[str, NDArray[Any]], path: Path) -> Any:
    if "x" in arrays:
        return arrays["x"]
    if not any(key in arrays for key in CSR_KEYS):
        return None
    absent = [key for key in CSR_KEYS if key not in arrays]
    if absent:
        raise InputError(
            f"{path} has sparse features without {', '.join(absent)}: all of {', '.join(CSR_KEYS)} are needed"
        )
    from scipy.sparse import csr_array

    parts = (arrays["x_data"], arrays["x_indices"], arrays["x_indptr"])
    try:
        matrix = csr_array(parts, shape=tuple(int(size) for size in arrays["x_shape"]))
        matrix.check_format()
    except (ValueError, TypeError) as error:
        raise InputError(f"{path} has sparse features that do not fit together ({error})") from None
    return matrix


def _range(arrays: Mapping[str, NDArray[Any]], path: Path) -> tuple[float, float] | None:
    if "range" not in arrays:
        return None
    ends = np.ravel(arrays["range"])
    if ends.shape != (2,) or ends.dtype.kind not in "iuf":
        raise InputError(f"{path}: range must be two numbers LOW, HIGH, got {arrays['range']!r}")
    return float(ends[0]), float(ends[1])
