"""Divide a dataset into what the server may know and what only users hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from graphveil.checks import check_array
from graphveil.errors import InputError
from graphveil.graphs.graph import UNKNOWN, Graph, Metric, symmetric_csr, usual_metric
from graphveil.graphs.npz import Raw
from graphveil.graphs.panel import Panel
from graphveil.graphs.splits import Split, SplitRecipe
from graphveil.graphs.users import Users
from graphveil.mechanisms.rows import PublicRange

# More classes than any dataset has; a model has outputs for each of them.
MAX_CLASSES = 1 << 16


def divide(
    name: str, raw: Raw, recipe: SplitRecipe, seed: int, *, users: int | None = None
) -> tuple[Graph, Users]:
    """Divide a dataset into its two sides: the public graph and the users.

    Features without a public range are refused; it is never read off the data. Without labels nobody trains
    or tests: such a graph serves tasks on its links. The number of classes, or of labels where users have
    several each, counts as public.

    Parameters
    ----------
    raw
        The arrays of the dataset.
    recipe
        The recipe of the split.
    seed
        The seed of the split.
    users
        The number of users; by default what ``raw`` says.
    """
    count = raw.user_count if users is None else users
    labels = _checked_labels(raw.labels, count)
    features = checked_features(raw.features, count)
    public = None if features is None else public_range(name, raw.range)
    if raw.binary and features is not None and public is not None:
        check_binary(features, public)
    metric = cast(Metric, raw.metric or usual_metric(labels))
    nobody = np.zeros(count, dtype=bool)
    split = Split(nobody, nobody, nobody) if raw.labels is None else _split(labels, recipe, seed, metric)
    indptr, indices = symmetric_csr(raw.edges, count)
    graph = Graph(
        name=name,
        indptr=indptr,
        indices=indices,
        feature_count=0 if features is None else int(features.shape[1]),
        public_range=public,
        binary=raw.binary and features is not None,
        class_count=labels.shape[1] if labels.ndim == 2 else int(labels.max(initial=UNKNOWN)) + 1,
        labels=_known(labels, split),
        train=split.train,
        validation=split.validation,
        test=split.test,
        metric=metric,
        feature_names=raw.feature_names,
        recipe=recipe,
        panel=None if raw.panel is None else Panel.of(name, features, raw.panel, count),
        ids=None if raw.ids is None else np.array(raw.ids),
    )
    return graph, Users(features, labels, neighbours=(indptr, indices))


def resplit(graph: Graph, users: Users, seed: int) -> tuple[Graph, Users]:
    """Return the same data with the split of another seed, by the same recipe.

    A graph without labels stays as it is. Labels change hands here, on the experimenter's side. The
    volunteers stay the same.

    Parameters
    ----------
    graph, users
        The two sides of the data.
    seed
        The seed of the split.
    """
    if graph.class_count == 0:
        return graph, users
    if graph.recipe is None:
        raise InputError("this graph does not say how it was split: load it, or make it with from_arrays")
    labels = users.raw.labels
    split = _split(labels, graph.recipe, seed, graph.metric)
    known = _known(labels, split)
    again = replace(graph, labels=known, train=split.train, validation=split.validation, test=split.test)
    return again, users


def _split(labels: NDArray[np.int64], recipe: SplitRecipe, seed: int, metric: Metric) -> Split:
    """The split of that seed, on which the metric can be measured."""
    split = recipe.draw(labels, seed)
    tested = labels[split.test]
    if labels.ndim == 2 and not tested.any():
        raise InputError("f1 needs test users who have some label: take another seed or another split")
    if labels.ndim == 1 and metric == "roc_auc" and len(np.unique(tested)) < 2:
        raise InputError("roc_auc needs test users of both classes: take another seed or another split")
    return split


def _known(labels: NDArray[np.int64], split: Split) -> NDArray[np.int64]:
    """The labels that the server knows."""
    known = split.train | split.validation
    return np.where(known[:, None] if labels.ndim == 2 else known, labels, UNKNOWN)


def _checked_labels(labels: Any, count: int) -> NDArray[np.int64]:
    if labels is None:
        return np.full(count, UNKNOWN, dtype=np.int64)
    array = np.asarray(labels)
    if array.ndim == 2 and array.shape[1] > 1:
        return _checked_label_rows(array, count)
    array = array.reshape(-1)
    if array.dtype.kind == "f" and bool((np.isnan(array) | (np.abs(array) <= MAX_CLASSES)).all()):
        known = np.where(np.isnan(array), UNKNOWN, array)
        array = known.astype(np.int64) if bool((known == np.floor(known)).all()) else array
    check_array(array, "labels", f"{count} integers, one a user (-1 where unknown)", "biu", (count,))
    if array.size and int(array.max()) >= MAX_CLASSES:
        raise InputError(f"labels must be numbers below {MAX_CLASSES}: number them 0, 1, … without gaps")
    array = array.astype(np.int64)
    if array.size and int(array.min()) < UNKNOWN:
        raise InputError("labels must be 0, 1, … or -1 where unknown, got a smaller number")
    array.setflags(write=False)
    return array


def _checked_label_rows(array: NDArray[Any], count: int) -> NDArray[np.int64]:
    """Several labels a user (users x labels), each 0 or 1; the row of a user is all -1 where nobody knows it."""
    last = array.shape[1] - 1
    check_array(array, "labels", f"{count} rows of 0 and 1, users x labels", "biuf", (count, last + 1))
    if last >= MAX_CLASSES:
        raise InputError(f"a user may have at most {MAX_CLASSES} labels, got {last + 1} columns")
    unknown = np.isnan(array) | (array == UNKNOWN) if array.dtype.kind == "f" else array == UNKNOWN
    known = (array == 0) | (array == 1)
    if not (known.all(axis=1) | unknown.all(axis=1)).all():
        one = f"or choose one column with label=0..{last}"
        raise InputError(
            f"several labels a user must be 0 or 1, or all of them -1 where unknown: write so, {one}"
        )
    rows = np.where(unknown, UNKNOWN, array).astype(np.int64)
    rows.setflags(write=False)
    return rows


def checked_features(features: Any, count: int) -> Any:
    """Features as they are kept: CSR or a dense array, one row a user, all finite; None without any."""
    if features is None or features.shape[-1] == 0:
        return None
    if hasattr(features, "tocsr"):
        features = features.tocsr()
        if not features.has_canonical_format:
            features = features.copy()
            features.sum_duplicates()
        values = features.data
    else:
        values = features = np.asarray(features)
    if features.ndim != 2 or features.shape[0] != count:
        raise InputError(f"features must be {count} rows, one a user, got the shape {features.shape}")
    if values.dtype.kind not in "biuf":
        raise InputError(f"features must be numbers, got {values.dtype}")
    if not np.isfinite(values).all():
        raise InputError("features must be finite, got NaN or infinity: fill or drop those first")
    return features


def public_range(name: str, ends: tuple[float, float] | None) -> PublicRange:
    """The public range of features that are there; it must be given."""
    if ends is None:
        leak = "It must be known in public; reading it off the data would leak it"
        instead = f"give --range LOW,HIGH, or put it into the file as 'range'. {leak}"
        raise InputError(f"{name} has features but no public range: {instead}")
    return PublicRange.of(ends)


def check_binary(features: Any, public: PublicRange) -> None:
    """Refuse features that are called binary and are not: anything but the two ends of the range."""
    sparse = hasattr(features, "tocsr")
    if sparse and public.low != 0:
        raise InputError(
            f"sparse binary features need the range (0, HIGH), got ({public.low:g}, {public.high:g})"
        )
    values = features.data if sparse else features
    if not ((values == public.low) | (values == public.high)).all():
        ends = f"{public.low:g} and {public.high:g}"
        raise InputError(f"features are called binary but hold more than {ends}: leave binary out")
