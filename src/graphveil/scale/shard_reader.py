"""Read a sharded graph: partitions alone or several together, links block by block, or a small one as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.checks import check_whole
from graphveil.errors import InputError
from graphveil.graphs.divide import divide
from graphveil.graphs.graph import UNKNOWN, Graph, Mask
from graphveil.graphs.npz import Raw
from graphveil.graphs.splits import GivenSplit, SplitRecipe, recipe_of
from graphveil.graphs.tables import TableFile
from graphveil.graphs.users import Users
from graphveil.mechanisms.reports import row_pointers
from graphveil.mechanisms.rows import PublicRange
from graphveil.privacy import Plan
from graphveil.scale import edges as edges_file
from graphveil.scale.edges import Block, Targets
from graphveil.scale.manifest import (
    AGAIN,
    EDGES,
    REPORTS,
    SIMULATED,
    USERS,
    Manifest,
    part_folder,
    read_manifest,
    simulated_file,
)
from graphveil.scale.simulated_users import check_labels, read_held, read_held_labels
from graphveil.scale.stored_reports import PLAN, StoredReports, find_reports, kept_plan

# What the column `split` of a user says.
NOBODY, TRAIN, VALIDATION, TEST = range(4)


@dataclass(frozen=True, eq=False)
class PartTable:
    """The users of some partitions that follow each other, in shard order from the shard number ``first`` on.

    ``original`` are their numbers in the graph that was sharded, ``indptr`` the row pointers of their links. Labels are those that
    the server knows: of training and validation users, -1 of all others.
    """

    first: int
    original: NDArray[np.int64]
    indptr: NDArray[np.int64]
    labels: NDArray[np.int64]
    train: Mask
    validation: Mask
    test: Mask
    ids: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.original)


@dataclass(frozen=True)
class Shards:
    """A sharded graph on disk. Nothing of it is in memory but its manifest."""

    path: Path
    manifest: Manifest

    @property
    def partition_count(self) -> int:
        """The number of partitions."""
        return len(self.manifest.partitions)

    @property
    def users(self) -> int:
        """The number of users in all partitions."""
        return self.manifest.users

    @property
    def simulated(self) -> bool:
        """Whether the folder has what users hold, as simulations need it."""
        return (self.path / SIMULATED).is_dir()

    def table(self, first_partition: int, last_partition: int) -> PartTable:
        """The users of the partitions from the first to before the last."""
        parts = [self._part(partition) for partition in self._range(first_partition, last_partition)]
        names = ("original", "degree", "label", "split")
        original, degree, label, split = (np.concatenate([part[name] for part in parts]) for name in names)
        return PartTable(
            self.manifest.partitions[first_partition].first,
            original,
            row_pointers(degree.astype(np.int64)),
            label.astype(np.int64),
            split == TRAIN,
            split == VALIDATION,
            split == TEST,
            None if self.manifest.ids is None else np.concatenate([part["id"] for part in parts]),
        )

    def edge_blocks(self, first_partition: int, last_partition: int) -> Iterator[Block]:
        """The links of these partitions, some rows at a time: from row, to row, and the neighbours of all between.

        Rows are those of `table`, in order and complete. One block is in memory at a time.
        """
        rows = 0
        for partition in self._range(first_partition, last_partition):
            _, pointers, file = self._links(partition)
            for begin, end, targets in edges_file.edge_blocks(file, pointers, self.users):
                yield rows + begin, rows + end, targets
            rows += self.manifest.partitions[partition].users

    def edges(self, first_partition: int, last_partition: int) -> Targets:
        """The neighbours of all users of these partitions, as shard numbers; `table` has the row pointers."""
        parts = self._range(first_partition, last_partition)
        found = np.empty(sum(self.manifest.partitions[part].entries for part in parts), dtype=np.int32)
        place = 0
        for partition in parts:
            first, pointers, file = self._links(partition)
            for begin, end, targets in edges_file.edge_blocks(file, pointers, self.users):
                edges_file.check_order(file, first + begin, pointers[begin : end + 1], targets)
                found[place : place + len(targets)] = targets
                place += len(targets)
        return found

    def degrees(self, numbers: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the number of neighbours of these users, given by ascending shard numbers, (users,) int32.

        Only partitions that hold some of them are read.
        """
        within = not numbers.size or 0 <= int(numbers[0]) <= int(numbers[-1]) < self.users
        if not within or (np.diff(numbers) < 0).any():
            raise InputError(f"users must be shard numbers of 0..{self.users - 1}, in ascending order")
        found = np.empty(len(numbers), dtype=np.int32)
        ends = np.searchsorted(numbers, [part.end for part in self.manifest.partitions])
        begin = 0
        for partition, end in enumerate(ends):
            if end > begin:
                own = numbers[begin:end] - self.manifest.partitions[partition].first
                found[begin:end] = self._degrees(partition)[own]
            begin = int(end)
        return found

    def simulated_users(self, partition: int) -> Users:
        """Return the users of one partition with what they hold, for simulations.

        Refused where the folder does not have it.
        """
        file, users = self._held(partition)
        return Users(*read_held(file, users, self.manifest.features, self.manifest.classes))

    def simulated_labels(self, partition: int) -> NDArray[np.int64]:
        """Everybody's label in one partition, for whoever measures a simulation; no row is read."""
        return read_held_labels(*self._held(partition), self.manifest.classes)

    def reports(self, plan: Plan) -> StoredReports | None:
        """Return the answers to a plan, partition by partition; None where it was not asked or not kept."""
        return find_reports(self.path, self.manifest, plan)

    def _held(self, partition: int) -> tuple[Path, int]:
        """The file of what the users of a partition hold, and how many they are."""
        if not self.simulated:
            raise InputError(
                f"{self.path} does not have what users hold, so nobody answers here: use the reports that it has, or shard a graph "
                "with its features for a simulation"
            )
        (partition,) = self._range(partition, partition + 1)
        return simulated_file(self.path, partition), self.manifest.partitions[partition].users

    def _range(self, first: int, last: int) -> range:
        check_whole(first, "first_partition", least=0, most=self.partition_count - 1)
        check_whole(last, "last_partition", least=first + 1, most=self.partition_count)
        return range(first, last)

    def _links(self, partition: int) -> tuple[int, NDArray[np.int64], Path]:
        """The first user of a partition, the row pointers of its links, and their file."""
        pointers = row_pointers(self._degrees(partition).astype(np.int64))
        return self.manifest.partitions[partition].first, pointers, part_folder(self.path, partition) / EDGES

    def _degrees(self, partition: int) -> NDArray[np.int32]:
        table = self._users(partition)
        return self._checked_degrees(partition, table.array("degree", np.int32), table.file)

    def _users(self, partition: int) -> TableFile:
        table = TableFile(part_folder(self.path, partition) / USERS, AGAIN)
        table.check_rows(self.manifest.partitions[partition].users)
        return table

    def _checked_degrees(self, partition: int, degree: NDArray[np.int32], file: Path) -> NDArray[np.int32]:
        entries = self.manifest.partitions[partition].entries
        if (degree.size and int(degree.min()) < 0) or int(degree.sum(dtype=np.int64)) != entries:
            raise InputError(f"{file} is damaged: its degrees do not sum up to {entries}; {AGAIN}")
        return degree

    def _part(self, partition: int) -> dict[str, NDArray[Any]]:
        """All columns of a partition's users, checked."""
        table = self._users(partition)
        kinds = {"original": np.int64, "degree": np.int32, "label": np.int32, "split": np.int8}
        read = table.read([*kinds, *(["id"] if self.manifest.ids else [])])
        found = {name: table.checked_array(read[name], kind, name) for name, kind in kinds.items()}
        self._checked_degrees(partition, found["degree"], table.file)
        original, label, split = found["original"], found["label"], found["split"]
        if original.size and not 0 <= int(original.min()) <= int(original.max()) < self.users:
            raise InputError(
                f"{table.file} is damaged: original numbers must be 0..{self.users - 1}; {AGAIN}"
            )
        check_split(split, table.file)
        known = (split == TRAIN) | (split == VALIDATION)
        if ((label != UNKNOWN) & ~known).any():
            raise InputError(
                f"{table.file} has labels of users who neither train nor validate: they belong to the users; {AGAIN}"
            )
        check_labels(label, self.manifest.classes, table.file)
        if self.manifest.ids is not None:
            wanted = "U" if self.manifest.ids == "text" else "iu"
            if isinstance(read["id"], np.ndarray) and read["id"].dtype.kind in wanted:
                found["id"] = read["id"]
            elif not original.size:
                found["id"] = np.empty(0, dtype=np.str_ if wanted == "U" else np.int64)
            else:
                raise InputError(f"{table.file} is damaged: ids must be {self.manifest.ids}; {AGAIN}")
        return found


def check_split(split: NDArray[np.int8], file: Path) -> None:
    """Refuse an invalid split."""
    if split.size and not NOBODY <= int(split.min()) <= int(split.max()) <= TEST:
        raise InputError(f"{file} is damaged: split must be {NOBODY}..{TEST}; {AGAIN}")


def open_shards(path: str | Path) -> Shards:
    """Open a sharded graph; one that is incomplete, damaged or of another version is refused with what to do."""
    folder = Path(path).expanduser()
    shards = Shards(folder, read_manifest(folder))
    for partition in range(shards.partition_count):
        for file in (part_folder(folder, partition) / USERS, part_folder(folder, partition) / EDGES):
            if not file.is_file():
                raise InputError(f"{file} is missing: copy the whole folder, or {AGAIN}")
    return shards


def facts(shards: Shards) -> dict[str, Any]:
    """Return all that is known of a sharded graph, as JSON has it. Of users only the split is read."""
    manifest = shards.manifest
    counts = np.zeros(TEST + 1, dtype=np.int64)
    for partition in range(shards.partition_count):
        table = TableFile(part_folder(shards.path, partition) / USERS, AGAIN)
        split = table.array("split", np.int8)
        check_split(split, table.file)
        counts += np.bincount(split, minlength=TEST + 1)
    mean = manifest.users / shards.partition_count
    largest = max(part.users for part in manifest.partitions)
    return {
        **manifest.model_dump(mode="json"),
        "path": str(shards.path),
        "links": manifest.entries // 2,
        "cut": manifest.cut,
        "balance": largest / mean if mean else 1.0,
        "split": {
            "train": int(counts[TRAIN]),
            "validation": int(counts[VALIDATION]),
            "test": int(counts[TEST]),
        },
        "simulated": shards.simulated,
        "reports": _reports(shards),
        "bytes": sum(file.stat().st_size for file in shards.path.rglob("*") if file.is_file()),
    }


def _reports(shards: Shards) -> list[dict[str, Any]]:
    """The plans whose answers are kept, by the beginnings of their digests."""
    kept = []
    for file in sorted((shards.path / REPORTS).glob(f"*/{PLAN}")):
        _, asked, answered = kept_plan(file)
        kept.append({"plan": file.parent.name, "asked": asked, "answered": answered})
    return kept


# Entries (two for each link) above which a sharded graph is not loaded as a whole.
MOST_ENTRIES = 5_000_000


def too_large(shards: Shards) -> bool:
    """Return whether a sharded graph is too large to load whole, and so is learned from in its shards."""
    return shards.manifest.entries > MOST_ENTRIES


def load_whole(path: str | Path, seed: int = 0, split: Any = None) -> tuple[Graph, Users]:
    """Load a sharded graph whole, with its original numbers, and its users; a large one is refused.

    Where the folder has no data of users, they have the labels that the server knows and nothing more.

    Parameters
    ----------
    path
        The folder of the sharded graph.
    seed
        The seed of another split.
    split
        Another split than the stored one, which needs the data of users; None keeps the stored one.
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
