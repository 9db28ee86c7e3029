"""Load a graph by name, from a file, or from a function outside; and the digest of all that its numbers come from."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from graphveil.errors import GraphveilError, InputError
from graphveil.graphs.datasets import DATASETS, Dataset
from graphveil.graphs.divide import divide, resplit
from graphveil.graphs.graph import Graph
from graphveil.graphs.npz import Raw, read_npz, with_label, with_largest_classes
from graphveil.graphs.splits import RandomSplit, recipe_of
from graphveil.graphs.store import file_digest, find, get, own_names, verify
from graphveil.graphs.town import LabelTown, Town
from graphveil.graphs.users import Users
from graphveil.lazy import scale
from graphveil.mechanisms.rows import PublicRange
from graphveil.plugins import Registry, digest, is_reference, plugins

# Graphs that are generated, and what they are planned by.
TOWN = "town"
TOWNS: Mapping[str, type[Town]] = {TOWN: Town, "town-labels": LabelTown}
# The file that makes a folder a sharded graph.
MANIFEST = "graph.json"
# What results call a graph that was given as objects: its name, and a part of its digest.
GIVEN = re.compile(r"@[0-9a-f]{8}$")
GROUP = "graphveil.datasets"
Loader = Callable[..., tuple[Graph, Users]]


def _loader(name: str, member: Any) -> Loader:
    if not callable(member):
        kind = type(member).__name__
        raise InputError(f"{name} is a {kind}: name a function that returns a graph and its users")
    return member  # type: ignore[no-any-return]


LOADERS = Registry[Loader]("dataset", group=GROUP, adapt=_loader)


def load(
    source: str | Path,
    seed: int = 0,
    *,
    split: Any = None,
    range: Any = None,
    label: str | int | None = None,
    largest_classes: int | None = None,
    max_gigabytes: float | None = None,
    **options: Any,
) -> tuple[Graph, Users]:
    """Load a graph and its users: by name, from an ``.npz`` file, or from a function, FILE.py:NAME.

    `graphveil data list` shows the names. The folder of a sharded graph is loaded as a whole where it is
    small, with its own split unless another one is asked for. A function gets the options that are given, by
    name, and its file is run.

    Parameters
    ----------
    source
        A name, a path, or FILE.py:NAME.
    seed
        The seed of the split, and of nothing else.
    split
        random (the default: half of the users train, a quarter validates), few, given, or a recipe.
    range
        The public range of the features where the registry and the file have none.
    label
        Another label by its name, or one of several labels a user by its number; by default all of them are
        the task.
    largest_classes
        Keep only the users of so many classes.
    max_gigabytes
        A file that asks for more memory (4 by default) is refused before anything is allocated.
    options
        Those of `Town` or `LabelTown`, whose own seed is called ``town_seed`` here; or those of the function.

    >>> graph, users = load("town", users=400)
    >>> graph
    Graph(town, 400 users, 3970 edges, 64 features, 4 classes, 12/20/368)
    """
    named = {"split": split, "range": range, "label": label, "largest_classes": largest_classes}
    asked = {
        key: value for key, value in {**named, "max_gigabytes": max_gigabytes}.items() if value is not None
    }
    if source in TOWNS:
        _refuse(
            source,
            asked,
            ("split",) if source == TOWN else ("split", "label"),
            "follow from how it is generated",
        )
        return _town(str(source), seed, split, label, options)
    if is_outside(source):
        return load_outside(str(source), seed, {**asked, **options})
    if is_sharded_source(source):
        _refuse(source, {**asked, **options}, ("split", "max_gigabytes"), "were settled when it was sharded")
        both: tuple[Graph, Users] = scale().load_whole(source, seed, split)
        return both
    if options:
        raise InputError(f"{source} takes no {', '.join(options)}: only {' and '.join(TOWNS)} do")
    path = graph_file(source)
    verify(path)
    known = None if _is_path(source) else DATASETS.get(str(source))
    raw = with_label(path.stem, read_npz(path, max_gigabytes), label, None if known is None else known.labels)
    if largest_classes is not None:
        raw = with_largest_classes(raw, largest_classes)
    raw = _with_range(raw, None if range is None else PublicRange.of(range), known)
    default = "random" if known is not None or raw.given is None else "given"
    return divide(path.stem, raw, recipe_of(default if split is None else split, raw.given), seed)


def _refuse(source: Any, asked: Mapping[str, Any], allowed: Collection[str], why: str) -> None:
    for key, value in asked.items():
        if key not in allowed and value is not None:
            raise InputError(f"{source} takes no {key}: its range, labels and classes {why}")


def _town(
    name: str, seed: int, split: Any, label: str | int | None, options: dict[str, Any]
) -> tuple[Graph, Users]:
    accepted = {
        "town_seed" if field.name == "seed" else field.name: field.name for field in fields(TOWNS[name])
    }
    for key in options:
        if key not in accepted:
            raise InputError(f"{name} has no option {key!r}: it takes {', '.join(accepted)}")
    plan = TOWNS[name](**{accepted[key]: value for key, value in options.items()})
    edges, features, labels = plan.generate()
    recipe = RandomSplit(plan.labelled, plan.validated) if split is None else recipe_of(split)
    raw = with_label(name, Raw(edges, labels, features, (0.0, 1.0), binary=True), label)
    return divide(name, raw, recipe, seed)


def is_outside(source: str | Path) -> bool:
    """Return whether a function in a file or an installed package makes this graph.

    Names of graphs that are known here come first: they are not outside.
    """
    if isinstance(source, str) and is_reference(source):
        return True
    if _is_path(source) or source in DATASETS or find(str(source)) is not None:
        return False
    return source in LOADERS or source in plugins(GROUP)


def load_outside(source: str, seed: int, options: dict[str, Any]) -> tuple[Graph, Users]:
    """Call the function that makes a graph, with the options that it takes by name.

    Parameters
    ----------
    source
        FILE.py:NAME, or the name of an installed function.
    seed
        The seed of the split; where the function takes no ``seed``, the split is drawn again here.
    options
        Arguments of the function, by name.
    """
    load = LOADERS.load(source)
    accepted = inspect.signature(load).parameters
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in accepted.values())
    for key in options:
        if key not in accepted and not open_ended:
            raise InputError(f"{source} takes no {key}: it takes {', '.join(accepted) or 'no options'}")
    seeded = {"seed": seed} if "seed" in accepted else {}
    try:
        loaded = load(**options, **seeded)
    except GraphveilError:
        raise
    except Exception as error:
        raise InputError(f"{source} cannot be loaded: {type(error).__name__}: {error}") from error
    if not (isinstance(loaded, tuple) and [type(part) for part in loaded] == [Graph, Users]):
        kind = type(loaded).__name__
        raise InputError(f"{source} must return a graph and its users, it returned {kind}")
    graph, users = loaded
    return (graph, users) if seeded else resplit(graph, users, seed)


def is_sharded_source(source: str | Path) -> bool:
    """Return whether this names the folder of a sharded graph and is not the name of a known graph."""
    return (isinstance(source, Path) or source not in DATASETS) and is_sharded(source)


def is_sharded(source: str | Path) -> bool:
    """Return whether this is the folder of a sharded graph: one that holds a manifest."""
    try:
        return (Path(source).expanduser() / MANIFEST).is_file()
    except OSError:
        return False


def large_shards(source: str | Path) -> Any:
    """The sharded graph of this name (`graphveil.scale.Shards`), if it is too large to be loaded as a whole; else None."""
    if not is_sharded_source(source):
        return None
    shards = scale().open_shards(source)
    return shards if scale().too_large(shards) else None


def _is_path(source: str | Path) -> bool:
    return isinstance(source, Path) or source.endswith(".npz") or "/" in source or "\\" in source


def graph_file(source: str | Path) -> Path:
    """The file of a graph, by name or path; a registered one that is not on this machine is downloaded."""
    if _is_path(source):
        return Path(source).expanduser()
    name = str(source)
    if (stored := find(name)) is not None:
        return stored.path
    if name in DATASETS:
        return get(name)
    if GIVEN.search(name):
        again = "give it again, or name an .npz file"
        raise InputError(f"a graph that was given in Python is not kept, only its results: {again}")
    names = ", ".join(sorted({*DATASETS, *own_names(), *plugins(GROUP)}))
    raise InputError(f"no dataset is named {name!r}: give the path of an .npz file, or one of {names}")


def _with_range(raw: Raw, given: PublicRange | None, known: Dataset | None) -> Raw:
    """The data with its public range: the one given, else the registry's, else the file's.

    Values of a registered dataset follow the registry's rule: counts and signs become x > 0, and real values are clipped to the
    registry's range. Others stay as they are; a mechanism clips what lies outside, with a warning.
    """
    chosen = None if given is None else (given.low, given.high)
    if known is None:
        return raw if chosen is None else replace(raw, range=chosen)
    ours = chosen in (None, known.range)
    public = (raw.range if known.range is None else known.range) if ours else chosen
    # Of several labels a user one may have been chosen, which is a class then.
    one = known.several_labels and raw.labels is not None and raw.labels.ndim == 1
    raw = replace(raw, metric="accuracy" if one else known.metric, range=public)
    if raw.features is None:
        return raw
    if known.values in ("binary", "counts", "signs"):
        return replace(raw, features=(raw.features > 0).astype(np.uint8), binary=ours)
    if not ours or known.range is None:
        return raw
    if not hasattr(raw.features, "tocsr"):
        return replace(raw, features=np.clip(raw.features, *known.range))
    # The range holds 0, so that sparse features stay sparse.
    clipped = raw.features.copy()
    clipped.data = np.clip(clipped.data, *known.range)
    return replace(raw, features=clipped)


def data_digest(source: str, options: Mapping[str, Any]) -> str:
    """The SHA-256 of a graph's file, or of all files of a sharded one; of its options, and of what it comes from, where a function gives it.

    What is not on this machine yet is downloaded, as `load` does.
    """
    outside = None if source in TOWNS else outside_digest(source)
    if source in TOWNS or outside is not None:
        described = json.dumps([outside or source, options], sort_keys=True, default=str)
        return hashlib.sha256(described.encode()).hexdigest()
    if not is_sharded_source(source):
        return file_digest(graph_file(source))
    folder, whole = Path(source).expanduser(), hashlib.sha256()
    for file in scale().sharded_files(folder):
        whole.update(f"{file.relative_to(folder).as_posix()} {file_digest(file)}\n".encode())
    return whole.hexdigest()


def outside_digest(source: str) -> str | None:
    """The digest of a graph from outside; None for those that graphveil knows and for files of data."""
    return digest(source, GROUP) if is_outside(source) else None


def content_digest(graph: Graph, users: Users) -> str:
    """The SHA-256 of all that a graph and its users hold: for those that are given as objects and have no file."""
    raw, whole = users.raw, hashlib.sha256()
    whole.update(repr((graph.feature_count, graph.public_range, graph.binary, graph.metric)).encode())
    features = raw.features
    rows = [features.indptr, features.indices, features.data] if hasattr(features, "tocsr") else [features]
    panel = None if graph.panel is None else graph.panel.users
    masks = [graph.train, graph.validation, graph.test, graph.weights, panel]
    for array in (graph.indptr, graph.indices, raw.labels, raw.levels, *rows, *masks):
        if array is None:
            whole.update(b"-")
        else:
            whole.update(
                repr((array.dtype.str, array.shape)).encode() + np.ascontiguousarray(array).tobytes()
            )
    return whole.hexdigest()
