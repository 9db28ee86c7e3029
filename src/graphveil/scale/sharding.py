"""Shard a graph that is in a file, without ever holding it as a whole.

In memory are a few numbers for each user (about 80 bytes), and some links or rows at a time, as many as ``max_memory`` allows. A file is
an .npz file, whose large arrays are unpacked into a folder and read some rows at a time; or a table of links (.csv, or .parquet with the
columns source and target). Integers in a table are the numbers of users. Text is taken for ids, and so are integers where the caller says
so: users are then numbered by the order of their ids.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyarrow import types

from graphveil.checks import check_number, check_whole
from graphveil.errors import InputError
from graphveil.files import MAX_GIGABYTES, array_members, readable, unpack
from graphveil.graphs.divide import check_binary, checked_features, divide, public_range
from graphveil.graphs.graph import MAX_NODES, UNKNOWN, Graph
from graphveil.graphs.npz import KNOWN_KEYS, Raw, csr_arrays, csr_features, raw_of
from graphveil.graphs.splits import recipe_of
from graphveil.graphs.store import verify
from graphveil.graphs.tables import PairTable, text_array
from graphveil.graphs.users import Users
from graphveil.mechanisms.reports import gathered
from graphveil.mechanisms.rows import PublicRange
from graphveil.scale.link_database import LinkDatabase
from graphveil.scale.manifest import SORTING, Manifest, new_folder
from graphveil.scale.partitioners import METIS_ENTRIES, Layout, assign, check_partitions
from graphveil.scale.shard_reader import Shards, open_shards
from graphveil.scale.shard_writer import write_public, write_users
from graphveil.scale.simulated_users import GROUP

GIGABYTES = 1.0
# What METIS takes for each entry: 20 million entries took about 1 GB.
METIS_BYTES = 60
# Links of an .npz file that are read at a time.
ROWS = 1 << 20
# Arrays of an .npz file that are never read as a whole.
LARGE = ("edges", "x", "x_indices", "x_data")
LINKS, LABELS = ("source", "target"), ("user", "label")
# What to do where a table cannot be read.
MEND = "mend it; where ids look like numbers at first and like words later, take --ids"
NO_LINKS = np.empty((0, 2), dtype=np.int64)


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

    Parameters
    ----------
    partitions, partitioner
        How many partitions, and how users are divided among them.
    seed
        Draws the split and the partitions.
    split
        As `load` takes it.
    range
        The public range of features, where the file has none.
    labels
        Beside a table of links, another one with the columns user and label.
    users
        How many users a table has; else as many as the largest number says.
    ids
        Whether integers of a table are ids.
    max_memory
        The gigabytes that links and rows may take at a time.
    simulated
        Whether to write what users hold.
    """
    limit = check_number(GIGABYTES if max_memory is None else max_memory, "--max-memory", above=0)
    check_partitions(partitions, partitioner)
    file = Path(source).expanduser()
    with new_folder(Path(out)) as folder:
        with LinkDatabase(folder / SORTING, limit) as database:
            if file.suffix.lower() == ".npz":
                if labels is not None or users is not None or ids:
                    raise InputError(
                        f"{file} says itself how many users there are and what their labels and ids are: leave out --labels, --users and --ids"
                    )
                raw, known, features = _open_npz(file, range, database)
                instead = "number users from 0 on, and give y a number for each (-1 where no label is known)"
            else:
                if range is not None:
                    raise InputError(f"{file} is a table of links, without features: leave out --range")
                raw, known = _open_table(file, labels, users, ids, database)
                features = None
                instead = "number users from 0 on, say how many there are (--users), or take their numbers as ids (--ids)"
            least = 0 if raw.labels is None else len(raw.labels)
            count = database.count_users(known, least, f"{file}: edges", instead)
            if not count:
                raise InputError(f"{file} has no links and names nobody: give a file with links")
            adjacency = database.sort(count)
            graph, held = _sides(file.stem, raw, known, count, split, seed)
            fits = min(METIS_ENTRIES, int(limit * 1e9) // METIS_BYTES)
            assignment, by = assign(adjacency, partitions, partitioner, seed, fits)
            layout = Layout.of(assignment, partitions)
            parts = write_public(folder, layout, adjacency.degrees, database.in_shard_order(layout), graph)
            step = GROUP
            if features is not None:
                graph = features.described(graph, raw.feature_names)
                step = min(step, max(1, int(limit * 1e9) // (4 * features.bytes_a_row)))
            if simulated and (features is not None or graph.class_count):
                write_users(folder, layout, held.raw.labels, features, step)
        about = {
            "file": file.name,
            "split": split if split is None or isinstance(split, str) else repr(split),
            "split_seed": seed,
            "partition_seed": seed,
        }
        Manifest.of(graph, by, parts, about).write(folder)
    return open_shards(folder)


@dataclass(frozen=True, eq=False)
class FeatureFiles:
    """Features in .npy files: dense (``x``), or sparse, where ``pointers`` say where each user's row begins."""

    path: Path
    files: Mapping[str, Path]
    shape: tuple[int, int]
    public: PublicRange
    binary: bool
    pointers: NDArray[np.int64] | None = None

    @property
    def bytes_a_row(self) -> int:
        """The bytes that a row takes in memory, on average."""
        if self.pointers is None:
            return self.shape[1] * _mapped(self.files["x"]).dtype.itemsize
        entry = sum(_mapped(self.files[key]).dtype.itemsize for key in ("x_indices", "x_data"))
        return 8 + entry * int(self.pointers[-1]) // max(self.shape[0], 1)

    def described(self, graph: Graph, names: tuple[str, ...] | None) -> Graph:
        """The graph, with what is public of these features."""
        return replace(
            graph,
            feature_count=self.shape[1],
            public_range=self.public,
            binary=self.binary,
            feature_names=names,
        )

    def __getitem__(self, users: NDArray[np.int64]) -> Any:
        """The checked rows of some users, an array or a sparse matrix.

        Files are mapped anew each time, so that no more than these rows stay in memory.
        """
        if self.pointers is None:
            rows: Any = np.ascontiguousarray(_mapped(self.files["x"])[users])
        else:
            pointers, at = gathered(self.pointers, users)
            indices, values = (np.array(_mapped(self.files[key])[at]) for key in ("x_indices", "x_data"))
            rows = csr_features(self.path, pointers, indices, values, (len(users), self.shape[1]))
        checked = checked_features(rows, len(users))
        if self.binary:
            check_binary(checked, self.public)
        return checked


def _mapped(file: Path) -> NDArray[Any]:
    array: NDArray[Any] = np.load(file, mmap_mode="r")
    return array


def _open_npz(
    path: Path, told_range: Any, database: LinkDatabase
) -> tuple[Raw, int | None, FeatureFiles | None]:
    """An .npz file, whose links go into the database: all that is small of it, how many users it has, if it says so, and its features.

    ``told_range`` overrides the range that it names.
    """
    verify(path)
    with readable(path), zipfile.ZipFile(path) as archive:
        members = array_members(archive, path, float("inf"))
        files = {key: database.folder / f"{key}.npy" for key in LARGE if key in members}
        for key, file in files.items():
            with archive.open(members[key]) as packed, open(file, "wb") as unpacked:
                shutil.copyfileobj(packed, unpacked)
        arrays = {key: _mapped(file) for key, file in files.items()}
        for key in members.keys() & (KNOWN_KEYS - set(LARGE)):
            if members[key].file_size > MAX_GIGABYTES * 1e9:
                raise InputError(
                    f"{path}: {key} takes {members[key].file_size / 1e9:.3g} GB, and at most {MAX_GIGABYTES:g} GB of one array are held in "
                    "memory: save it in a smaller type"
                )
            arrays[key] = unpack(archive, members[key])
    raw = raw_of(arrays, path)
    if raw.panel is not None and raw.panel.any():
        raise InputError(
            f"{path} has {int(raw.panel.sum())} volunteers, and a sharded graph keeps nobody's raw row among what is public: leave the "
            "panel out"
        )
    if told_range is not None:
        chosen = PublicRange.of(told_range)
        raw = replace(raw, range=(chosen.low, chosen.high))
    features = _features(files, arrays, raw, path)
    counts = [len(raw.labels)] if raw.labels is not None else []
    counts += [features.shape[0]] if features is not None else []
    if len(set(counts)) > 1:
        raise InputError(f"{path}: features must have one row for each of {counts[0]} users, got {counts[1]}")
    begins = range(0, len(raw.edges), ROWS)
    chunks = (np.array(_mapped(files["edges"])[begin : begin + ROWS]) for begin in begins)
    database.add("pairs", ((chunk[:, 0], chunk[:, 1]) for chunk in chunks))
    return replace(raw, edges=NO_LINKS), counts[0] if counts else None, features


def _features(
    files: Mapping[str, Path], arrays: Mapping[str, NDArray[Any]], raw: Raw, path: Path
) -> FeatureFiles | None:
    sparse, pointers = csr_arrays(arrays, path), None
    if sparse is not None:
        pointers, indices, values, sides = sparse[0].astype(np.int64), *sparse[1:]
        rows, columns = map(int, sides)
        if (
            pointers.shape != (rows + 1,)
            or not indices.shape == values.shape == (int(pointers[-1]),)
            or pointers[0] != 0
            or (np.diff(pointers) < 0).any()
        ):
            raise InputError(f"{path} has sparse features that do not fit together")
    else:
        rows, columns = arrays["x"].shape if "x" in arrays else (0, 0)
    if not columns:
        return None
    public = public_range(path.stem, raw.range)
    return FeatureFiles(path, files, (rows, columns), public, raw.binary, pointers)


def _open_table(
    file: Path, labels_file: str | Path | None, users: int | None, ids: bool, database: LinkDatabase
) -> tuple[Raw, int | None]:
    """A table of links, which go into the database, with the labels of another one; and how many users there are, if that is known."""
    labels = None if labels_file is None else Path(labels_file).expanduser()
    if users is not None:
        check_whole(users, "users", least=1, most=MAX_NODES)
    names = _read_tables(file, labels, ids, database)
    if names is not None and users is not None:
        raise InputError(f"{file} names users by ids, which tell how many there are: leave out --users")
    count = users if names is None else len(names)
    known = None
    if labels is not None:
        who, classes = database.rows("labels")
        if len(np.unique(who)) != len(who):
            raise InputError(f"{labels} has two labels for one user: leave one of them out")
        if who.size and not 0 <= int(who.min()) <= int(who.max()) < (count or MAX_NODES):
            raise InputError(
                f"{labels} has labels of users who are not there: leave them out, or raise --users"
            )
        known = np.full(max(int(who.max(initial=-1)) + 1, count or 0), UNKNOWN, dtype=np.int64)
        known[who] = classes
    return Raw(edges=NO_LINKS, labels=known, ids=names), count


def _read_tables(file: Path, labels: Path | None, ids: bool, database: LinkDatabase) -> NDArray[Any] | None:
    """Put the links, and the labels, into the database; the ids of users, where they have any."""
    first = next(_links(file).batches(), None)
    kinds = [] if first is None else [column.type for column in first]
    whole = all(types.is_integer(kind) for kind in kinds)
    if not ids:
        for kind in kinds:
            if types.is_floating(kind):
                raise InputError(
                    f"{file} must name users by integers or by words, got {kind}: write integers, or take them as ids (--ids)"
                )
    text = not whole
    try:
        _add_tables(file, labels, text, database)
    except InputError:
        # Ids that look like numbers at first may be words later.
        if text or not ids or file.suffix.lower() != ".csv":
            raise
        text = True
        _add_tables(file, labels, text, database)
    if whole and not ids and first is not None:
        return None
    found = database.name_users([] if labels is None else ["labels"])
    if text:
        names = text_array(found, file, _links(file).instead)
        if len(np.unique(names)) != len(names):
            raise InputError(f"{file} has ids that differ by zero bytes at their ends alone: {MEND}")
        return names
    numbers: NDArray[Any] = found.to_numpy(zero_copy_only=False)
    return numbers.astype(kinds[0].to_pandas_dtype()) if kinds else numbers


def _links(file: Path, text: bool = False) -> PairTable:
    return PairTable(file, f"name a table of links, or {MEND}", LINKS, (text, text))


def _add_tables(file: Path, labels: Path | None, text: bool, database: LinkDatabase) -> None:
    database.add("pairs", _links(file, text).batches())
    if labels is not None:
        table = PairTable(labels, f"name a table of users and labels, or {MEND}", LABELS, (text, False))
        database.add("labels", (_checked_labels(batch, labels, text) for batch in table.batches()))


def _checked_labels(batch: tuple[Any, Any], file: Path, text: bool) -> tuple[Any, Any]:
    """A user and a label a row: labels are integers, and so are users unless ids are text."""
    instead = ("write numbers, or take --ids", "write the classes as 0, 1, …, and -1 where none is known")
    for column, what in zip(batch, instead, strict=True):
        if not types.is_integer(column.type) and (column is batch[1] or not text):
            raise InputError(f"{file} must hold integers here, got {column.type}: {what}")
    return batch


def _sides(name: str, raw: Raw, known: int | None, users: int, split: Any, seed: int) -> tuple[Graph, Users]:
    """Labels, split and ids of all users, by the same checks as for any graph; there are no links and no features in it."""
    raw = replace(raw, binary=False, feature_names=None, panel=None)
    if raw.labels is not None and raw.labels.ndim == 2 and raw.labels.shape[1] > 1:
        raise InputError(
            f"{name} has several labels a user, and a sharded graph has one class a user: keep one column of y"
        )
    if raw.labels is not None and len(raw.labels) < users and known is None:
        missing = np.full(users - len(raw.labels), UNKNOWN, dtype=np.int64)
        raw = replace(raw, labels=np.concatenate([raw.labels, missing]))
    default = "random" if raw.given is None else "given"
    return divide(name, raw, recipe_of(default if split is None else split, raw.given), seed, users=users)
