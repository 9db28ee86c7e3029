"""The registry of datasets: what each holds, its public range, and where it comes from.

A public range is a constant here, agreed before anything is collected: binary data, counts and signs (taken as x > 0) lie in
[0, 1]; pubmed's word weights are clipped to [0, 1]. Where nothing is known in public, none is given, and those who load
such data must bring one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
    parts: tuple[str, ...] = ()
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


UNIT = (0.0, 1.0)
# A name, what it is, users, undirected edges, features and classes (- where they were never checked), what the values are, and
# the class of PyG that downloads it, if one does, with its options.
_TABLE = """
town              | a generated social network in which features matter | 4000 39939 64 4 | binary |
town-labels       | a generated social network in which users have several labels each | 4000 39934 48 4 | binary |
cora              | citations, words of papers, topics | 2708 5278 1433 7 | binary | Planetoid name=Cora
citeseer          | citations, words of papers, topics | 3327 4552 3703 6 | binary | Planetoid name=CiteSeer
pubmed            | citations, word weights of papers, topics | 19717 44324 500 3 | real | Planetoid name=PubMed
facebook          | pages that like each other, words of their descriptions, kind of page | 22470 170823 4714 4 | binary |
lastfm            | listeners who follow each other, artists they like, country | 7624 27806 7842 18 | binary |
lastfm-graph-only | lastfm without its features | 7624 27806 0 18 | none |
wikipedia         | articles about crocodiles that link to each other, nouns in them, traffic | 11631 170773 13183 2 | binary |
twitch            | Spanish streamers who follow each other, games and habits, mature content | 4648 59382 3170 2 | binary |
github            | developers who follow each other, places and repositories, web or machine learning | 37700 289003 4005 2 | binary |
facebook-128      | facebook, features reduced to 128 numbers | 22470 170823 128 4 | real | FacebookPagePage
lastfm-128        | lastfm, features reduced to 128 numbers | 7624 27806 128 18 | real | LastFMAsia
twitch-128        | twitch, features reduced to 128 numbers | 4648 59382 128 2 | real | Twitch name=ES
github-128        | github, features reduced to 128 numbers | 37700 289003 128 2 | real | GitHub
co-phy            | co-authors in physics, keywords, field | 34493 247962 8415 5 | counts | Coauthor name=Physics
co-cs             | co-authors in computer science, keywords, field | 18333 81894 6805 15 | counts | Coauthor name=CS
amazon-computers  | goods bought together, words of reviews, category | 13752 245861 767 10 | binary | Amazon name=Computers
flickr            | images with something in common, visual words, kind | 89250 449878 500 7 | counts | Flickr
flickr-small      | photographers who follow each other, tags, interest group | 7575 239738 12047 9 | counts | AttributedGraphDataset name=Flickr
squirrel          | articles about squirrels that link to each other, nouns, traffic in five steps | 5201 - 2089 5 | binary |
squirrel-filtered | squirrel without its repeated articles | 2223 46998 2089 5 | binary |
chameleon         | articles about chameleons that link to each other, nouns, traffic in five steps | 2277 - 2325 5 | binary |
actor             | actors on the same page, keywords, kind of role | 7600 - 932 5 | binary | Actor
tolokers          | workers who did the same task, rates and profile, banned or not | 11758 519000 10 2 | real | HeterophilousGraphDataset name=Tolokers
reddit            | posts with a common author, word vectors, community | 232965 - 602 41 | real | Reddit
ppi               | proteins that interact in 24 tissues, gene sets, functions | 56944 - 50 121 | signs |
flickr-mir        | photographs of MIR Flickr with something in common, what they show | - - - - | real |
ogbn-arxiv        | citations, word vectors of papers, subject | 169343 - 128 40 | real |
"""
# What else is to be said of some of them.
_GENERATED: Mapping[str, Any] = {
    "note": "generated from a seed; sizes and shares are options of load",
    "embedded": True,
}
_MORE: Mapping[str, Mapping[str, Any]] = {
    "town": _GENERATED,
    "town-labels": {**_GENERATED, "metric": "f1", "several_labels": True},
    "pubmed": {"range": UNIT, "note": "word weights are clipped to the public range"},
    "facebook": {"source": SnapSource("facebook_large.zip", "facebook", target="page_type")},
    "lastfm": {
        "source": SnapSource("lastfm_asia.zip", "lastfm_asia"),
        "note": "largest_classes=10 keeps the 10 largest countries, as LDP-GE does",
    },
    "lastfm-graph-only": {"note": "lastfm has the features too"},
    "wikipedia": {
        "source": SnapSource("wikipedia.zip", "crocodile", thresholds={"y": 4728, "y_median": 1227}),
        "labels": ("y", "y_median"),
        "note": "y is the label in common use (monthly traffic of at least 4728), y_median is traffic above the median",
    },
    "twitch": {"source": SnapSource("twitch.zip", "ES", user="new_id", target="mature")},
    "github": {"source": SnapSource("git_web_ml.zip", "git", target="ml_target")},
    "squirrel": {
        "source": PygSource("WikipediaNetwork", {"name": "squirrel", "geom_gcn_preprocess": True}),
        "note": "it holds many articles twice: squirrel-filtered does not",
    },
    "squirrel-filtered": {"note": "PyG does not offer it"},
    "chameleon": {
        "source": PygSource("WikipediaNetwork", {"name": "chameleon", "geom_gcn_preprocess": True})
    },
    "tolokers": {"range": UNIT, "metric": "roc_auc"},
    "ppi": {
        "source": PygSource("PPI", parts=("train", "val", "test")),
        "metric": "f1",
        "several_labels": True,
        "note": "gene sets are 0 or 1, the file has them standardised: x > 0 is taken; label=0..120 chooses one of the functions; "
        "split='given' keeps tissues apart",
    },
    "flickr-mir": {
        "metric": "f1",
        "several_labels": True,
        "note": "nobody keeps its graph for download, and PyG's Flickr is another one; flickr-mir.npz must hold edges (E x 2), x "
        "(photographs x features) with its public range, and y (photographs x labels, 0 or 1)",
    },
    "ogbn-arxiv": {
        "source": PygSource("PygNodePropPredDataset", {"name": "ogbn-arxiv"}, module="ogb.nodeproppred"),
        "note": "PyG offers it through the package ogb, which graphveil does not install",
    },
}


def _dataset(line: str) -> Dataset:
    """A line of the table, with what else is to be said."""
    name, about, sizes, values, downloader = (cell.strip() for cell in line.split("|"))
    numbers = [None if size == "-" else int(size) for size in sizes.split()]
    known: dict[str, Any] = dict(zip(("users", "edges", "features", "classes"), numbers, strict=True))
    known["range"] = None if values in ("real", "none") else UNIT
    kind, *options = downloader.split() or [""]
    known["source"] = PygSource(kind, dict(option.split("=") for option in options)) if kind else None
    return Dataset(name, about, values=values, **{**known, **_MORE.get(name, {})})  # type: ignore[arg-type]


DATASETS = Registry[Dataset](
    "dataset", ((each.name, each) for each in map(_dataset, _TABLE.strip().splitlines()))
)


def dataset(name: str) -> Dataset:
    """The registered dataset of that name."""
    return DATASETS.find(name)
