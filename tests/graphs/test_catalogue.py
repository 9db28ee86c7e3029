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


def test_one_s_own_graphs_are_counted(places):
    np.savez(
        places.data / "mine.npz", edges=EDGES, x=np.zeros((3, 5)), y=[0, 2, -1], range=[0, 7], y_b=[0, 1, 1]
    )
    mine = listed("mine")
    assert (mine.users, mine.edges, mine.features, mine.classes) == (3, 2, 5, 3)
    assert (mine.range, mine.where, mine.labels) == ((0.0, 7.0), "data folder", ("y", "y_b"))


def test_a_graph_of_edges_alone_is_counted(places):
    np.savez(places.data / "mine.npz", edges=EDGES)
    mine = listed("mine")
    assert (mine.users, mine.edges, mine.features, mine.classes, mine.range) == (3, 2, 0, 0, None)


def test_a_broken_file_does_not_hide_the_others(places):
    (places.data / "broken.npz").write_bytes(b"nothing")
    assert (listed("broken").users, listed("cora").users) == (None, 2708)
    assert "is not a graph" in listed("broken").note


def test_a_graph_is_described_by_name_or_path(places):
    np.savez(places.data / "mine.npz", edges=EDGES, metric="roc_auc")
    assert describe("mine").where == "data folder"
    assert describe(str(places.data / "mine.npz")).metric == "roc_auc"
    assert describe("tolokers").metric == "roc_auc"


def test_a_described_file_is_verified(places):
    path = keep("cora", Raw(EDGES, np.array([0, 1, 0])))
    path.write_bytes(b"damaged")
    with pytest.raises(InputError, match="does not match its checksum"):
        describe("cora")


def test_an_unknown_graph_cannot_be_described(places):
    with pytest.raises(InputError, match="no graph is named 'nobody': see `graphveil data list`"):
        describe("nobody")


def test_several_labels_a_user_are_counted_and_told(places):
    np.savez(places.data / "mine.npz", edges=EDGES, y=[[0, 1, 1], [0, 0, 0], [1, 0, 1]])
    mine, town = listed("mine"), listed("town-labels")
    assert (mine.classes, mine.metric, mine.several_labels) == (3, "f1", True)
    assert (town.where, town.classes, town.metric, town.several_labels) == ("embedded", 4, "f1", True)
    assert not listed("town").several_labels
