"""Graphs that are here, and those that are not."""

import pytest

from graphveil.experiments.study import missing_graph, shorten_missing_graphs


@pytest.fixture(autouse=True)
def own_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("GRAPHVEIL_DATA", str(tmp_path))
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path / "cache"))


def test_what_is_not_here_names_the_file_that_it_needs():
    assert missing_graph("lastfm") == (
        "lastfm is not here: `graphveil data get lastfm`, or put lastfm.npz into the folder that GRAPHVEIL_DATA names"
    )


def test_a_town_a_file_and_a_stored_graph_are_here(tmp_path):
    (tmp_path / "cora.npz").touch()
    assert [
        missing_graph(name) for name in ("town", "cora", str(tmp_path / "cora.npz"), "mine.py:graph")
    ] == [""] * 4


@pytest.mark.parametrize("graph", ["lastfm", "flickr-mir", "own/far"])
def test_what_to_do_is_found_in_a_text_and_left_out_of_it(graph):
    why, other = missing_graph(graph), missing_graph("reddit")
    text = f"Left out: {why}; {other}. The rest is here."
    shortened = f"Left out: {graph} is not here; reddit is not here. The rest is here."
    assert shorten_missing_graphs(text) == (shortened, [why, other])
    assert shorten_missing_graphs(why) == ("not here", [why])


def test_another_text_stays_as_it_is():
    assert shorten_missing_graphs("cora is here") == ("cora is here", [])
