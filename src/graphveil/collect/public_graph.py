"""The public graph of a collection, its versions, and who is asked for a label."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from graphveil.collect.folder import CollectionSettings
from graphveil.errors import InputError, visible
from graphveil.files import read_arrays, writing_whole
from graphveil.graphs.graph import UNKNOWN, labelled
from graphveil.graphs.npz import read_npz
from graphveil.graphs.splits import Labels, Split, SplitRecipe, check_seed
from graphveil.graphs.tables import PairTable

IDS, CLASS_NAMES = "ids", "class_names"
MASKS = ("train", "validation", "test")
MAX_ID = 200
# Besides what `visible` escapes: an empty Braille pattern, and characters that choose how the one before them is drawn.
BLANK = re.compile("[\u2800\ufe00-\ufe0f]")
# A number of more digits is a word: no class has it.
DIGITS = 19


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
        """The number of nodes."""
        return len(self.ids)

    def write(self, file: Path) -> None:
        """Write the graph; a reader sees no file or the whole one."""
        arrays: dict[str, Any] = {"edges": self.edges, "y": self.labels, IDS: self.ids, **self.masks}
        if self.class_names is not None:
            arrays[CLASS_NAMES] = np.array(self.class_names)
        with writing_whole(file) as whole:
            np.savez_compressed(whole, **arrays)

    @classmethod
    def read(cls, file: Path) -> PublicGraph:
        """A graph that `write` has written."""
        arrays = read_arrays(file)
        names = arrays.get(CLASS_NAMES)
        kinds = {"edges": "iu", "y": "iu", IDS: "U"}
        if any(key not in arrays or arrays[key].dtype.kind not in kind for key, kind in kinds.items()):
            raise InputError(f"{file} is not the graph of a collection: restore it from a backup")
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
        check_forms(map(str, ids))
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
                "the later graph has other classes than the first: name the same labels, all of them"
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
    source = file or labels
    if source is None:
        raise InputError("nobody is named: give --graph, or --labels where no link is public")
    if source.suffix == ".npz" and source is file:
        if labels is not None:
            raise InputError("labels of an .npz file stand in it, as y: leave --labels out")
        return _from_npz(file)
    known = [] if labels is None else _table(labels, "labels").words()
    names, edges = [name for name, _ in known], np.empty((0, 2), dtype=np.int64)
    if file is not None:
        words, pairs = _table(file, "links").numbered()
        names = list(dict.fromkeys(names + words))
        place = {name: number for number, name in enumerate(names)}
        edges = np.array([place[word] for word in words], dtype=np.int64)[pairs]
    ids = checked_ids(names, source)
    place = {name: number for number, name in enumerate(names)}
    numbers, classes = _classes(known)
    own = np.full(len(ids), UNKNOWN, dtype=np.int64)
    own[[place[name] for name, _ in known]] = numbers
    return PublicGraph(edges, own, ids, classes)


def checked_ids(names: Sequence[str], file: Path) -> NDArray[np.str_]:
    """Ids as they are kept, each once."""
    if any(not 0 < len(name) <= MAX_ID for name in names):
        raise InputError(f"{file}: ids must have 1 to {MAX_ID} characters")
    if not all(name.isprintable() and name == visible(name) and not BLANK.search(name) for name in names):
        raise InputError(
            f"{file}: ids must be letters that can be seen, and some have control characters or characters that show nothing: remove them"
        )
    if len(set(names)) != len(names):
        raise InputError(f"{file}: ids must be different, and some are there twice")
    check_forms(names)
    if not names:
        raise InputError(f"{file} names nobody: a collection needs people")
    return np.array(names, dtype=np.str_)


def check_forms(names: Iterable[str]) -> None:
    """Refuse ids that are the same text in two forms of Unicode: one person would be two, and friends who name one would miss the other."""
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(normalize("NFC", name), name)
        if other != name:
            raise InputError(
                f"the id {name!r} is there in two forms of Unicode, for example é as one character and as two: write it in one form everywhere"
            )


def _from_npz(file: Path) -> PublicGraph:
    raw = read_npz(file)
    if raw.labels is not None and raw.labels.ndim == 2 and raw.labels.shape[1] > 1:
        raise InputError(f"{file} has several labels a user: a collection takes one, keep one column of y")
    edges = np.asarray(raw.edges, dtype=np.int64)
    held = [each.shape[0] for each in (raw.labels, raw.features) if each is not None]
    users = max([int(edges.max(initial=-1)) + 1, *held])
    labels = np.full(users, UNKNOWN) if raw.labels is None else np.ravel(raw.labels)
    if labels.dtype.kind not in "biuf":
        raise InputError(f"{file}: y must hold numbers of classes from 0 on, and holds words: number them")
    if labels.dtype.kind == "f":
        labels = np.where(np.isnan(labels), UNKNOWN, labels)
    names = [str(name) for name in (range(users) if raw.ids is None else raw.ids)]
    if len(names) != users:
        raise InputError(f"{file}: ids must be one for each of {users} users, got {len(names)}")
    masks: dict[str, NDArray[np.bool_]] = {}
    if raw.given is not None and np.ndim(raw.given.train) == 1:
        masks = {part: np.asarray(getattr(raw.given, part), dtype=bool) for part in MASKS}
    return PublicGraph(edges, labels.astype(np.int64), checked_ids(names, file), None, masks)


def _table(file: Path, what: str) -> PairTable:
    """A table whose first two columns are read as words."""
    instead = f"name a table of {what} whose first two columns are text or integers"
    return PairTable(file, instead, texts=(True, True), optional=True)


def _classes(known: Sequence[tuple[str, str]]) -> tuple[list[int], tuple[str, ...] | None]:
    """Labels as numbers: as they are where all are numbers, else in the order of words; nothing and -1 are unknown."""
    words = [label for _, label in known]
    told = sorted({label for label in words if label not in ("", str(UNKNOWN))})
    if all(label.isascii() and label.isdecimal() and len(label) < DIGITS for label in told):
        return [UNKNOWN if label in ("", str(UNKNOWN)) else int(label) for label in words], None
    number = {label: place for place, label in enumerate(told)}
    return [number.get(label, UNKNOWN) for label in words], tuple(told)


# Two of three who are asked for a label train, the others validate.
TRAIN_SHARE = 2 / 3
# The stream of a seed by which they are drawn.
STREAM = 20


@dataclass(frozen=True)
class AskedLabels(SplitRecipe):
    """Enrolled users whose label the server does not know report it, to train and to validate; known labels score."""

    enrolled: tuple[int, ...]
    reads_labels: ClassVar[bool] = False

    def draw(self, labels: Labels, seed: int) -> Split:
        known = labelled(labels)
        asked = np.array([node for node in self.enrolled if not known[node]], dtype=np.int64)
        if len(asked) < 2:
            raise InputError(
                f"{len(asked)} enrolled users have a label that the server does not know, and at least 2 must be asked for theirs: "
                "leave --label-epsilon out, or invite more people"
            )
        asked = np.random.default_rng([check_seed(seed), STREAM]).permutation(asked)
        first = min(max(round(TRAIN_SHARE * len(asked)), 1), len(asked) - 1)
        train, validation = np.zeros((2, len(labels)), dtype=bool)
        train[asked[:first]] = True
        validation[asked[first:]] = True
        return Split(train, validation, known)
