"""The catalogue: every graph that can be named, what it holds, and where it is on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from graphveil.errors import InputError
from graphveil.graphs.datasets import DATASETS, Dataset
from graphveil.graphs.graph import symmetric_csr, usual_metric
from graphveil.graphs.load import GROUP, LOADERS, is_outside, is_sharded, load_outside
from graphveil.graphs.npz import read_npz
from graphveil.graphs.store import Found, find, own_names, verify
from graphveil.lazy import scale
from graphveil.plugins import package, plugins

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
    users: int | None = None
    edges: int | None = None
    features: int | None = None
    classes: int | None = None
    range: tuple[float, float] | None = None
    where: str = "not here"
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
    listings = [_registered(known) for known in DATASETS.values()]
    own = {
        name: stored for name in own_names() if name not in DATASETS and (stored := find(name)) is not None
    }
    for name, stored in own.items():
        try:
            listings.append(_own(stored.path, stored.place))
        except InputError as error:
            # A broken file is listed without numbers, so that the others can be seen.
            listings.append(Listing(name, where=stored.place, file=str(stored.path), note=str(error)))
    offered = {name: point for name, point in plugins(GROUP).items() if name not in (*DATASETS, *own)}
    about = "a graph of an installed package"
    return listings + [
        Listing(name, where=package(point).words, about=about) for name, point in offered.items()
    ]


def describe(source: str) -> Listing:
    """Describe one graph, by name or path; its file is verified where it is here."""
    if source in DATASETS:
        listing = _registered(DATASETS[source])
        if listing.file is not None:
            verify(Path(listing.file))
        return listing
    if is_outside(source):
        return _made(source)
    stored = find(source) or Found(Path(source).expanduser(), "file")
    if is_sharded(stored.path):
        return _sharded(stored.path)
    if not stored.path.is_file():
        raise InputError(f"no graph is named {source!r}: see `graphveil data list`, or name an .npz file")
    verify(stored.path)
    return _own(stored.path, stored.place)


def _registered(known: Dataset) -> Listing:
    stored = None if known.embedded else find(known.name)
    same = ("name", "users", "edges", "features", "classes", "range", "about", "note", "metric", "labels")
    return Listing(
        **{field: getattr(known, field) for field in same},
        where="embedded" if known.embedded else "not here" if stored is None else stored.place,
        file=None if stored is None else str(stored.path),
        values=RULES[known.values],
        several_labels=known.several_labels,
    )


def _own(path: Path, where: str) -> Listing:
    raw = read_npz(path)
    several = usual_metric(raw.labels) == "f1"
    classes = 0
    if raw.labels is not None:
        classes = raw.labels.shape[1] if several else int(max(raw.labels.ravel(), default=-1)) + 1
    return Listing(
        path.stem,
        raw.user_count,
        len(symmetric_csr(raw.edges, raw.user_count)[1]) // 2,
        raw.feature_count,
        classes,
        raw.range,
        where,
        str(path),
        metric=raw.metric or usual_metric(raw.labels),
        labels=("y", *raw.other_labels),
        several_labels=several,
        volunteers=0 if raw.panel is None else int(raw.panel.sum()),
    )


def _sharded(path: Path) -> Listing:
    """The line of a sharded graph, from its manifest."""
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


def _made(source: str) -> Listing:
    """The line of a graph that a function from outside gives."""
    graph, _ = load_outside(source, 0, {})
    public, origin = graph.public_range, LOADERS.origin(source)
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
