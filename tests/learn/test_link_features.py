"""Scores of pairs against what a dense matrix of all users gives."""

import numpy as np

from graphveil.learn import link_scores
from graphveil.learn.link_scores import (
    TAU,
    adamic_adar,
    by_degrees,
    degree_scores,
    page_rank,
    resource_allocation,
    smaller_degree,
    spectrum,
    walk_scores,
)
from tests.learn.graphs import small_graph
from tests.together import each

GRAPH = small_graph()[0]
USERS = GRAPH.node_count
PAIRS = np.stack(np.triu_indices(USERS, 1), axis=1)
SCORES = {
    "degrees": degree_scores,
    "smaller degree": smaller_degree,
    "Adamic-Adar": adamic_adar,
    "resource allocation": resource_allocation,
    "three": lambda graph, pairs: by_degrees(graph, pairs, walk_scores(graph, pairs, 3)[:, 2]),
    "walks": lambda graph, pairs: walk_scores(graph, pairs, 5),
    "spectral": lambda graph, pairs: spectrum(graph, 8).products(pairs, 8),
    "cosine": lambda graph, pairs: spectrum(graph, 8).cosines(pairs, 4),
}


def dense(tau=0.0):
    """A, degrees, and the normalised A."""
    links = np.zeros((USERS, USERS))
    links[tuple(GRAPH.edge_list())] = 1
    degrees = links.sum(1)
    roots = np.sqrt(np.maximum(degrees + tau, 1e-300))
    return links, degrees, links / roots[:, None] / roots[None, :]


def of_pairs(matrix):
    return matrix[PAIRS[:, 0], PAIRS[:, 1]]


def test_degrees_common_neighbours_and_paths_of_three():
    links, degrees, _ = dense()
    assert np.allclose(degree_scores(GRAPH, PAIRS), of_pairs(np.log1p(degrees)[:, None] + np.log1p(degrees)))
    assert np.array_equal(smaller_degree(GRAPH, PAIRS), of_pairs(np.minimum(degrees[:, None], degrees)))
    logs = np.where(degrees > 1, 1 / np.log(np.maximum(degrees, 2)), 0)
    inverse = 1 / np.maximum(degrees, 1)
    assert np.allclose(adamic_adar(GRAPH, PAIRS), of_pairs(links * logs @ links))
    assert np.allclose(resource_allocation(GRAPH, PAIRS), of_pairs(links * inverse @ links))
    expected = (links * inverse) @ (links * inverse) @ links
    assert np.allclose(SCORES["three"](GRAPH, PAIRS), of_pairs(expected), rtol=1e-4, atol=1e-6)


def test_walks_and_page_rank():
    step = dense()[2]
    powers = [np.linalg.matrix_power(step, hop) for hop in range(1, 6)]
    walks = walk_scores(GRAPH, PAIRS, 5)
    assert np.allclose(walks, np.stack([of_pairs(power) for power in powers], axis=1), atol=1e-6)
    expected = sum(0.5**hop * power for hop, power in enumerate(powers, 1))
    assert np.allclose(page_rank(walks, 0.5), of_pairs(expected), atol=1e-6)


def test_the_spectrum_is_that_of_the_normalised_links():
    matrix = dense(TAU * GRAPH.degrees.mean())[2]
    found = spectrum(GRAPH, 6)
    values = np.linalg.eigvalsh(matrix)
    order = np.argsort(-np.abs(values))[:6]
    assert np.allclose(np.abs(found.values), np.abs(values[order]), atol=0.01)
    # With all directions nothing is lost.
    assert np.allclose(spectrum(GRAPH, USERS).products(PAIRS, USERS), of_pairs(matrix), atol=1e-4)


def test_every_score_is_that_of_a_pair_in_any_order_and_company_and_0_without_links():
    some = np.random.default_rng(0).permutation(len(PAIRS))[:100]
    empty = GRAPH.without_edges()

    def check(name):
        first = SCORES[name](GRAPH, PAIRS)
        assert np.array_equal(first, SCORES[name](GRAPH, PAIRS[:, ::-1]))
        assert np.array_equal(first, SCORES[name](GRAPH, PAIRS))
        assert np.array_equal(first[some], SCORES[name](GRAPH, PAIRS[some]))
        alone = SCORES[name](GRAPH, np.array([[USERS - 1, USERS - 2], [USERS - 1, 0], [0, 0]]))
        assert np.isfinite(alone).all()
        assert np.allclose(alone[0], 0)
        assert len(SCORES[name](GRAPH, PAIRS[:0])) == 0
        assert np.allclose(SCORES[name](empty, PAIRS), 0)

    each(SCORES, check)


def test_blocks_change_nothing(monkeypatch):
    assert np.array_equal(walk_scores(GRAPH, PAIRS, 4), walk_scores(GRAPH, PAIRS, 4, at_once=7))
    found = spectrum(GRAPH, 8)
    whole = adamic_adar(GRAPH, PAIRS), found.products(PAIRS, 8)
    with monkeypatch.context() as patched:
        patched.setattr(link_scores, "PAIRS_AT_ONCE", 11)
        assert np.array_equal(whole[0], adamic_adar(GRAPH, PAIRS))
        assert np.array_equal(whole[1], found.products(PAIRS, 8))
