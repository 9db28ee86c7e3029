"""Shard a graph that is in a file, without ever holding it as a whole.

In memory are a few numbers for each user (about 80 bytes), and some links or rows at a time, as many as ``max_memory`` allows.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graphveil.checks import check_number, check_whole
from graphveil.errors import InputError
from graphveil.graphs.divide import divide
from graphveil.graphs.graph import MAX_NODES, UNKNOWN, Graph
from graphveil.graphs.npz import Raw
from graphveil.graphs.splits import recipe_of
from graphveil.graphs.store import verify
from graphveil.graphs.users import Users
from graphveil.scale.edge_lists import edge_list, read_labels
from graphveil.scale.feature_stream import write_streamed
from graphveil.scale.manifest import SORTING, Manifest, new_folder
from graphveil.scale.npz_source import NpzSource, npz_source
from graphveil.scale.partitioners import METIS_ENTRIES, Layout, assign, check_partitions
from graphveil.scale.shard_reader import Shards, open_shards
from graphveil.scale.shard_writer import PublicUsers, id_kind, write_held, write_public
from graphveil.scale.sorting import sorted_links

GIGABYTES = 1.0
# What sorting takes for each entry: both ends, the same again while it is sorted, a mask, and what numpy makes on the way.
BYTES_AN_ENTRY = 48
# What METIS takes for each entry: 20 million entries took about 1 GB.
METIS_BYTES = 60
LEAST_ENTRIES = 1 << 16


def shard_files(
    source: str | Path,
    out: str | Path,
    *,
    partitions: int,
    partitioner: str = "auto",
    seed: int = 0,
    split: Any = None,
    range: Any = None,
    labels: str | Path | None = None,
    users: int | None = None,
    ids: bool = False,
    max_memory: float | None = None,
    simulated: bool = True,
) -> Shards:
    """Shard an .npz file, or a table of links (.csv, .parquet), into a new folder, and open it.

    ``seed`` draws the split (``split``, as `load` takes it) and the partitions. ``range`` is the public range of features, where
    the file has none. Of a table, ``labels`` is another one with the columns user and label, ``users`` how many there are (else
    as many as the largest number says), and ``ids`` takes integers for ids. ``max_memory`` are the gigabytes that links and rows may
    take at a time. Without ``simulated`` nothing is written of what users hold.
    """
    limit = check_number(GIGABYTES if max_memory is None else max_memory, "--max-memory", above=0)
    check_partitions(partitions, partitioner)
    most = max(LEAST_ENTRIES, int(limit * 1e9) // BYTES_AN_ENTRY)
    file = Path(source).expanduser()
    with _opened(file, range, labels, users, ids, most // 2) as opened, new_folder(Path(out)) as folder:
        with _scratch(folder) as scratch:
            least = 0 if opened.raw.labels is None else len(opened.raw.labels)
            words = {"named": f"{file}: edges", "instead": _instead(file)}
            adjacency = sorted_links(opened.pairs, opened.users, scratch, most, least=least, **words)
            if not adjacency.users:
                raise InputError(f"{file} has no links and names nobody: give a file with links")
            graph, held = _sides(opened, adjacency.users, split, seed)
            fits = min(METIS_ENTRIES, int(limit * 1e9) // METIS_BYTES)
            assignment, by = assign(adjacency, partitions, partitioner, seed, fits)
            layout = Layout.of(assignment, partitions)
            public = PublicUsers(graph.labels, graph.train, graph.validation, graph.test, graph.ids)
            parts = write_public(folder, layout, adjacency, public, most)
        features = opened.features
        if simulated and features is not None:
            step = max(1, int(limit * 1e9) // (4 * features.bytes_a_row))
            write_streamed(folder, layout, features, held.raw.labels, step)
        elif simulated and graph.class_count:
            write_held(folder, layout, None, held.raw.labels)
        Manifest(
            name=opened.name,
            users=adjacency.users,
            entries=adjacency.entries,
            features=0 if features is None else features.columns,
            range=None if features is None else (features.public.low, features.public.high),
            binary=features is not None and features.binary,
            classes=graph.class_count,
            metric=graph.metric,
            feature_names=None if features is None else opened.raw.feature_names,
            ids=id_kind(graph.ids),
            partitioner=by,
            partitions=parts,
            source={"file": file.name, "split": _told(split), "split_seed": seed, "partition_seed": seed},
        ).write(folder)
    return open_shards(folder)


@contextmanager
def _opened(
    file: Path, range: Any, labels: str | Path | None, users: int | None, ids: bool, step: int
) -> Iterator[NpzSource]:
    if file.suffix.lower() == ".npz":
        if labels is not None or users is not None or ids:
            raise InputError(
                f"{file} says itself how many users there are and what their labels and ids are: leave out --labels, --users and --ids"
            )
        verify(file)
        with npz_source(file, range, step) as source:
            yield source
        return
    if range is not None:
        raise InputError(f"{file} is a table of links, without features: leave out --range")
    yield _table(file, None if labels is None else Path(labels).expanduser(), users, ids)


def _instead(file: Path) -> str:
    """What to do where links name users who are not there."""
    if file.suffix.lower() == ".npz":
        return "number users from 0 on, and give y a number for each (-1 where no label is known)"
    return "number users from 0 on, say how many there are (--users), or take their numbers as ids (--ids)"


def _table(file: Path, labels: Path | None, users: int | None, ids: bool) -> NpzSource:
    """A table of links, with the labels of another one."""
    if users is not None:
        check_whole(users, "users", least=1, most=MAX_NODES)
    links = edge_list(file, ids, labels)
    if links.ids is not None and users is not None:
        raise InputError(f"{file} names users by ids, which tell how many there are: leave out --users")
    count = users if links.ids is None else len(links.ids)
    known = None
    if labels is not None:
        who, told = read_labels(labels, links)
        if who.size and not 0 <= int(who.min()) <= int(who.max()) < (count or MAX_NODES):
            raise InputError(
                f"{labels} has labels of users who are not there: leave them out, or raise --users"
            )
        known = np.full(max(int(who.max(initial=-1)) + 1, count or 0), UNKNOWN, dtype=np.int64)
        known[who] = told
    raw = Raw(edges=np.empty((0, 2), dtype=np.int64), labels=known, ids=links.ids)
    return NpzSource(file.stem, raw, count, links.pairs())


def _sides(source: NpzSource, users: int, split: Any, seed: int) -> tuple[Graph, Users]:
    """Labels, split and ids of all users, by the same checks as for any graph; there are no links and no features in it."""
    raw = replace(source.raw, features=None, binary=False, feature_names=None, panel=None)
    if raw.labels is not None and raw.labels.ndim == 2 and raw.labels.shape[1] > 1:
        raise InputError(
            f"{source.name} has several labels a user, and a sharded graph has one class a user: keep one column of y"
        )
    if raw.labels is not None and len(raw.labels) < users and source.users is None:
        missing = np.full(users - len(raw.labels), UNKNOWN, dtype=np.int64)
        raw = replace(raw, labels=np.concatenate([raw.labels, missing]))
    default = "random" if raw.given is None else "given"
    recipe = recipe_of(default if split is None else split, raw.given)
    return divide(source.name, raw, recipe, seed, users=users)


def _told(split: Any) -> str | None:
    """A split as the manifest names it."""
    return split if split is None or isinstance(split, str) else repr(split)


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """A folder for what is sorted, which is gone afterwards."""
    scratch = folder / SORTING
    scratch.mkdir()
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
