"""An .npz file as a source of shards: what is small is read, links and features come in chunks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.divide import public_range
from graphveil.graphs.npz import CSR_KEYS, KNOWN_KEYS, Raw, raw_of
from graphveil.mechanisms.rows import PublicRange
from graphveil.scale.feature_stream import FeatureStream
from graphveil.scale.npz_stream import NpzStream

# What is never read as a whole.
LARGE = {"edges", "x", "x_indices", "x_data"}


@dataclass(frozen=True, eq=False)
class NpzSource:
    """A graph in a file: its links in chunks, all that is small, and its features in chunks.

    ``raw`` has neither edges nor features. ``users`` is None where only links tell how many there are.
    """

    name: str
    raw: Raw
    users: int | None
    pairs: Iterator[NDArray[Any]]
    features: FeatureStream | None = None


@contextmanager
def npz_source(path: Path, range: Any, step: int) -> Iterator[NpzSource]:
    """An .npz file whose links are read ``step`` at a time; ``range`` overrides the one that it names."""
    with NpzStream(path) as stream:
        if "edges" not in stream:
            raise InputError(
                f"{path} has no array 'edges': a graph needs its edges, as pairs of users (E x 2)"
            )
        header = stream.facts("edges")
        shape, kind = header.shape, header.dtype
        if np.prod(shape) and (len(shape) != 2 or shape[1] != 2 or kind.kind not in "iu"):
            raise InputError(f"{path}: edges must be pairs of integers (E x 2), got {kind} of shape {shape}")
        arrays = {key: stream.whole(key) for key in stream if key in KNOWN_KEYS - LARGE}
        raw = raw_of(arrays, path, np.empty((0, 2), dtype=np.int64), None)
        if raw.panel is not None and raw.panel.any():
            raise InputError(
                f"{path} has {int(raw.panel.sum())} volunteers, and a sharded graph keeps nobody's raw row among what is public: "
                "leave the panel out"
            )
        if range is not None:
            chosen = PublicRange.of(range)
            raw = replace(raw, range=(chosen.low, chosen.high))
        features = _features(stream, arrays, raw, path)
        counts = [len(raw.labels)] if raw.labels is not None else []
        counts += [features.users] if features is not None else []
        if len(set(counts)) > 1:
            raise InputError(
                f"{path}: features must have one row for each of {counts[0]} users, got {counts[1]}"
            )
        pairs = stream.rows("edges", step) if np.prod(shape) else iter(())
        yield NpzSource(path.stem, raw, counts[0] if counts else None, pairs, features)


def _features(
    stream: NpzStream, arrays: dict[str, NDArray[Any]], raw: Raw, path: Path
) -> FeatureStream | None:
    sparse = [key for key in CSR_KEYS if key in stream]
    if "x" in stream:
        header = stream.facts("x")
        shape, kind = header.shape, header.dtype
        if len(shape) != 2 or kind.kind not in "biuf":
            raise InputError(f"{path}: x must be numbers, users x features, got {kind} of shape {shape}")
        pointers = None
    elif sparse:
        if len(sparse) < len(CSR_KEYS):
            raise InputError(f"{path} has sparse features without all of {', '.join(CSR_KEYS)}")
        pointers = arrays["x_indptr"].astype(np.int64)
        shape = tuple(int(side) for side in arrays["x_shape"])
        entries = stream.facts("x_indices").shape
        if (
            len(shape) != 2
            or pointers.shape != (shape[0] + 1,)
            or entries != stream.facts("x_data").shape
            or entries != (int(pointers[-1]),)
            or pointers[0] != 0
            or (np.diff(pointers) < 0).any()
        ):
            raise InputError(f"{path} has sparse features that do not fit together")
    else:
        return None
    if shape[1] == 0:
        return None
    public = public_range(path.stem, raw.range)
    return FeatureStream(stream, shape[0], shape[1], public, raw.binary, pointers)
