"""Variants of a dataset: another label, or only the largest classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from graphveil.checks import check_whole
from graphveil.errors import InputError
from graphveil.graphs.npz import Raw


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
