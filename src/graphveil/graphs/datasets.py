"""The registry of datasets: what each holds, its public range, and where it comes from.

A public range is a constant here, agreed before anything is collected: binary data, counts and signs (taken as x > 0) lie in
[0, 1]; pubmed's word weights are clipped to [0, 1]. Where nothing is known in public, none is given, and whoever loads
such data must bring one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from graphveil.graphs.graph import Metric
from graphveil.graphs.town import LabelTown, Town
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
_town, _label_town = Town(), LabelTown()


def _binary(
    name: str, about: str, sizes: tuple[int, int | None, int, int], source: Any, **more: Any
) -> Dataset:
    return Dataset(name, about, *sizes, values="binary", range=UNIT, source=source, **more)


def _counts(name: str, about: str, sizes: tuple[int, int | None, int, int], source: Any) -> Dataset:
    return Dataset(name, about, *sizes, values="counts", range=UNIT, source=source)


def _real(
    name: str,
    about: str,
    sizes: tuple[int, int | None, int, int],
    source: Any,
    range: tuple[float, float] | None = None,
    **more: Any,
) -> Dataset:
    return Dataset(name, about, *sizes, values="real", range=range, source=source, **more)


def _planetoid(name: str) -> PygSource:
    return PygSource("Planetoid", {"name": name})


# Sizes: users, undirected edges, features, classes.
_ALL = (
    _binary(
        "town",
        "a generated social network in which features matter",
        (_town.users, 39939, _town.features, _town.kinds),
        None,
        note="generated from a seed; sizes and shares are options of load",
        embedded=True,
    ),
    _binary(
        "town-labels",
        "a generated social network in which users have several labels each",
        (_label_town.users, 39934, _label_town.features, _label_town.kinds),
        None,
        metric="f1",
        note="generated from a seed; sizes and shares are options of load",
        embedded=True,
        several_labels=True,
    ),
    _binary("cora", "citations, words of papers, topics", (2708, 5278, 1433, 7), _planetoid("Cora")),
    _binary("citeseer", "citations, words of papers, topics", (3327, 4552, 3703, 6), _planetoid("CiteSeer")),
    _real(
        "pubmed",
        "citations, word weights of papers, topics",
        (19717, 44324, 500, 3),
        _planetoid("PubMed"),
        UNIT,
        note="word weights are clipped to the public range",
    ),
    _binary(
        "facebook",
        "pages that like each other, words of their descriptions, kind of page",
        (22470, 170823, 4714, 4),
        SnapSource("facebook_large.zip", "facebook", target="page_type"),
    ),
    _binary(
        "lastfm",
        "listeners who follow each other, artists they like, country",
        (7624, 27806, 7842, 18),
        SnapSource("lastfm_asia.zip", "lastfm_asia"),
        note="largest_classes=10 keeps the 10 largest countries, as LDP-GE does",
    ),
    Dataset(
        "lastfm-graph-only",
        "lastfm without its features",
        7624,
        27806,
        0,
        18,
        values="none",
        range=None,
        source=None,
        note="lastfm has the features too",
    ),
    _binary(
        "wikipedia",
        "articles about crocodiles that link to each other, nouns in them, traffic",
        (11631, 170773, 13183, 2),
        SnapSource("wikipedia.zip", "crocodile", thresholds={"y": 4728, "y_median": 1227}),
        labels=("y", "y_median"),
        note="y is the label in common use (monthly traffic of at least 4728), y_median is traffic above the median",
    ),
    _binary(
        "twitch",
        "Spanish streamers who follow each other, games and habits, mature content",
        (4648, 59382, 3170, 2),
        SnapSource("twitch.zip", "ES", user="new_id", target="mature"),
    ),
    _binary(
        "github",
        "developers who follow each other, places and repositories, web or machine learning",
        (37700, 289003, 4005, 2),
        SnapSource("git_web_ml.zip", "git", target="ml_target"),
    ),
    _real(
        "facebook-128",
        "facebook, features reduced to 128 numbers",
        (22470, 170823, 128, 4),
        PygSource("FacebookPagePage"),
    ),
    _real(
        "lastfm-128",
        "lastfm, features reduced to 128 numbers",
        (7624, 27806, 128, 18),
        PygSource("LastFMAsia"),
    ),
    _real(
        "twitch-128",
        "twitch, features reduced to 128 numbers",
        (4648, 59382, 128, 2),
        PygSource("Twitch", {"name": "ES"}),
    ),
    _real(
        "github-128", "github, features reduced to 128 numbers", (37700, 289003, 128, 2), PygSource("GitHub")
    ),
    _counts(
        "co-phy",
        "co-authors in physics, keywords, field",
        (34493, 247962, 8415, 5),
        PygSource("Coauthor", {"name": "Physics"}),
    ),
    _counts(
        "co-cs",
        "co-authors in computer science, keywords, field",
        (18333, 81894, 6805, 15),
        PygSource("Coauthor", {"name": "CS"}),
    ),
    _binary(
        "amazon-computers",
        "goods bought together, words of reviews, category",
        (13752, 245861, 767, 10),
        PygSource("Amazon", {"name": "Computers"}),
    ),
    _counts(
        "flickr",
        "images with something in common, visual words, kind",
        (89250, 449878, 500, 7),
        PygSource("Flickr"),
    ),
    _counts(
        "flickr-small",
        "photographers who follow each other, tags, interest group",
        (7575, 239738, 12047, 9),
        PygSource("AttributedGraphDataset", {"name": "Flickr"}),
    ),
    _binary(
        "squirrel",
        "articles about squirrels that link to each other, nouns, traffic in five steps",
        (5201, None, 2089, 5),
        PygSource("WikipediaNetwork", {"name": "squirrel", "geom_gcn_preprocess": True}),
        note="it holds many articles twice: squirrel-filtered does not",
    ),
    _binary(
        "squirrel-filtered",
        "squirrel without its repeated articles",
        (2223, 46998, 2089, 5),
        None,
        note="PyG does not offer it",
    ),
    _binary(
        "chameleon",
        "articles about chameleons that link to each other, nouns, traffic in five steps",
        (2277, None, 2325, 5),
        PygSource("WikipediaNetwork", {"name": "chameleon", "geom_gcn_preprocess": True}),
    ),
    _binary(
        "actor", "actors on the same page, keywords, kind of role", (7600, None, 932, 5), PygSource("Actor")
    ),
    _real(
        "tolokers",
        "workers who did the same task, rates and profile, banned or not",
        (11758, 519000, 10, 2),
        PygSource("HeterophilousGraphDataset", {"name": "Tolokers"}),
        UNIT,
        metric="roc_auc",
    ),
    _real(
        "reddit",
        "posts with a common author, word vectors, community",
        (232965, None, 602, 41),
        PygSource("Reddit"),
    ),
    Dataset(
        "ppi",
        "proteins that interact in 24 tissues, gene sets, functions",
        56944,
        None,
        50,
        121,
        values="signs",
        range=UNIT,
        source=PygSource("PPI", parts=("train", "val", "test")),
        metric="f1",
        note="gene sets are 0 or 1, the file has them standardised: x > 0 is taken; label=0..120 chooses one of the functions; "
        "split='given' keeps tissues apart",
        several_labels=True,
    ),
    Dataset(
        "flickr-mir",
        "photographs of MIR Flickr with something in common, what they show",
        None,
        None,
        None,
        None,
        values="real",
        range=None,
        source=None,
        metric="f1",
        note="nobody keeps its graph for download, and PyG's Flickr is another one; flickr-mir.npz must hold edges (E x 2), x "
        "(photographs x features) with its public range, and y (photographs x labels, 0 or 1)",
        several_labels=True,
    ),
    _real(
        "ogbn-arxiv",
        "citations, word vectors of papers, subject",
        (169343, None, 128, 40),
        PygSource("PygNodePropPredDataset", {"name": "ogbn-arxiv"}, module="ogb.nodeproppred"),
        note="PyG offers it through the package ogb, which graphveil does not install",
    ),
)

DATASETS = Registry[Dataset]("dataset", {dataset.name: dataset for dataset in _ALL})


def dataset(name: str) -> Dataset:
    """The registered dataset of that name."""
    return DATASETS.find(name)
