"""The graph that tests of workers divide."""

import pytest

from graphveil.graphs import load


@pytest.fixture(scope="session")
def graph():
    """A town in which somebody has no neighbour."""
    town, _ = load("town", users=400)
    pairs = town.pairs()
    return town.with_edges(pairs[(pairs != 7).all(axis=1)])
