"""The registry of datasets, which ``datasets.toml`` lists: what each holds, its public range, and where it comes from.

A public range is a constant there, agreed before anything is collected: binary data, counts and signs (taken as x > 0) lie in
[0, 1]; pubmed's word weights are clipped to [0, 1]. Where nothing is known in public, none is given, and those who load
such data must bring one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from graphveil.graphs.graph import Metric
from graphveil.plugins import Registry

# binary: 0 or 1 · counts, signs (0 and 1 that somebody has standardised): taken as x > 0 · real: clipped to the public range ·
# none: a graph without features
Values = Literal["binary", "counts", "signs", "real", "none"]


@dataclass(frozen=True)
class PygSource:
    """One of PyG's dataset classes. ``parts`` are values of its ``split`` that are loaded and put side by side."""

    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)
    parts: Sequence[str] = ()
    module: str = "torch_geometric.datasets"


@dataclass(frozen=True)
class SnapSource:
    """An archive of the SNAP collection: edges, lists of features and a table of targets, named after ``stem``.

    ``user`` and ``target`` are columns of that table. ``thresholds`` make binary labels of a number: each label is 1 from
    its threshold on.
    """

    archive: str
    stem: str
    user: str = "id"
    target: str = "target"
    thresholds: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Dataset:
    """A graph that graphveil knows by name. Sizes are None where they were never checked against a file.

    With ``several_labels`` a user may have any number of labels, and ``classes`` says how many there are.
    """

    name: str
    about: str
    users: int | None
    edges: int | None
    features: int | None
    classes: int | None
    values: Values
    range: tuple[float, float] | None
    source: PygSource | SnapSource | None
    metric: Metric = "accuracy"
    labels: tuple[str, ...] = ("y",)
    note: str = ""
    embedded: bool = False
    several_labels: bool = False


# What the file leaves out where it is not known.
UNCHECKED = ("users", "edges", "features", "classes", "range")


def _dataset(name: str, known: dict[str, Any]) -> Dataset:
    known = {key: tuple(value) if isinstance(value, list) else value for key, value in known.items()}
    if "range" in known:
        known["range"] = tuple(map(float, known["range"]))
    pyg, snap = known.pop("pyg", None), known.pop("snap", None)
    source = PygSource(**pyg) if pyg else SnapSource(**snap) if snap else None
    return Dataset(name, source=source, **{**dict.fromkeys(UNCHECKED), **known})


_FILE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
DATASETS = Registry[Dataset]("dataset", ((name, _dataset(name, known)) for name, known in _FILE.items()))


def dataset(name: str) -> Dataset:
    """The registered dataset of that name."""
    return DATASETS.find(name)
