"""A small sharded graph as a whole: the two sides of a dataset, in original numbering."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.divide import divide
from graphveil.graphs.graph import Graph
from graphveil.graphs.npz import Raw
from graphveil.graphs.shards.reader import PartTable, Shards, open_shards
from graphveil.graphs.splits import GivenSplit, SplitRecipe, recipe_of
from graphveil.graphs.users import Users
from graphveil.mechanisms.reports import row_pointers
from graphveil.mechanisms.rows import PublicRange

# Entries (two for each link) above which a sharded graph is not loaded as a whole.
MOST_ENTRIES = 5_000_000


def too_large(shards: Shards) -> bool:
    """Whether a sharded graph is learned from in its shards, and never loaded as a whole."""
    return shards.manifest.entries > MOST_ENTRIES


def load_whole(path: str | Path, seed: int = 0, split: Any = None) -> tuple[Graph, Users]:
    """The graph that was sharded, with its own numbers, and what its users hold; a large one is refused.

    The split is the stored one; another one can be drawn where the folder has what users hold. Else users have the labels that the
    server knows, and nothing more.
    """
    shards = open_shards(path)
    manifest = shards.manifest
    if too_large(shards):
        raise InputError(
            f"{path} is a sharded graph of {manifest.entries} entries, and at most {MOST_ENTRIES} are loaded as a whole: run it in "
            f"shards, `graphveil run METHOD --data {path} --workers N`"
        )
    table = shards.table(0, shards.partition_count)
    place = np.zeros(shards.users, dtype=np.int64)
    place[table.original] = np.arange(shards.users)
    if (table.original[place] != np.arange(shards.users)).any():
        raise InputError(f"{path} is damaged: its users are not all there; write it again")
    given = GivenSplit(table.train[place], table.validation[place], table.test[place])
    recipe: SplitRecipe = given if split is None else recipe_of(split, given)
    if shards.simulated:
        return _both_sides(shards, table, place, recipe, seed)
    if recipe is not given:
        raise InputError(
            f"{path} does not have the labels of everybody, so no other split can be drawn: leave split out"
        )
    graph = _public(shards, table, place, given)
    return graph, Users(None, np.array(graph.labels), neighbours=(graph.indptr, graph.indices))


def _both_sides(
    shards: Shards, table: PartTable, place: NDArray[np.int64], recipe: SplitRecipe, seed: int
) -> tuple[Graph, Users]:
    held = [shards.simulated_users(partition).raw for partition in range(shards.partition_count)]
    labels = np.concatenate([each.labels for each in held])[place]
    rows = [each.features for each in held if len(each.labels)]
    features = None if not rows or rows[0] is None else _stacked(rows)[place]
    manifest = shards.manifest
    known = bool(manifest.classes)
    indptr, indices = _links(shards, table, place)
    raw = Raw(
        edges=np.empty((0, 2), dtype=np.int64),
        labels=labels if known else None,
        features=features,
        range=manifest.range,
        binary=manifest.binary,
        metric=manifest.metric,
        feature_names=manifest.feature_names,
        ids=None if table.ids is None else table.ids[place],
    )
    divided, users = divide(manifest.name, raw, recipe, seed, users=shards.users)
    return _with_links(divided, users, indptr, indices, manifest.classes)


def _with_links(
    graph: Graph, users: Users, indptr: NDArray[np.int64], indices: NDArray[np.int32], classes: int
) -> tuple[Graph, Users]:
    whole = replace(graph, indptr=indptr, indices=indices, class_count=classes)
    return whole, Users(users.raw.features, users.raw.labels, neighbours=(indptr, indices))


def _public(shards: Shards, table: PartTable, place: NDArray[np.int64], given: GivenSplit) -> Graph:
    """The public side alone."""
    manifest = shards.manifest
    indptr, indices = _links(shards, table, place)
    return Graph(
        name=manifest.name,
        indptr=indptr,
        indices=indices,
        feature_count=manifest.features,
        public_range=None if manifest.range is None else PublicRange.of(manifest.range),
        binary=manifest.binary,
        class_count=manifest.classes,
        labels=table.labels[place],
        train=given.train[0],
        validation=given.validation[0],
        test=given.test[0],
        metric=manifest.metric,
        feature_names=manifest.feature_names,
        recipe=given,
        ids=None if table.ids is None else table.ids[place],
    )


def _links(
    shards: Shards, table: PartTable, place: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """All links in original numbering."""
    degrees = np.diff(table.indptr)
    sources = np.repeat(table.original, degrees)
    targets = table.original[shards.edges(0, shards.partition_count)]
    codes = np.sort((sources << 32) | targets)
    return row_pointers(degrees[place]), (codes & 0xFFFFFFFF).astype(np.int32)


def _stacked(parts: list[Any]) -> Any:
    if not hasattr(parts[0], "tocsr"):
        return np.concatenate(parts)
    from scipy.sparse import vstack

    return vstack(parts, format="csr")
