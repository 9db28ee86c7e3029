"""Partitions are balanced, repeatable and cut few links."""

import importlib.util

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphveil import InputError
from graphveil.graphs import from_arrays, load
from graphveil.scale import partitioners
from graphveil.scale.edges import Adjacency
from graphveil.scale.partitioners import assign, balanced, most, ranges
from tests.together import each


def links(graph):
    return Adjacency(graph.indptr, graph.indices)


def cut(graph, assignment):
    sources = np.repeat(np.arange(graph.node_count), graph.degrees)
    return float((assignment[sources] != assignment[graph.indices]).mean())


@pytest.fixture(scope="module")
def shuffled():
    """A town whose users are numbered at random, so that numbers tell nothing of neighbourhoods."""
    graph, _ = load("town", users=4000)
    order = np.random.default_rng(0).permutation(4000)
    return from_arrays(order[graph.pairs()], None, None, users=4000)[0]


@pytest.mark.parametrize(("partitioner", "bound"), [("metis", 0.1), ("stream", 0.25)])
def test_a_partitioner_finds_neighbourhoods(shuffled, partitioner, bound):
    """A tenth of the links leads anywhere, three of four of them to another partition; by chance three of four links are cut."""
    assignment, name = assign(links(shuffled), 4, partitioner)
    assert name == partitioner
    assert cut(shuffled, ranges(4000, 4)) > 0.7
    assert cut(shuffled, assignment) < bound


@pytest.mark.parametrize("partitioner", ["metis", "stream", "ranges"])
def test_partitions_are_balanced(shuffled, partitioner):
    def check(partitions):
        assignment, _ = assign(links(shuffled), partitions, partitioner)
        counts = np.bincount(assignment, minlength=partitions)
        assert counts.sum() == 4000 and counts.max() <= 1.05 * 4000 / partitions

    each([2, 3, 16], check)


@pytest.mark.parametrize("partitioner", ["metis", "stream", "ranges"])
def test_the_same_seed_gives_the_same_partitions(shuffled, partitioner):
    first, again = (assign(links(shuffled), 5, partitioner, seed=3)[0] for _ in range(2))
    assert np.array_equal(first, again) and first.dtype == np.int32


def test_as_many_partitions_as_users_or_one_are_ranges_and_users_without_links_are_shared_out():
    graph, _ = from_arrays(np.array([[0, 1]]), None, None, users=4)
    assert [assign(links(graph), count, "metis")[1] for count in (1, 4, 9)] == ["ranges"] * 3
    graph, _ = from_arrays(np.empty((0, 2), dtype=int), None, None, users=100)
    for partitioner in ("metis", "stream"):
        counts = np.bincount(assign(links(graph), 4, partitioner)[0], minlength=4)
        assert counts.max() <= 26


def test_auto_takes_metis_where_it_fits_and_an_unknown_partitioner_is_named(shuffled, monkeypatch):
    assert assign(links(shuffled), 2)[1] == "metis"
    monkeypatch.setattr(partitioners, "METIS_ENTRIES", 1000)
    assert assign(links(shuffled), 2)[1] == "stream"
    with pytest.raises(InputError, match="METIS takes graphs of at most 1000 entries"):
        assign(links(shuffled), 2, "metis")
    with pytest.raises(InputError, match="auto"):
        assign(links(shuffled), 2, "kmeans")


def test_without_pymetis_auto_streams_and_metis_is_refused(shuffled, monkeypatch):
    there = importlib.util.find_spec
    monkeypatch.setattr(partitioners, "find_spec", lambda name: None if name == "pymetis" else there(name))
    assert assign(links(shuffled), 2)[1] == "stream"
    with pytest.raises(
        InputError, match=r"pip install 'graphveil\[ray\]', or take --partition stream|stream"
    ):
        assign(links(shuffled), 2, "metis")


@given(st.integers(0, 40), st.integers(1, 50))
def test_ranges_are_in_order_and_differ_by_at_most_one(users, partitions):
    found = ranges(users, partitions)
    counts = np.bincount(found, minlength=partitions)
    assert (np.diff(found) >= 0).all() and len(counts) == partitions
    assert counts.max() - counts.min() <= 1 and counts.sum() == users


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60))
def test_whoever_is_too_many_moves_to_the_smallest(members):
    before = np.array(members, dtype=np.int32)
    after = balanced(before, 5)
    limit = most(len(before), 5)
    counts = np.bincount(before, minlength=5)
    assert np.bincount(after, minlength=5).max() <= limit
    assert (before != after).sum() == np.maximum(counts - limit, 0).sum()
