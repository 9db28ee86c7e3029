"""Edges that count less than 1: kept with their pairs, in every direction, and dropped where nobody can weigh."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from graphveil.errors import InputError
from graphveil.graphs import from_arrays, hold_out_links
from graphveil.graphs.graph import LIKELY
from graphveil.graphs.links import FEWEST_LINKS, known_links, no_known_links
from graphveil.learn import Topology
from graphveil.linear.propagation import gcn_matrix, mean_matrix, sum_matrix, weighted_mean_matrix
from graphveil.methods.job import public_part

GRAPH = from_arrays([[0, 1]], np.eye(4), [0, 1, 0, 1], range=(0, 1), seed=0)[0]
PAIRS, WEIGHTS = np.array([[2, 1], [0, 1], [3, 0]]), np.array([0.5, 1.0, 0.1])
WEIGHED = GRAPH.with_edges(PAIRS, WEIGHTS)
DENSE = np.zeros((4, 4))
DENSE[PAIRS[:, 0], PAIRS[:, 1]] = DENSE[PAIRS[:, 1], PAIRS[:, 0]] = WEIGHTS


def dense(matrix):
    return (matrix @ torch.eye(4)).numpy()


def test_weights_stay_with_their_pairs_in_both_directions_and_matrices_weigh():
    rows = np.repeat(np.arange(4), WEIGHED.degrees)
    assert DENSE[rows, WEIGHED.indices] == pytest.approx(WEIGHED.weights)
    assert WEIGHED.weighted_degrees == pytest.approx(DENSE.sum(axis=1))
    assert dict(zip(map(tuple, WEIGHED.pairs().tolist()), WEIGHED.pair_weights(), strict=True)) == {
        (0, 1): 1.0,
        (0, 3): 0.1,
        (1, 2): 0.5,
    }
    looped, degree = DENSE + np.eye(4), DENSE.sum(axis=1)
    scale = 1 / np.sqrt(looped.sum(axis=1))
    assert dense(gcn_matrix(WEIGHED)) == pytest.approx(scale[:, None] * looped * scale, rel=1e-6)
    root = 1 / np.sqrt(degree)
    assert dense(gcn_matrix(WEIGHED, loops=False)) == pytest.approx(root[:, None] * DENSE * root, rel=1e-6)
    assert dense(mean_matrix(WEIGHED)) == pytest.approx(DENSE / degree[:, None], rel=1e-6)
    assert dense(sum_matrix(WEIGHED)) == pytest.approx(looped, rel=1e-6)
    users = np.array([1.0, 2.0, 0.0, 4.0])
    counted = looped * users
    assert dense(weighted_mean_matrix(WEIGHED, users)) == pytest.approx(
        counted / counted.sum(axis=1, keepdims=True), rel=1e-6
    )


def test_whoever_cannot_weigh_takes_the_likelier_edges():
    plain = WEIGHED.unweighted()
    assert plain.weights is None and plain.pairs().tolist() == [[0, 1], [1, 2]]
    assert LIKELY == 0.25
    edges = Topology(WEIGHED).looped_edges
    assert edges.shape[1] == 2 * 2 + 4
    assert GRAPH.unweighted() is GRAPH
    assert GRAPH.weighted_degrees.tolist() == [1, 1, 0, 0]
    assert WEIGHED.with_edges(PAIRS[:1]).weights is None


def test_weights_must_fit_the_edges_and_too_few_private_links_are_refused():
    with pytest.raises(InputError, match="weights must be 2 numbers"):
        replace(GRAPH, weights=np.ones(3))
    with pytest.raises(InputError, match=rf"needs {FEWEST_LINKS} links.*larger link_epsilon"):
        known_links(WEIGHED, seed=0)


def test_known_links_are_divided_and_keep_their_weights():
    random = np.random.default_rng(0)
    pairs = np.unique(np.sort(random.integers(0, 200, (400, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    weights = random.random(len(pairs))
    whole = from_arrays([[0, 1]], np.eye(200), np.arange(200) % 2, range=(0, 1), seed=0)[0]
    divided = known_links(whole.with_edges(pairs, weights), seed=3)
    validating = len(divided.links.validation.linked)
    assert validating == round(len(pairs) * 5 / 90)
    assert divided.edge_count == len(pairs) - validating == len(divided.links.train.linked)
    of = dict(zip(map(tuple, pairs.tolist()), weights, strict=True))
    assert divided.pair_weights() == pytest.approx([of[tuple(pair)] for pair in divided.pairs().tolist()])
    linked = {tuple(pair) for pair in pairs.tolist()}
    unlinked = np.concatenate([divided.links.train.unlinked, divided.links.validation.unlinked])
    assert len(unlinked) == len(pairs) and not linked & {tuple(pair) for pair in unlinked.tolist()}


def test_before_anybody_answers_no_link_is_known():
    nothing = no_known_links()
    assert len(nothing.train.linked) == len(nothing.validation.unlinked) == 0
    pairs = np.random.default_rng(0).integers(0, 60, (150, 2))
    held, _ = hold_out_links(*from_arrays(pairs, np.eye(60), np.arange(60) % 2, range=(0, 1), seed=0), 0)
    public = public_part(held, private_labels=False, private_links=True)
    assert public.edge_count == 0 and len(public.links.train.linked) == 0
