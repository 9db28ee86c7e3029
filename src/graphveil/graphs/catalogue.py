"""The catalogue: every graph that can be named, what it holds, and where it is on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphveil.errors import InputError
from graphveil.graphs.datasets import DATASETS, Dataset
from graphveil.graphs.graph import symmetric_csr, usual_metric
from graphveil.graphs.load import GROUP, data_origin, is_outside, is_sharded, load_outside
from graphveil.graphs.npz import read_npz
from graphveil.graphs.store import find, own_names, verify
from graphveil.lazy import scale
from graphveil.plugins import is_reference, package, plugins

RULES = {
    "binary": "0 or 1",
    "counts": "counts, taken as x > 0",
    "signs": "0 and 1 that were standardised, taken as x > 0",
    "real": "real numbers",
    "none": "no features",
}


@dataclass(frozen=True)
class Listing:
    """One line of the catalogue. A number is None where it is not known, a range where none is known in public.

    With ``several_labels`` a user may have any number of labels, and ``classes`` counts them. So many of the users are ``volunteers``, by the file.
    """

    name: str
    users: int | None
    edges: int | None
    features: int | None
    classes: int | None
    range: tuple[float, float] | None
    where: str
    file: str | None = None
    about: str = "one's own graph"
    note: str = ""
    values: str = ""
    metric: str = "accuracy"
    labels: tuple[str, ...] = ("y",)
    several_labels: bool = False
    volunteers: int = 0


def catalogue() -> list[Listing]:
    """All registered datasets, then one's own files in the data folder and the cache, then what installed packages offer."""
    own = [name for name in own_names() if name not in DATASETS]
    offered = {name: point for name, point in plugins(GROUP).items() if name not in (*DATASETS, *own)}
    return [
        *(_registered(known) for known in DATASETS.values()),
        *(_own_or_unreadable(name) for name in own),
        *(_offered(name, package(point).words) for name, point in offered.items()),
    ]


def describe(source: str) -> Listing:
    """What is known of one graph, by name or path; its file is verified where it is here."""
    if source in DATASETS:
        listing = _registered(DATASETS[source])
        if listing.file is not None:
            verify(Path(listing.file))
        return listing
    stored = find(source)
    if is_reference(source) or (stored is None and not Path(source).is_file() and is_outside(source)):
        return _made(source)
    path = Path(source).expanduser() if stored is None else stored.path
    if is_sharded(path):
        return _sharded(path)
    if not path.is_file():
        raise InputError(
            f"no graph is named {source!r}: see `graphveil data list`, or give the path of an .npz file"
        )
    verify(path)
    return _own(path, "file" if stored is None else stored.place)


def _registered(known: Dataset) -> Listing:
    stored = None if known.embedded else find(known.name)
    place = "embedded" if known.embedded else "not here" if stored is None else stored.place
    return Listing(
        known.name,
        known.users,
        known.edges,
        known.features,
        known.classes,
        known.range,
        place,
        None if stored is None else str(stored.path),
        known.about,
        known.note,
        RULES[known.values],
        known.metric,
        known.labels,
        known.several_labels,
    )


def _own(path: Path, where: str) -> Listing:
    raw = read_npz(path)
    labels = np.asarray(raw.labels) if raw.labels is not None else None
    several = usual_metric(labels) == "f1"
    rows = 0 if raw.features is None else int(raw.features.shape[0])
    users = len(labels) if labels is not None else max(rows, int(np.max(raw.edges, initial=-1)) + 1)
    return Listing(
        path.stem,
        users,
        len(symmetric_csr(raw.edges, users)[1]) // 2,
        0 if raw.features is None else int(raw.features.shape[1]),
        0 if labels is None else labels.shape[1] if several else int(labels.max(initial=-1)) + 1,
        raw.range,
        where,
        str(path),
        metric=raw.metric or usual_metric(labels),
        labels=("y", *raw.other_labels),
        several_labels=several,
        volunteers=0 if raw.panel is None else int(raw.panel.sum()),
    )


def _sharded(path: Path) -> Listing:
    """What the manifest of a sharded graph says."""
    manifest = scale().read_manifest(path)
    return Listing(
        manifest.name,
        manifest.users,
        manifest.entries // 2,
        manifest.features,
        manifest.classes,
        manifest.range,
        f"{len(manifest.partitions)} shards",
        str(path),
        note=f"{manifest.cut:.1%} of the links are cut between shards: see `graphveil graph info {path}`",
        metric=manifest.metric,
    )


def _offered(name: str, where: str) -> Listing:
    """What a package offers, without running it."""
    return Listing(name, None, None, None, None, None, where, about="a graph of an installed package")


def _made(source: str) -> Listing:
    """What a function from outside gives."""
    graph, _ = load_outside(source, 0, {})
    public = graph.public_range
    origin = data_origin(source)
    return Listing(
        source,
        graph.node_count,
        graph.edge_count,
        graph.feature_count,
        graph.class_count,
        None if public is None else (public.low, public.high),
        "outside" if origin is None else origin.words,
        metric=graph.metric,
        several_labels=graph.multilabel,
        volunteers=0 if graph.panel is None else len(graph.panel),
    )


def _own_or_unreadable(name: str) -> Listing:
    """A broken file is listed without numbers, so that the others can be seen."""
    stored = find(name)
    if stored is None:
        return Listing(name, None, None, None, None, None, "not here")
    try:
        return _own(stored.path, stored.place)
    except InputError as error:
        return Listing(name, None, None, None, None, None, stored.place, str(stored.path), note=str(error))
