"""Write a sharded graph, partition by partition, from links that are in memory or in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.graph import Graph, Mask
from graphveil.graphs.tables import Column, write_table, writing_table
from graphveil.graphs.users import Users
from graphveil.mechanisms.reports import row_pointers
from graphveil.scale.edges import Adjacency, Targets, taking, write_edges
from graphveil.scale.manifest import (
    EDGES,
    USERS,
    IdKind,
    Manifest,
    Partition,
    new_folder,
    part_folder,
    simulated_file,
)
from graphveil.scale.partitioners import Assignment, Layout, assign, check_assignment
from graphveil.scale.shard_reader import TEST, TRAIN, VALIDATION, Shards, open_shards
from graphveil.scale.simulated_users import GROUP as HELD_GROUP
from graphveil.scale.simulated_users import held_columns


@dataclass(frozen=True, eq=False)
class PublicUsers:
    """The public data of each user, in any order: the label or -1, the split and the id."""

    labels: NDArray[np.int64]
    train: Mask
    validation: Mask
    test: Mask
    ids: NDArray[Any] | None = None

    def of(self, users: Any) -> PublicUsers:
        """The same of some users."""
        ids = None if self.ids is None else self.ids[users]
        return PublicUsers(
            self.labels[users], self.train[users], self.validation[users], self.test[users], ids
        )


def write_shards(
    graph: Graph,
    out: str | Path,
    *,
    partitions: int,
    assignment: Assignment | None = None,
    users: Users | None = None,
    partitioner: str = "auto",
    seed: int = 0,
    source: dict[str, Any] | None = None,
) -> Shards:
    """Write a graph that is in memory into a new folder, and open it.

    Parameters
    ----------
    graph
        The graph.
    out
        The new folder.
    partitions
        The number of partitions.
    assignment
        The partition of each user, (users,) of integers; None lets the partitioner find one.
    users
        What users hold, for simulations; without it the folder has public data only.
    partitioner
        One of auto, metis, stream and ranges.
    seed
        The seed of the partitioner.
    source
        Where the graph came from, for the manifest.
    """
    check_graph(graph, users)
    adjacency = Adjacency(graph.indptr, graph.indices)
    if assignment is None:
        assigned, named = assign(adjacency, partitions, partitioner, seed)
    else:
        assigned, named = check_assignment(assignment, graph.node_count, partitions), "given"
    layout = Layout.of(assigned, partitions)
    public = PublicUsers(graph.labels, graph.train, graph.validation, graph.test, graph.ids)
    whole = graph.public_range
    with new_folder(Path(out)) as folder:
        parts = write_public(folder, layout, graph.degrees, in_shard_order(graph, layout), public)
        if users is not None:
            write_held(folder, layout, users.raw.features, users.raw.labels)
        Manifest(
            name=graph.name,
            users=graph.node_count,
            entries=adjacency.entries,
            features=graph.feature_count,
            range=None if whole is None else (whole.low, whole.high),
            binary=graph.binary,
            classes=graph.class_count,
            metric=graph.metric,
            feature_names=graph.feature_names,
            ids=id_kind(graph.ids),
            partitioner=named,
            partitions=parts,
            source={"partition_seed": seed, **(source or {})},
        ).write(folder)
    return open_shards(folder)


def id_kind(ids: NDArray[Any] | None) -> IdKind | None:
    """Return the kind of the ids, as the manifest names it."""
    return None if ids is None else "text" if ids.dtype.kind == "U" else "integer"


def write_public(
    folder: Path,
    layout: Layout,
    degrees: NDArray[np.int64],
    neighbours: Iterator[Targets],
    public: PublicUsers,
) -> tuple[Partition, ...]:
    """Write the public tables of all partitions, and return their entries of the manifest.

    Parameters
    ----------
    degrees
        How many neighbours each user has, by original numbers.
    neighbours
        The neighbours of all users as shard numbers, in shard order, some at a time.
    """
    take = taking(neighbours)
    return tuple(
        write_partition(
            folder, partition, int(layout.first[partition]), users, degrees[users], take, public.of(users)
        )
        for partition in range(layout.partitions)
        for users in [layout.users(partition)]
    )


def in_shard_order(graph: Graph, layout: Layout) -> Iterator[Targets]:
    """The neighbours of all users of a graph in memory as shard numbers, in shard order, partition by partition."""
    for partition in range(layout.partitions):
        users = layout.users(partition)
        counts = graph.degrees[users]
        starts = row_pointers(counts)
        at = np.repeat(graph.indptr[users] - starts[:-1], counts) + np.arange(int(starts[-1]))
        # One number for both ends: sorted, it is by user and then by neighbour.
        codes = np.sort((np.repeat(np.arange(len(users)), counts) << 32) | layout.number[graph.indices[at]])
        yield (codes & 0xFFFFFFFF).astype(np.int32)


def write_partition(
    folder: Path,
    partition: int,
    first: int,
    original: NDArray[np.int64],
    degrees: NDArray[np.int64],
    take: Callable[[int], Targets],
    public: PublicUsers,
) -> Partition:
    """Write the public tables of a partition.

    Parameters
    ----------
    folder
        The folder of the sharded graph.
    partition
        The number of the partition.
    first
        The shard number of its first user; the others follow.
    original
        The original numbers of its users, (users,) int64.
    degrees
        Their numbers of neighbours, (users,) int64.
    take
        A function that returns the next so many neighbours, as shard numbers.
    public
        The public data of its users.
    """
    place, pointers = part_folder(folder, partition), row_pointers(degrees)
    cut = write_edges(place / EDGES, first, pointers, take)
    split = TRAIN * public.train + VALIDATION * public.validation + TEST * public.test
    columns: dict[str, Column] = {
        "original": original.astype(np.int64),
        "degree": degrees.astype(np.int32),
        "label": public.labels.astype(np.int32),
        "split": split.astype(np.int8),
    }
    if public.ids is not None:
        columns["id"] = public.ids
    write_table(place / USERS, columns)
    return Partition(first=first, users=len(original), entries=int(pointers[-1]), cut=cut)


def write_held(folder: Path, layout: Layout, features: Any, labels: NDArray[np.int64]) -> None:
    """Write what users hold, partition by partition.

    Parameters
    ----------
    folder
        The folder of the sharded graph.
    layout
        The users of each partition.
    features
        The features by original number, (users, dims) dense or sparse, or None.
    labels
        The labels by original number, (users,) int64.
    """
    for partition in range(layout.partitions):
        users = layout.users(partition)
        with writing_table(simulated_file(folder, partition)) as write:
            for begin in range(0, max(len(users), 1), HELD_GROUP):
                some = users[begin : begin + HELD_GROUP]
                write(held_columns(None if features is None else features[some], labels[some]))


def check_graph(graph: Graph, users: Users | None = None) -> None:
    """Refuse a graph that cannot be stored as a sharded one."""
    if graph.multilabel:
        raise InputError(
            f"users of {graph.name} have several labels each, and a sharded graph has one class a user: choose one label when "
            f"loading, label=0..{graph.class_count - 1}"
        )
    if graph.links is not None or graph.weights is not None:
        raise InputError(
            "links that are held out or weighted cannot be sharded: shard the graph as it was loaded"
        )
    if graph.panel is not None:
        raise InputError(
            f"{graph.name} has {len(graph.panel)} volunteers, and a sharded graph keeps nobody's raw row among what is public: leave "
            "the panel out, graph.without_panel()"
        )
    if users is not None and len(users) != graph.node_count:
        raise InputError(
            f"the graph has {graph.node_count} users, these are {len(users)}: load both together"
        )
    if users is not None and users.have_levels:
        raise InputError("privacy levels are no part of a sharded graph: shard users without levels")
