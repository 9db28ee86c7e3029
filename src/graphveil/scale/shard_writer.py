"""Write a sharded graph, partition by partition, from links that are in memory or in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.graphs.tables import Column, write_table
from graphveil.graphs.users import Users
from graphveil.mechanisms.reports import row_pointers
from graphveil.scale.edges import Adjacency, Targets, renumbered, taking, write_edges
from graphveil.scale.manifest import (
    EDGES,
    USERS,
    Manifest,
    Partition,
    new_folder,
    part_folder,
    simulated_file,
)
from graphveil.scale.partitioners import Assignment, Layout, assign, check_assignment
from graphveil.scale.shard_reader import TEST, TRAIN, VALIDATION, PublicUsers, Shards, open_shards
from graphveil.scale.simulated_users import GROUP, write_held


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
    if assignment is None:
        assigned, named = assign(Adjacency(graph.indptr, graph.indices), partitions, partitioner, seed)
    else:
        assigned, named = check_assignment(assignment, graph.node_count, partitions), "given"
    layout = Layout.of(assigned, partitions)
    with new_folder(Path(out)) as folder:
        parts = write_public(folder, layout, graph.degrees, in_shard_order(graph, layout), graph)
        if users is not None:
            write_users(folder, layout, users.raw.labels, users.raw.features)
        Manifest.of(graph, named, parts, {"partition_seed": seed, **(source or {})}).write(folder)
    return open_shards(folder)


def write_public(
    folder: Path,
    layout: Layout,
    degrees: NDArray[np.int64],
    neighbours: Iterator[Targets],
    graph: Graph,
) -> tuple[Partition, ...]:
    """Write the public tables of all partitions, and return their entries of the manifest.

    Parameters
    ----------
    folder
        The folder of the sharded graph.
    layout
        The users of each partition.
    degrees
        How many neighbours each user has, by original numbers: (users,) int64.
    neighbours
        The neighbours of all users as shard numbers, in shard order, some at a time.
    graph
        The labels, the split and the ids of all users; its links are not looked at.
    """
    take = taking(neighbours)
    public = PublicUsers(graph.labels, graph.train, graph.validation, graph.test, graph.ids)
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
        yield renumbered(graph.indptr, graph.indices, layout.users(partition), layout.number)[1]


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


def write_users(
    folder: Path, layout: Layout, labels: NDArray[np.int64], features: Any, step: int = GROUP
) -> None:
    """Write what users hold, partition by partition.

    Parameters
    ----------
    folder
        The folder of the sharded graph.
    layout
        The users of each partition.
    labels
        The labels by original number, (users,) int64.
    features
        What gives the features of users by their original numbers, ``features[users]``, dense or sparse; or None.
    step
        The most users whose features are taken at a time.
    """
    for partition in range(layout.partitions):
        own = layout.users(partition)

        def rows(begin: int, end: int, own: NDArray[np.int64] = own) -> Any:
            return None if features is None else features[own[begin:end]]

        write_held(simulated_file(folder, partition), labels[own], rows, step)


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
