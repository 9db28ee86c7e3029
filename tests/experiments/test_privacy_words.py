"""What is said of budgets, and what a report may draw of private links."""

from types import SimpleNamespace

from graphveil.experiments.privacy_words import privacy_sentence

from graphveil.experiments.results import Setup
from graphveil.experiments.smoothing import spec_of


def cost(epsilon):
    return {"epsilon": epsilon, "delta": 0.0}


def test_a_link_s_budget_is_told_apart_from_the_total():
    said = privacy_sentence(
        {"features": cost(1.0), "labels": cost(2.0), "links": cost(8.0), "total": cost(3.0), "trust": "local"}
    )
    assert "features at ε = 1 and labels at ε = 2, in all ε = 3" in said
    assert "every link costs ε = 8" in said and "11" not in said


def test_energies_of_private_links_are_not_drawn():
    record = SimpleNamespace(
        method="solitude",
        data="town",
        epsilon=1.0,
        mechanism="multibit",
        seed=0,
        setup=Setup(),
        privacy=SimpleNamespace(links=None),
    )
    assert spec_of(record) is not None
    record.privacy.links = cost(4.0)
    assert spec_of(record) is None


def test_what_norms_cost_is_told_with_who_reported_them():
    said = privacy_sentence({"features": {**cost(3.0), "norm": 1.0}, "total": cost(3.0), "trust": "local"})
    assert said.startswith(
        "Users reported features at ε = 3, 1 of it for norms (norms of training and validation users)"
    )
