"""Where users stand in a picture."""

import numpy as np

import graphveil as gv
from graphveil.experiments.drawings import close_group, flat_map, spring_layout


def two_cliques():
    pairs = [(a, b) for start in (0, 5) for a in range(start, start + 5) for b in range(a + 1, start + 5)]
    both = np.array([*pairs, (4, 5)])
    graph, _ = gv.from_arrays(both, np.zeros((10, 1)), np.arange(10) % 2, range=(0, 1))
    return graph


def test_a_group_stays_within_a_circle_of_friends():
    graph = two_cliques()
    for seed in range(4):
        assert close_group(graph, 5, seed).tolist() in ([0, 1, 2, 3, 4], [5, 6, 7, 8, 9])


def test_a_group_is_no_larger_than_the_graph():
    assert close_group(two_cliques(), 99, 0).tolist() == list(range(10))


def test_friends_stand_nearer_to_each_other_than_to_others():
    graph = two_cliques()
    places = spring_layout(graph.pairs().T, 10, 0)
    middle = places.reshape(2, 5, 2).mean(axis=1)
    within = np.linalg.norm(places.reshape(2, 5, 2) - middle[:, None], axis=2).max()
    assert within < np.linalg.norm(middle[0] - middle[1])


def test_places_follow_from_the_seed():
    pairs = two_cliques().pairs().T
    assert np.array_equal(spring_layout(pairs, 10, 1), spring_layout(pairs, 10, 1))


def test_a_map_keeps_groups_apart():
    rows = np.repeat(np.eye(2) * 100, 20, axis=0) + np.random.default_rng(0).normal(size=(40, 2))
    places = flat_map(rows, 0)
    first, second = places[:20], places[20:]
    between = np.linalg.norm(first[:, None] - second[None], axis=2).min()
    assert places.shape == (40, 2) and between > 0
    nearest = np.linalg.norm(places[:, None] - places[None], axis=2) + np.diag([np.inf] * 40)
    assert ((nearest.argmin(axis=1) < 20) == (np.arange(40) < 20)).all()
