"""Reported links: which pairs, how plausible, and refused from public numbers where they would not fit."""

from __future__ import annotations

import numpy as np
import pytest

from graphveil.channels.sampling import SeededBits
from graphveil.denoise import links as module
from graphveil.denoise.links import (
    HYBRID_LEAST,
    SURE,
    ReportedLinks,
    _joined,
    _rising_density,
    density,
    log_odds,
    posterior,
    private_graph,
    refuse_too_many,
)
from graphveil.errors import InputError
from graphveil.mechanisms import NeighbourLists, Reports, mechanism
from tests.learn.graphs import small_graph
from tests.refusals import check_refused


def lists_of(graph):
    return NeighbourLists(np.arange(graph.node_count), graph.indptr, graph.indices)


def cliques(count, size):
    """Groups in which everybody knows everybody, as lists of neighbours."""
    users = count * size
    rows = np.repeat(np.arange(users), size)
    columns = (rows // size) * size + np.tile(np.arange(size), users)
    kept = rows != columns
    pointers = np.arange(users + 1) * (size - 1)
    return NeighbourLists(np.arange(users), pointers, columns[kept])


def test_what_is_reported_without_noise_is_the_graph():
    graph = small_graph()[0]
    found = mechanism("link-rr", epsilon=20.0, dims=graph.node_count)
    links = ReportedLinks.of(found.randomize(lists_of(graph), SeededBits(0)))
    back = graph.without_edges().with_edges(links.pairs)
    assert np.array_equal(back.indptr, graph.indptr) and np.array_equal(back.indices, graph.indices)
    assert links.density == pytest.approx(graph.edge_count / (graph.node_count * (graph.node_count - 1) / 2))


def test_answers_for_another_s_pair_or_of_some_or_of_something_else_are_refused():
    found = mechanism("link-rr", epsilon=1.0, dims=3)
    labels = mechanism("krr", epsilon=1.0, classes=3).randomize([0, 1, 2])
    stolen = Reports(found, np.array([0, 0, 1, 1]), None, np.array([1], dtype=np.uint8))
    check_refused(
        ReportedLinks.of,
        [
            (stolen, "a pair that is not theirs"),
            (found.randomize(np.zeros((2, 3))), "reports of all 3 users, not 2"),
            (labels, "these are of label"),
        ],
    )


def test_density_and_plausibility_follow_their_formulas():
    assert density(np.array([10, 26, 90]), np.array(100), 0.1) == pytest.approx([0.0, 0.2, 1.0])
    assert density(np.array([0]), np.array([0]), 0.1) == [0.0]
    ratio = np.full(3, np.log(9))
    assert posterior(log_odds(np.array([0.0, 0.2, 1.0])), ratio) == pytest.approx(
        [0, 0.18 / 0.26, 1], abs=1e-9
    )
    assert _joined(np.array([100, 40, 20, 5, 30, 1]), 30).tolist() == [0, 1, 1, 1, 2, 2]
    assert _joined(np.array([3, 2]), 30).tolist() == [0, 0]
    links = ReportedLinks(4, 0.1, np.empty((0, 2), dtype=np.int32))
    assert (links.density, links.plausibilities().size) == (0.0, 0)


@pytest.mark.statistical
def test_plausibilities_are_the_shares_of_links_that_are_there():
    """600 groups of 5 at ε = 4: within each of the values a binomial test at 6 deviations; seed fixed."""
    lists = cliques(600, 5)
    found = mechanism("link-rr", epsilon=4.0, dims=3000)
    links = ReportedLinks.of(found.randomize(lists, SeededBits(1)))
    true = links.pairs[:, 0] // 5 == links.pairs[:, 1] // 5
    said = links.plausibilities()
    assert 0.03 < links.plausibilities(most_steps=0)[0] < 0.1
    assert said[true].mean() > 4 * said[~true].mean()
    for value in np.unique(said):
        here = said == value
        assert abs(true[here].mean() - value) < 6 * np.sqrt(0.25 / here.sum())


def test_pairs_are_alike_by_noise_alone_and_where_counting_takes_too_long():
    found = mechanism("link-rr", epsilon=0.1, dims=300)
    links = ReportedLinks.of(found.randomize(cliques(60, 5), SeededBits(1)))
    assert links.plausibilities().max() < 0.2
    found = mechanism("link-rr", epsilon=4.0, dims=500)
    links = ReportedLinks.of(found.randomize(cliques(100, 5), SeededBits(1)))
    alike = posterior(log_odds(np.array([links.density])), links.log_ratios[:1])
    assert np.unique(links.plausibilities(most_steps=10)).tolist() == alike.tolist()
    assert len(np.unique(links.plausibilities())) > 1


def test_density_rises_from_group_to_group_where_it_is_more_than_noise():
    pairs, flip = np.array([1e6, 1e4, 1e4, 10.0]), 0.1
    shares = np.array([0.01, 0.3, 0.2, 0.0])
    found = _rising_density(pairs * (flip + (1 - 2 * flip) * shares), pairs, flip)
    assert found == pytest.approx([0.01, 0.25, 0.25, 0.25], abs=0.01)


# Sizes


def test_links_that_do_not_fit_are_refused_with_their_size_and_what_to_do(monkeypatch):
    found = mechanism("link-rr", epsilon=2.0, dims=22_470)
    with pytest.raises(
        InputError, match=r"about 30,0\d\d,\d+ of 252,439,215 pairs .* take 6\.0 GB, above the 2\.0 GB"
    ) as caught:
        refuse_too_many(found, 2.0)
    for advice in ("link_epsilon", "link_mechanism dprr", "max_memory", "30,0"):
        assert advice in str(caught.value)
    refuse_too_many(found, 1000.0)
    # Without a limit it is what the machine has left.
    assert module.available_gigabytes() > 0.05
    monkeypatch.setattr(module, "available_gigabytes", lambda: 1.0)
    with pytest.raises(InputError, match="above the 1.0 GB that this machine has left"):
        refuse_too_many(found, None)


def test_pairs_of_silent_users_count_neither_as_linked_nor_as_not():
    lists, who = cliques(8, 5), np.arange(40) % 4 != 3
    reports = mechanism("link-rr", epsilon=20.0, dims=40).randomize(lists, SeededBits(0))
    links = ReportedLinks.of(reports.answered_by(who))
    # A user answers for all users with smaller numbers.
    assert links.answer_count == np.flatnonzero(who).sum()
    rows = np.repeat(lists.owners, np.diff(lists.indptr))
    asked = who[rows] & (lists.neighbours < rows)
    assert links.pairs.tolist() == np.stack([rows, lists.neighbours], axis=1)[asked].tolist()
    assert links.density == pytest.approx(asked.sum() / links.answer_count)


def test_a_graph_that_is_nearly_all_noise_is_refused_unless_it_is_asked_for():
    nearly_all = mechanism("link-rr", epsilon=0.5, dims=100)
    with pytest.raises(InputError, match="reports about 1,869 of 4,950 pairs by mistake.*dprr.*allow_dense"):
        refuse_too_many(nearly_all, None)
    refuse_too_many(nearly_all, None, dense=True)
    # Mechanisms that report as many pairs as links are never too many.
    for name in ("dprr", "lapgraph"):
        refuse_too_many(mechanism(name, epsilon=0.1, dims=100_000), 1e-9)


def test_both_ends_answers_are_counted_for_a_pair():
    lists = cliques(4, 5)
    reports = mechanism("blink", epsilon=40.0, dims=20, ends="both").randomize(lists, SeededBits(0))
    links = ReportedLinks.of(reports)
    assert links.both and links.answer_count == 20 * 19
    assert len(links.pairs) == 4 * 10 and (links.yes == 2).all()
    assert links.density == pytest.approx(40 / 190)
    assert (links.plausibilities() > 0.99).all()


def test_a_pair_counts_by_what_its_ends_and_their_degrees_say():
    links = ReportedLinks(3, 0.1, np.array([[1, 0], [2, 1]], np.int32), None, True, np.array([1, 2]))
    assert links.log_ratios == pytest.approx([0.0, 2 * np.log(9)])
    silent = ReportedLinks(3, 0.1, links.pairs, np.array([True, False, False]), True, links.yes)
    assert silent.log_ratios == pytest.approx([np.log(9), 2 * np.log(9)])
    links = ReportedLinks(3, 0.0, np.array([[1, 0], [2, 1]], np.int32), kept=np.array([1.0, 0.5, 0.25]))
    assert links.yeses.tolist() == [2.0, 4.0]
    pairs = np.array([[1, 0], [3, 2]], np.int32)
    links = ReportedLinks(4, 0.2, pairs, degrees=np.array([2.5, 2.5, 0.5, 0.5]))
    busy, quiet = links.plausibilities(most_steps=0)
    assert busy > quiet


# The private graph: which reported pairs stay in each variant, and with which weights


@pytest.fixture(scope="module")
def reports():
    return mechanism("link-rr", epsilon=4.0, dims=200).randomize(cliques(40, 5), SeededBits(1))


def test_plain_is_as_many_reported_pairs_as_there_are_links_in_expectation(reports):
    links = ReportedLinks.of(reports)
    plain, again, other = (private_graph(reports, "plain", seed) for seed in (0, 0, 1))
    assert len(plain.pairs) == round(links.density * 200 * 199 / 2) < len(links.pairs)
    assert set(map(tuple, plain.pairs.tolist())) <= set(map(tuple, links.pairs.tolist()))
    assert (plain.weights == 1).all()
    # It depends on its seed alone.
    assert plain.pairs.tolist() == again.pairs.tolist() != other.pairs.tolist()


def test_hard_keeps_what_is_likelier_than_not_and_others_weigh_by_how_likely_a_link_is(reports):
    links = ReportedLinks.of(reports)
    chances = links.plausibilities()
    hard, soft, hybrid = (private_graph(reports, variant, 0) for variant in ("hard", "soft", "hybrid"))
    assert np.array_equal(hard.pairs, links.pairs[chances > 0.5])
    assert (hard.weights == 1).all()
    assert hard.left_out == pytest.approx(chances[chances <= 0.5].sum())
    assert np.array_equal(soft.weights, chances[chances > 0.01])
    kept = chances[chances > HYBRID_LEAST]
    # The hybrid weighs by the square.
    assert np.array_equal(hybrid.weights, np.where(kept < SURE, kept**2, 1.0))
    assert soft.left_out <= hybrid.left_out


def test_what_a_curator_publishes_is_the_graph_and_nobody_s_report_leaves_no_pair(reports):
    published = mechanism("lapgraph", epsilon=22.0, dims=20).randomize(cliques(4, 5), SeededBits(0))
    graph = private_graph(published, "hybrid", 0)
    assert len(graph.pairs) == 40 and (graph.pairs[:, 0] // 5 == graph.pairs[:, 1] // 5).all()
    nobody = reports.answered_by(np.zeros(200, dtype=bool))
    for variant in ("plain", "hard", "soft", "hybrid"):
        assert len(private_graph(nobody, variant, 0).pairs) == 0
