"""Curves of gains that come with the package: which one a graph has."""

import pytest

from graphveil.methods.veil_advice import KINDS, find_gain_model, gain_models


@pytest.mark.parametrize("kind", KINDS)
def test_a_graph_that_was_measured_has_a_curve_of_all_others(kind):
    cora, unknown = (find_gain_model(kind, data) for data in ("cora", "mine"))
    assert (cora.kind, cora.without, unknown.without) == (kind, "cora", None)
    assert cora.graphs < unknown.graphs
    assert cora.weights != unknown.weights


@pytest.mark.parametrize("kind", KINDS)
def test_towns_have_a_curve_of_their_own(kind):
    town = find_gain_model(kind, "town")
    assert town.town and town.without is None
    assert town.weights != find_gain_model(kind, "mine").weights


def test_no_curve_stands_there_twice():
    keys = [(model.kind, model.town, model.without) for model in gain_models()]
    assert len(keys) == len(set(keys))
