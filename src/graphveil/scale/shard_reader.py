"""Read a sharded graph: partitions alone or several together, links block by block, or a small one as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.checks import check_whole
from graphveil.errors import InputError
from graphveil.graphs.divide import check_binary, checked_features, resplit
from graphveil.graphs.graph import UNKNOWN, Graph, Mask
from graphveil.graphs.splits import GivenSplit, SplitRecipe, recipe_of
from graphveil.graphs.tables import Lists, TableFile
from graphveil.graphs.users import Users
from graphveil.mechanisms.reports import row_pointers
from graphveil.privacy import Plan
from graphveil.scale import edges as edges_file
from graphveil.scale.edges import Block, Targets, renumbered
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
class PublicUsers:
    """The public data of each user: the label, or -1 where only the user knows it, the split, and the id."""

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


@dataclass(frozen=True, eq=False, kw_only=True)
class PartTable(PublicUsers):
    """The users of some partitions that follow each other, in shard order from the shard number ``first`` on.

    ``original`` are their numbers in the graph that was sharded, ``indptr`` the row pointers of their links.
    """

    first: int
    original: NDArray[np.int64]
    indptr: NDArray[np.int64]

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
            label.astype(np.int64),
            split == TRAIN,
            split == VALIDATION,
            split == TEST,
            None if self.manifest.ids is None else np.concatenate([part["id"] for part in parts]),
            first=self.manifest.partitions[first_partition].first,
            original=original,
            indptr=row_pointers(degree.astype(np.int64)),
        )

    def edge_blocks(
        self, first_partition: int, last_partition: int, *, check: bool = False
    ) -> Iterator[Block]:
        """The links of these partitions, some rows at a time: from row, to row, and the neighbours of all between.

        Rows are those of `table`, in order and complete. One block is in memory at a time.

        Parameters
        ----------
        first_partition, last_partition
            The partitions from the first to before the last.
        check
            Whether neighbours that are not in ascending order are refused, which takes time.
        """
        parts = self._range(first_partition, last_partition)
        start = self.manifest.partitions[parts.start].first
        for partition in parts:
            first = self.manifest.partitions[partition].first
            pointers = row_pointers(self._degrees(partition).astype(np.int64))
            file = part_folder(self.path, partition) / EDGES
            for begin, end, targets in edges_file.edge_blocks(file, pointers, self.users):
                if check:
                    edges_file.check_order(file, first + begin, pointers[begin : end + 1], targets)
                yield first - start + begin, first - start + end, targets

    def edges(self, first_partition: int, last_partition: int) -> Targets:
        """The neighbours of all users of these partitions, as shard numbers; `table` has the row pointers."""
        parts = self._range(first_partition, last_partition)
        found = np.empty(sum(self.manifest.partitions[part].entries for part in parts), dtype=np.int32)
        place = 0
        for _, _, targets in self.edge_blocks(first_partition, last_partition, check=True):
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
        """Return everybody's label in one partition, (users,) int64, to measure a simulation; no row is read."""
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

    def _users(self, partition: int) -> TableFile:
        table = TableFile(part_folder(self.path, partition) / USERS, AGAIN)
        table.check_rows(self.manifest.partitions[partition].users)
        return table

    def _degrees(self, partition: int, users: TableFile | None = None) -> NDArray[np.int32]:
        table, entries = users or self._users(partition), self.manifest.partitions[partition].entries
        degree = table.array("degree", np.int32)
        if (degree.size and int(degree.min()) < 0) or int(degree.sum(dtype=np.int64)) != entries:
            raise InputError(f"{table.file} is damaged: its degrees do not sum up to {entries}; {AGAIN}")
        return degree

    def _part(self, partition: int) -> dict[str, NDArray[Any]]:
        """All columns of a partition's users, checked."""
        table = self._users(partition)
        kinds = {"original": np.int64, "label": np.int32, "split": np.int8}
        found = {name: table.array(name, kind) for name, kind in kinds.items()}
        found["degree"] = self._degrees(partition, table)
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
            wanted, ids = "U" if self.manifest.ids == "text" else "iu", table.column("id")
            if not original.size:
                ids = np.empty(0, dtype=np.str_ if wanted == "U" else np.int64)
            if isinstance(ids, Lists) or ids.dtype.kind not in wanted:
                raise InputError(f"{table.file} is damaged: ids must be {self.manifest.ids}; {AGAIN}")
            found["id"] = ids
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
    manifest, everybody = shards.manifest, np.arange(shards.users)
    if too_large(shards):
        raise InputError(
            f"{path} is a sharded graph of {manifest.entries} entries, and at most {MOST_ENTRIES} are loaded as a whole: run it in "
            f"shards, `graphveil run METHOD --data {path} --workers N`"
        )
    table = shards.table(0, shards.partition_count)
    place = np.zeros(shards.users, dtype=np.int64)
    place[table.original] = everybody
    if (table.original[place] != everybody).any():
        raise InputError(f"{path} is damaged: its users are not all there; write it again")
    public = table.of(place)
    given = GivenSplit(public.train, public.validation, public.test)
    recipe: SplitRecipe = given if split is None else recipe_of(split, given)
    if recipe is not given and not shards.simulated:
        raise InputError(
            f"{path} does not have the labels of everybody, so no other split can be drawn: leave split out"
        )
    neighbours = renumbered(table.indptr, shards.edges(0, shards.partition_count), place, table.original)
    indptr, indices = neighbours
    graph = Graph(**manifest.graph_fields, **vars(public), indptr=indptr, indices=indices, recipe=recipe)
    if not shards.simulated:
        return graph, Users(None, np.array(graph.labels), neighbours=neighbours)
    held = [shards.simulated_users(partition).raw for partition in range(shards.partition_count)]
    rows = [each.features for each in held if len(each.labels)]
    features = None if not rows or rows[0] is None else checked_features(_stacked(rows)[place], shards.users)
    if manifest.binary and graph.public_range is not None and features is not None:
        check_binary(features, graph.public_range)
    users = Users(features, np.concatenate([each.labels for each in held])[place], neighbours=neighbours)
    return (graph, users) if recipe is given else resplit(graph, users, seed)


def _stacked(parts: list[Any]) -> Any:
    if not hasattr(parts[0], "tocsr"):
        return np.concatenate(parts)
    from scipy.sparse import vstack

    return vstack(parts, format="csr")
