"""Downloads, with PyG's own classes reading small raw files instead of the network."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import coo_array, csr_array
from torch_geometric import datasets as pyg
from torch_geometric.data import Data

from graphveil import InputError
from graphveil.graphs import DATASETS, get, load, to_pyg
from graphveil.graphs.npz import read_npz
from graphveil.graphs.store import checksum_path, fetch
from tests.graphs.real import COUNTS, needs_data
from tests.refusals import check_refused

EDGES = np.array([[0, 1], [1, 0], [1, 2], [3, 3], [2, 3], [1, 2]])
TIDY = [[0, 1], [1, 2], [2, 3]]
COUNTED = np.array([[0, 3, 0], [1, 0, 0], [0, 0, 2], [0, 0, 0]], dtype=np.float32)
LABELS = np.array([0, 1, 0, 1])
LINKS = coo_array((np.ones(len(EDGES)), EDGES.T), shape=(4, 4)).tocsr()


@pytest.fixture
def small(monkeypatch):
    """Pretend that a registered dataset is as small as the raw files here."""

    def shrink(name, users=4, edges=3, features=3, classes=2):
        sizes = {"users": users, "edges": edges, "features": features, "classes": classes}
        monkeypatch.setitem(DATASETS._items, name, replace(DATASETS[name], **sizes))
        return DATASETS[name]

    return shrink


def as_pyg(features, **more):
    return Data(x=features, edge_index=torch.from_numpy(EDGES.T), y=torch.from_numpy(LABELS), **more)


@pytest.fixture
def raw_file(monkeypatch):
    """Put a raw file of such arrays in the place of a download of PyG."""

    def put(kind, **arrays):
        monkeypatch.setattr(
            getattr(pyg, kind), "download", lambda self: np.savez(self.raw_paths[0], **arrays)
        )

    return put


class FakePlanetoid:
    """What `Planetoid` gives: both directions, dense features, public masks."""

    made = 0

    def __init__(self, root, name):
        type(self).made += 1
        assert name == "Cora"

    def __getitem__(self, place):
        masks = {"train_mask": [1, 1, 0, 0], "val_mask": [0, 0, 1, 0], "test_mask": [0, 0, 0, 1]}
        masks = {name: torch.tensor(flags, dtype=torch.bool) for name, flags in masks.items()}
        return as_pyg(torch.from_numpy(COUNTED), **masks)


@pytest.fixture
def cora(small, monkeypatch):
    monkeypatch.setattr(FakePlanetoid, "made", 0)
    monkeypatch.setattr(pyg, "Planetoid", FakePlanetoid)
    return small("cora")


def test_a_download_is_kept_and_repeated_where_that_is_asked_for(places, cora):
    path = get("cora")
    assert path == places.cache / "cora.npz"
    assert get("cora") == path
    assert FakePlanetoid.made == 1
    assert [file.name for file in sorted(places.cache.iterdir())] == ["cora.npz", "cora.npz.sha256"]
    path.write_bytes(b"damaged")
    check_refused(lambda ask: ask("cora"), [(ask, "does not match its checksum") for ask in (get, load)])
    get("cora", again=True)
    assert FakePlanetoid.made == 2
    assert get("cora") == path
    checksum_path(path).write_text("0" * 64 + "  cora.npz\n")
    with pytest.raises(InputError, match="does not match its checksum"):
        load("cora")


def test_the_data_folder_is_looked_into_before_anything_is_downloaded(places, cora):
    np.savez(places.data / "cora.npz", edges=[[0, 1]], y=[0, 1])
    assert get("cora") == places.data / "cora.npz"
    assert FakePlanetoid.made == 0


def test_what_is_kept_has_edges_once_and_is_loaded_by_the_registry_s_rule(places, cora):
    raw = read_npz(get("cora"))
    assert raw.edges.tolist() == TIDY
    assert raw.features.toarray().tolist() == COUNTED.tolist()
    assert raw.labels.tolist() == LABELS.tolist()
    assert raw.given.validation.tolist() == [[False, False, True, False]]
    graph, users = load("cora", split="given")
    assert graph.train.tolist() == [True, True, False, False]
    assert graph.binary
    assert users.raw.features.toarray().tolist() == (COUNTED > 0).tolist()


def test_something_else_under_the_same_name_is_refused(places, small, cora):
    check_refused(
        lambda sizes: [small("cora", **sizes), get("cora")],
        [
            ({"users": 5}, "cora has 5 users, but 4 were downloaded"),
            ({"features": 128}, "cora has 128 features, but 3 were downloaded"),
            ({"edges": 7}, "cora has 7 edges, but 3 were downloaded"),
            ({"classes": 7}, "cora has 7 classes, but 2 were downloaded"),
        ],
    )
    assert list(places.cache.iterdir()) == []


@pytest.mark.parametrize("failure", [OSError("no route"), RuntimeError("HTTP 404"), KeyError("x")])
def test_without_a_network_the_error_says_where_it_looked_and_what_to_do(places, monkeypatch, failure):
    def fail(root, name):
        raise failure

    monkeypatch.setattr(pyg, "Planetoid", fail)
    with pytest.raises(InputError) as error:
        load("cora")
    for words in (
        f"could not be downloaded ({type(failure).__name__}: ",
        str(places.data),
        str(places.cache),
        "set GRAPHVEIL_DATA to a folder that holds cora.npz",
        "graphveil data get cora",
    ):
        assert words in str(error.value)
    assert list(places.cache.iterdir()) == []


def test_what_cannot_be_downloaded_says_why(places, monkeypatch):
    monkeypatch.setitem(sys.modules, "ogb", None)
    check_refused(
        lambda ask: ask(),
        [
            (
                lambda: load("ogbn-arxiv", range=(-1, 1)),
                "ogbn-arxiv needs the package ogb to be downloaded: install it",
            ),
            (lambda: get("town"), "town is generated on this machine"),
        ],
    )
    with pytest.raises(
        InputError, match=r"squirrel-filtered cannot be downloaded \(PyG does not offer it\)"
    ) as error:
        load("squirrel-filtered")
    assert "data get" not in str(error.value)
    monkeypatch.delenv("GRAPHVEIL_DATA")
    with pytest.raises(InputError, match="GRAPHVEIL_DATA is not set"):
        get("squirrel-filtered")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("facebook-128", "FacebookPagePage"),
        ("lastfm-128", "LastFMAsia"),
        ("twitch-128", "Twitch"),
        ("github-128", "GitHub"),
    ],
)
def test_reduced_features_are_real_and_need_a_range(places, small, raw_file, name, kind):
    """The format of the sets with 128 features, at https://graphmining.ai/datasets/ptg."""
    small(name)
    raw_file(kind, edges=EDGES, features=COUNTED / 4 - 0.5, target=LABELS)
    with pytest.raises(InputError, match=f"{name} has features but no public range"):
        load(name)
    graph, users = load(name, range=(-1, 1))
    assert not graph.binary
    assert (users.raw.features == COUNTED / 4 - 0.5).all()


@pytest.mark.parametrize(
    ("name", "kind"), [("co-phy", "Coauthor"), ("co-cs", "Coauthor"), ("amazon-computers", "Amazon")]
)
def test_benchmark_sets_of_words(places, small, raw_file, name, kind):
    matrices = {"attr": csr_array(COUNTED), "adj": LINKS}
    fields = ("data", "indices", "indptr", "shape")
    parts = {f"{key}_{part}": getattr(matrix, part) for key, matrix in matrices.items() for part in fields}
    small(name)
    raw_file(kind, labels=LABELS, **parts)
    graph, users = load(name)
    assert graph.pairs().tolist() == TIDY
    assert users.raw.features.toarray().tolist() == (COUNTED > 0).tolist()


def test_tolokers_is_dense_and_measured_by_roc_auc(places, small, raw_file):
    small("tolokers", users=40, edges=39)
    count = np.arange(40)
    arrays = {
        "node_features": np.random.default_rng(0).random((40, 3)).astype(np.float32),
        "node_labels": count % 2,
        "edges": np.stack([count[:-1], count[1:]], axis=1),
        **{f"{part}_masks": np.eye(40, dtype=bool)[:2] for part in ("train", "val", "test")},
    }
    raw_file("HeterophilousGraphDataset", **arrays)
    graph, users = load("tolokers")
    assert graph.metric == "roc_auc"
    assert (users.raw.features == arrays["node_features"]).all()


@pytest.mark.parametrize("name", ["squirrel", "chameleon", "actor"])
def test_heterophilic_sets_are_read_from_their_tables(places, small, monkeypatch, name):
    rows = ["0\t1\t0", "1\t0\t1", "2\t2\t0", "3\t1,2\t1"] if name == "actor" else []
    rows = rows or [
        f"{user}\t{','.join(str(int(x > 0)) for x in COUNTED[user])}\t{LABELS[user]}" for user in range(4)
    ]
    kind = pyg.Actor if name == "actor" else pyg.WikipediaNetwork

    def download(self):
        tables = [("node\tfeatures\tlabel", rows), ("from\tto", [f"{a}\t{b}" for a, b in EDGES])]
        for path, (header, lines) in zip(self.raw_paths[:2], tables, strict=True):
            with open(path, "w") as file:
                file.write("\n".join([header, *lines, ""]))
        for path in self.raw_paths[2:]:
            np.savez(path, **{f"{part}_mask": np.eye(4, dtype=int)[0] for part in ("train", "val", "test")})

    monkeypatch.setattr(kind, "download", download)
    small(name)
    graph, users = load(name)
    expected = [[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 1]] if name == "actor" else (COUNTED > 0).tolist()
    assert (graph.pairs().tolist(), graph.binary) == (TIDY, True)
    assert np.asarray(users.raw.features.toarray()).tolist() == expected


def test_flickr_is_read_from_its_four_files(places, small, monkeypatch):
    def download(self):
        folder = self.raw_dir
        parts = {part: getattr(LINKS, part) for part in ("data", "indices", "indptr", "shape")}
        np.savez(f"{folder}/adj_full.npz", **parts)
        np.save(f"{folder}/feats.npy", COUNTED)
        for name, content in (
            ("class_map", {str(user): int(label) for user, label in enumerate(LABELS)}),
            ("role", {"tr": [0, 1], "va": [2], "te": [3]}),
        ):
            with open(f"{folder}/{name}.json", "w") as file:
                json.dump(content, file)

    monkeypatch.setattr(pyg.Flickr, "download", download)
    small("flickr")
    graph, _ = load("flickr", split="given")
    assert graph.test.tolist() == [False, False, False, True]


class FakePPI:
    """What `PPI` gives: several graphs for each of train, val and test, with many labels a protein."""

    def __init__(self, root, split):
        self.count = {"train": 2, "val": 1, "test": 1}[split]

    def __iter__(self):
        for number in range(self.count):
            labels = torch.tensor([[0.0, 1.0, number], [1.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
            edges = torch.tensor([[0, 1], [1, 2]])
            # Standardised columns of 0 and 1: below 0 where they were 0.
            yield Data(x=torch.tensor([[-0.1, 11.7]] * 3), edge_index=edges, y=labels)


@pytest.fixture
def ppi(places, small, monkeypatch):
    monkeypatch.setattr(pyg, "PPI", FakePPI)
    return small("ppi", users=12, edges=8, features=2, classes=3)


def test_many_graphs_are_put_side_by_side_with_features_0_and_1_again(ppi, small):
    graph, users = load("ppi", split="given")
    assert graph.pairs().tolist() == [[0, 1], [1, 2], [3, 4], [4, 5], [6, 7], [7, 8], [9, 10], [10, 11]]
    assert np.flatnonzero(graph.train).tolist() == [0, 1, 2, 3, 4, 5]
    assert np.flatnonzero(graph.test).tolist() == [9, 10, 11]
    rows = [[0, 1, 0], [1, 1, 0], [1, 0, 0]]
    assert users.raw.labels.tolist() == [*rows, [0, 1, 1], *rows[1:], *rows, *rows]
    assert (graph.multilabel, graph.metric, graph.labels[9:].tolist()) == (True, "f1", [[-1] * 3] * 3)
    assert (graph.public_range.low, graph.public_range.high, graph.binary) == (0.0, 1.0, True)
    assert users.raw.features.tolist() == [[0, 1]] * 12
    small("ppi", users=12, edges=8, features=2, classes=121)
    with pytest.raises(InputError, match="ppi has 121 labels, but 3 were downloaded"):
        get("ppi", again=True)


def test_one_of_ppi_s_functions_is_a_class(ppi):
    graph, users = load("ppi", label=0, split="given")
    assert (graph.multilabel, graph.metric) == (False, "accuracy")
    assert users.raw.labels.tolist() == [0, 1, 1] * 4


def test_flickr_mir_says_which_file_it_needs_and_where(places):
    with pytest.raises(InputError) as error:
        load("flickr-mir")
    for words in (
        "flickr-mir cannot be downloaded",
        "flickr-mir.npz must hold edges (E x 2), x (photographs x features) with its public range",
        "y (photographs x labels, 0 or 1)",
        "set GRAPHVEIL_DATA to a folder that holds flickr-mir.npz",
    ):
        assert words in str(error.value)


def test_flickr_mir_is_loaded_from_one_s_own_file_with_its_range(places):
    rows = np.random.default_rng(0).integers(0, 2, (40, 3))
    pairs = np.stack([np.arange(39), np.arange(1, 40)], axis=1)
    values = np.linspace(-2, 2, 80).reshape(40, 2)
    np.savez(places.data / "flickr-mir.npz", edges=pairs, x=values, y=rows, range=[-2, 2])
    graph, users = load("flickr-mir")
    assert (graph.multilabel, graph.metric, graph.public_range.low) == (True, "f1", -2.0)
    assert (users.raw.features == values).all()


class FakeReddit:
    """What `Reddit` gives: dense real features, 41 communities."""

    def __init__(self, root):
        pass

    def __getitem__(self, place):
        return as_pyg(torch.from_numpy(COUNTED) - 1)


def test_real_features_are_not_clipped_to_a_range_that_the_user_gives(places, small, monkeypatch):
    monkeypatch.setattr(pyg, "Reddit", FakeReddit)
    small("reddit", edges=None)
    _, users = load("reddit", range=(-0.5, 0.5))
    assert (users.raw.features == COUNTED - 1).all()


def test_sparse_tensors_of_the_small_flickr(places, small, monkeypatch):
    class Fake:
        def __init__(self, root, name):
            assert name == "Flickr"

        def __getitem__(self, place):
            return as_pyg(torch.from_numpy(COUNTED).to_sparse_coo())

    monkeypatch.setattr(pyg, "AttributedGraphDataset", Fake)
    raw = fetch(small("flickr-small"))
    assert raw.features.toarray().tolist() == COUNTED.tolist()


@needs_data("cora")
def test_a_real_graph_comes_back_as_it_was(monkeypatch, tmp_path):
    graph, users = load("cora")
    data = to_pyg(graph, users)
    features, labels = users.raw.features, users.raw.labels
    monkeypatch.setattr(pyg, "Planetoid", lambda root, name: [data])
    monkeypatch.delenv("GRAPHVEIL_DATA")
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path))
    again, same = load("cora")
    assert (again.node_count, again.edge_count, again.feature_count, again.class_count) == COUNTS["cora"]
    assert (again.indices == graph.indices).all()
    assert (same.raw.features != features).nnz == 0
    assert (same.raw.labels == labels).all()
