"""The public graph of a collection: links, labels that the operator knows, and what users are called outside."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.collect.folder import CollectionSettings
from graphveil.errors import InputError
from graphveil.graphs.arrays import read_arrays
from graphveil.graphs.graph import UNKNOWN
from graphveil.graphs.npz import read_npz

IDS, CLASS_NAMES = "ids", "class_names"
MASKS = ("train", "validation", "test")
MAX_ID = 200


@dataclass(frozen=True, eq=False)
class PublicGraph:
    """Links as pairs of node numbers, a label or -1 for each node, and the external id of each. There are no features here."""

    edges: NDArray[np.int64]
    labels: NDArray[np.int64]
    ids: NDArray[np.str_]
    class_names: tuple[str, ...] | None = None
    masks: dict[str, NDArray[np.bool_]] = field(default_factory=dict)

    @property
    def users(self) -> int:
        """How many nodes there are."""
        return len(self.ids)

    def write(self, file: Path) -> None:
        """Write the graph; whoever looks in between sees no file or the whole one."""
        arrays: dict[str, Any] = {"edges": self.edges, "y": self.labels, IDS: self.ids, **self.masks}
        if self.class_names is not None:
            arrays[CLASS_NAMES] = np.array(self.class_names)
        part = file.with_name(f".{file.name}.part")
        with open(part, "wb") as opened:
            np.savez_compressed(opened, **arrays)
            opened.flush()
            os.fsync(opened.fileno())
        os.replace(part, file)

    @classmethod
    def read(cls, file: Path) -> PublicGraph:
        """A graph that `write` has written."""
        arrays = read_arrays(file)
        names = arrays.get(CLASS_NAMES)
        return cls(
            arrays["edges"].astype(np.int64),
            arrays["y"].astype(np.int64),
            arrays[IDS].astype(np.str_),
            None if names is None else tuple(map(str, names)),
            {part: arrays[part].astype(bool) for part in MASKS if part in arrays},
        )

    def extended_by(self, later: PublicGraph) -> PublicGraph:
        """A later version: the same users in the same places, new ones behind them, and the later links and labels.

        Somebody who is in the later graph no more stays as a node without links.
        """
        new = later.ids[~np.isin(later.ids, self.ids)]
        ids = np.concatenate([self.ids, new])
        place = {str(name): number for number, name in enumerate(ids)}
        moved = np.array([place[str(name)] for name in later.ids], dtype=np.int64)
        labels = np.full(len(ids), UNKNOWN, dtype=np.int64)
        labels[: self.users] = self.labels
        labels[moved] = later.labels
        masks = {}
        for part, mask in later.masks.items():
            masks[part] = np.zeros(len(ids), dtype=bool)
            masks[part][moved] = mask
        if later.class_names != self.class_names:
            raise InputError(
                "the later graph has other classes than the first one: name the same labels, and all of them"
            )
        edges = moved[later.edges] if later.edges.size else later.edges
        return PublicGraph(edges, labels, ids, self.class_names, masks)


def check_links(public: PublicGraph, settings: CollectionSettings) -> None:
    """Refuse links that everybody could read where people are to be asked for them."""
    if settings.private_links and len(public.edges):
        raise InputError(
            f"people of this collection are asked for their links in private, and the graph holds {len(public.edges):,} of them in the "
            "open: give a graph without links, or --labels alone, which names people"
        )


def read_public_graph(file: Path | None, labels: Path | None = None) -> PublicGraph:
    """A graph from an .npz file, or from a table of links (.csv, .parquet) whose first two columns are ids.

    ``labels`` is a table of ids and labels; without a file of links it names everybody. Features that a file holds are left behind.
    """
    if file is None:
        if labels is None:
            raise InputError("nobody is named: give --graph, or --labels where no link is public")
        return _of_people(labels)
    if file.suffix == ".npz":
        if labels is not None:
            raise InputError("labels of an .npz file stand in it, as y: leave --labels out")
        return _from_npz(file)
    pairs = _columns(file, "links")
    known = [] if labels is None else _columns(labels, "labels")
    names = dict.fromkeys([name for name, _ in known] + [name for pair in pairs for name in pair])
    place = {name: number for number, name in enumerate(names)}
    edges = np.array([(place[one], place[other]) for one, other in pairs], dtype=np.int64).reshape(-1, 2)
    numbers, classes = _classes(known)
    own = np.full(len(place), UNKNOWN, dtype=np.int64)
    for name, number in zip((name for name, _ in known), numbers, strict=True):
        own[place[name]] = number
    return PublicGraph(edges, own, checked_ids(list(place), file), classes)


def _of_people(labels: Path) -> PublicGraph:
    """People without links, from a table of ids and labels."""
    known = _columns(labels, "labels")
    numbers, classes = _classes(known)
    ids = checked_ids([name for name, _ in known], labels)
    return PublicGraph(np.empty((0, 2), dtype=np.int64), np.array(numbers, dtype=np.int64), ids, classes)


def checked_ids(names: Sequence[str], file: Path) -> NDArray[np.str_]:
    """Ids as they are kept, each once."""
    if any(not 0 < len(name) <= MAX_ID for name in names):
        raise InputError(f"{file}: ids must have 1 to {MAX_ID} characters")
    if not all(name.isprintable() for name in names):
        raise InputError(f"{file}: ids must be letters that can be seen, and some have control characters")
    if len(set(names)) != len(names):
        raise InputError(f"{file}: ids must be different, and some are there twice")
    if not names:
        raise InputError(f"{file} names nobody: a collection needs people")
    return np.array(names, dtype=np.str_)


def _from_npz(file: Path) -> PublicGraph:
    raw = read_npz(file)
    if raw.labels is not None and raw.labels.ndim == 2 and raw.labels.shape[1] > 1:
        raise InputError(f"{file} has several labels a user: a collection takes one, keep one column of y")
    edges = np.asarray(raw.edges, dtype=np.int64)
    counts = [int(edges.max()) + 1 if edges.size else 0]
    if raw.labels is not None:
        counts.append(len(raw.labels))
    if raw.features is not None:
        counts.append(int(raw.features.shape[0]))
    users = max(counts)
    labels = np.full(users, UNKNOWN) if raw.labels is None else np.ravel(raw.labels)
    if labels.dtype.kind == "f":
        labels = np.where(np.isnan(labels), UNKNOWN, labels)
    named = raw.ids
    names = [str(number) for number in range(users)] if named is None else [str(name) for name in named]
    if len(names) != users:
        raise InputError(f"{file}: ids must be one for each of {users} users, got {len(names)}")
    masks: dict[str, NDArray[np.bool_]] = {}
    if raw.given is not None and np.ndim(raw.given.train) == 1:
        masks = {part: np.asarray(getattr(raw.given, part), dtype=bool) for part in MASKS}
    return PublicGraph(edges, labels.astype(np.int64), checked_ids(names, file), None, masks)


def _columns(file: Path, what: str) -> list[tuple[str, str]]:
    """The first two columns of a table, as words."""
    if file.suffix == ".csv":
        return list(_csv(file, what))
    if file.suffix == ".parquet":
        return _parquet(file, what)
    raise InputError(f"{file} has an unknown form: {what} are read from .csv or .parquet, a graph from .npz")


def _csv(file: Path, what: str) -> Iterable[tuple[str, str]]:
    try:
        with open(file, encoding="utf-8", newline="") as opened:
            lines = csv.reader(opened)
            if next(lines, None) is None:
                raise InputError(f"{file} is empty: it needs a line with the names of its columns")
            for cells in lines:
                if not cells:
                    continue
                if len(cells) < 2:
                    raise InputError(f"{file}, line {lines.line_num}: {what} need two columns")
                yield cells[0].strip(), cells[1].strip()
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror}): name a table of {what}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file} is no CSV in UTF-8 ({error})") from None


def _parquet(file: Path, what: str) -> list[tuple[str, str]]:
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.read_table(file)
    except (OSError, ArrowException) as error:
        raise InputError(f"{file} cannot be read ({error}): name a table of {what}") from None
    if table.num_columns < 2:
        raise InputError(f"{file}: {what} need two columns, got {table.num_columns}")
    one, other = (
        ["" if each is None else str(each) for each in table.column(at).to_pylist()] for at in (0, 1)
    )
    return list(zip(one, other, strict=True))


def _classes(known: Sequence[tuple[str, str]]) -> tuple[list[int], tuple[str, ...] | None]:
    """Labels as numbers: as they are where all are numbers, else in the order of words; nothing and -1 are unknown."""
    words = [label for _, label in known]
    told = sorted({label for label in words if label not in ("", str(UNKNOWN))})
    if all(label.isdecimal() for label in told):
        return [UNKNOWN if label in ("", str(UNKNOWN)) else int(label) for label in words], None
    number = {label: place for place, label in enumerate(told)}
    return [number.get(label, UNKNOWN) for label in words], tuple(told)
