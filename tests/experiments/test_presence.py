"""Graphs that are here, and those that are not."""

import pytest

from graphveil.experiments.study import missing_graph


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
