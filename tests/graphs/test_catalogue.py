import numpy as np
import pytest

from graphveil import InputError
from graphveil.graphs.catalogue import catalogue, describe
from graphveil.graphs.npz import Raw
from graphveil.graphs.store import keep

EDGES = np.array([[0, 1], [1, 0], [1, 2]])


def listed(name):
    return {listing.name: listing for listing in catalogue()}[name]


def test_registered_datasets_are_listed_wherever_they_are(places):
    assert (listed("town").where, listed("cora").where, listed("cora").users) == (
        "embedded",
        "not here",
        2708,
    )
    keep("cora", Raw(EDGES, np.array([0, 1, 0])))
    assert (listed("cora").where, listed("cora").file) == ("cache", str(places.cache / "cora.npz"))
    np.savez(places.data / "cora.npz", edges=EDGES)
    assert (listed("cora").where, listed("cora").file) == ("data folder", str(places.data / "cora.npz"))


def test_one_s_own_graphs_are_counted_and_a_broken_file_does_not_hide_the_others(places):
    arrays = {"x": np.zeros((3, 5)), "y": [0, 2, -1], "range": [0, 7], "y_b": [0, 1, 1]}
    np.savez(places.data / "mine.npz", edges=EDGES, **arrays)
    np.savez(places.data / "bare.npz", edges=EDGES)
    np.savez(places.data / "several.npz", edges=EDGES, y=[[0, 1, 1], [0, 0, 0], [1, 0, 1]])
    (places.data / "broken.npz").write_bytes(b"nothing")
    found = {listing.name: listing for listing in catalogue()}
    mine, bare, several, town = (found[name] for name in ("mine", "bare", "several", "town-labels"))
    assert (mine.users, mine.edges, mine.features, mine.classes) == (3, 2, 5, 3)
    assert (mine.range, mine.where, mine.labels) == ((0.0, 7.0), "data folder", ("y", "y_b"))
    assert (bare.users, bare.edges, bare.features, bare.classes, bare.range) == (3, 2, 0, 0, None)
    assert (several.classes, several.metric, several.several_labels) == (3, "f1", True)
    assert (town.where, town.classes, town.metric, town.several_labels) == ("embedded", 4, "f1", True)
    assert not found["town"].several_labels
    assert (found["broken"].users, found["cora"].users) == (None, 2708)
    assert "is not a graph" in found["broken"].note


def test_a_graph_is_described_by_name_or_path_if_it_is_whole(places):
    np.savez(places.data / "mine.npz", edges=EDGES, metric="roc_auc")
    assert describe("mine").where == "data folder"
    assert describe(str(places.data / "mine.npz")).metric == "roc_auc"
    assert describe("tolokers").metric == "roc_auc"
    path = keep("cora", Raw(EDGES, np.array([0, 1, 0])))
    path.write_bytes(b"damaged")
    with pytest.raises(InputError, match="does not match its checksum"):
        describe("cora")
    with pytest.raises(InputError, match="no graph is named 'nobody': see `graphveil data list`"):
        describe("nobody")
