"""Links held out: parts that do not meet, pairs that are no links, and a graph that does not know the answer."""

from dataclasses import replace

import numpy as np
import pytest

from graphveil import InputError
from graphveil.errors import PrivacyError
from graphveil.graphs import from_arrays, hold_out_links
from graphveil.graphs.graph import pair_codes, shared_links
from graphveil.graphs.links import non_links
from tests.refusals import check_refused


def nothing(pairs):
    """Scores that tell nothing."""
    return np.zeros(len(pairs))


def some_data(nodes=200, edges=1500, seed=0):
    random = np.random.default_rng(seed)
    return from_arrays(random.integers(0, nodes, (edges, 2)), None, random.integers(0, 3, nodes), name="some")


def every_part(graph, users, seed=0):
    known, holders = hold_out_links(graph, users, seed)
    return known, holders, (known.links.train, known.links.validation, holders.raw.test_links)


@pytest.mark.parametrize("size", [{}, {"nodes": 100, "edges": 3000}], ids=["sparse", "dense"])
def test_links_and_as_many_other_pairs_are_divided_as_the_document_divides_them(size):
    graph, users = some_data(**size)
    _, _, parts = every_part(graph, users)
    shares = [len(part.linked) / graph.edge_count for part in parts]
    np.testing.assert_allclose(shares, [0.85, 0.05, 0.1], atol=1 / graph.edge_count)
    whole = np.concatenate([part.linked for part in parts])
    np.testing.assert_array_equal(
        np.sort(pair_codes(whole, graph.node_count)), pair_codes(graph.pairs(), graph.node_count)
    )
    assert [len(part.linked) for part in parts] == [len(part.unlinked) for part in parts]
    others = np.concatenate([part.unlinked for part in parts])
    assert shared_links(graph, others) == 0
    assert len(np.unique(pair_codes(others, graph.node_count))) == len(others)
    assert (others[:, 0] < others[:, 1]).all()


def test_all_non_links_are_equally_likely():
    graph, _ = some_data(nodes=12, edges=30)
    random = np.random.default_rng(0)
    counts = np.zeros((12, 12))
    for _ in range(2000):
        counts[tuple(non_links(graph, 5, random).T)] += 1
    there = counts[counts > 0]
    free = 12 * 11 // 2 - graph.edge_count
    assert len(there) == free
    np.testing.assert_allclose(there, 2000 * 5 / free, rtol=0.2)


def test_the_server_sees_training_links_and_nothing_of_the_others():
    graph, users = some_data()
    known, holders, (train, validation, test) = every_part(graph, users)
    np.testing.assert_array_equal(np.sort(pair_codes(train.linked, 200)), pair_codes(known.pairs(), 200))
    assert shared_links(known, validation.linked) == shared_links(known, test.linked) == 0
    assert (known.labels == -1).all()
    indptr, indices = holders.raw.neighbours
    np.testing.assert_array_equal(indices, known.indices)
    np.testing.assert_array_equal(indptr, known.indptr)


def test_the_same_seed_divides_alike_and_another_does_not():
    graph, users = some_data()
    one, again, other = (every_part(graph, users, seed)[2] for seed in (0, 0, 1))
    for first, second in zip(one, again, strict=True):
        np.testing.assert_array_equal(first.linked, second.linked)
        np.testing.assert_array_equal(first.unlinked, second.unlinked)
    assert not np.array_equal(one[0].linked, other[0].linked)


def test_a_planted_leak_is_seen():
    graph, users = some_data()
    known, holders = hold_out_links(graph, users, 0)
    with pytest.raises(InputError, match="of the links that validate"):
        replace(known, indptr=graph.indptr, indices=graph.indices)
    everything = replace(known, links=None, indptr=graph.indptr, indices=graph.indices)
    with pytest.raises(PrivacyError, match="has 1.. test links"):
        holders.evaluate_links(nothing, everything)
    one_leaks = known.with_edges(np.concatenate([known.pairs(), holders.raw.test_links.linked[:1]]))
    with pytest.raises(PrivacyError, match="has 1 test links"):
        holders.evaluate_links(nothing, one_leaks)


def test_what_knows_the_answer_scores_one_and_what_knows_nothing_one_half():
    graph, users = some_data()
    known, holders = hold_out_links(graph, users, 0)
    truth = set(pair_codes(graph.pairs(), 200).tolist())

    def knows(pairs):
        return np.array([code in truth for code in pair_codes(pairs, 200).tolist()], dtype=float)

    assert holders.evaluate_links(knows, known) == 1
    assert holders.evaluate_links(nothing, known) == 0.5
    # Nor does the order of test pairs tell anything.
    assert 0.35 < holders.evaluate_links(lambda pairs: -np.arange(len(pairs)), known) < 0.65


def test_users_who_answer_neither_evaluate_nor_hold_links_out():
    graph, users = some_data()
    _, holders = hold_out_links(graph, users, 0)
    assert not hasattr(holders.declare(1.0), "evaluate_links")
    with pytest.raises(AttributeError):
        hold_out_links(graph, users.declare(1.0), 0)


def test_what_cannot_be_divided_or_evaluated_is_refused():
    data, complete = some_data(), np.stack(np.triu_indices(12, 1), axis=1)
    known, holders = hold_out_links(*data, 0)
    check_refused(
        lambda ask: ask(),
        [
            (lambda: hold_out_links(*data, 0, 0.9, 0.2), "leave some"),
            (
                lambda: hold_out_links(*data, 0, 0, 0.5),
                "train must be a number strictly between 0 and 1, got 0",
            ),
            (lambda: hold_out_links(*data, 0, 0.999, 0.0005), "empty"),
            (lambda: hold_out_links(*some_data(nodes=30, edges=10), 0), "needs 20 links"),
            (lambda: hold_out_links(known, holders, 0), "already"),
            (lambda: hold_out_links(*from_arrays(complete, None, np.arange(12) % 2), 0), "too dense"),
            (lambda: data[1].evaluate_links(nothing, data[0]), "no test links"),
            (lambda: holders.evaluate_links(lambda pairs: np.zeros(3), known), "scores must be"),
            (lambda: holders.evaluate_links(lambda pairs: nothing(pairs) * np.nan, known), "scores must be"),
        ],
    )
