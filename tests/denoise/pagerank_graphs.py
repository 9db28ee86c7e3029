"""Graphs on which PageRank is compared with the inverse, and the inverse."""

from __future__ import annotations

import numpy as np

from graphveil.mechanisms import Estimate
from tests.learn.graphs import small_graph


def graphs():
    """A random graph and one with a star of 50 leaves; the last two users of both have no neighbours."""
    random = small_graph()[0]
    star = np.stack([np.zeros(50, dtype=np.int64), np.arange(1, 51)], axis=1)
    tail = np.array([[50, 51], [51, 52], [53, 54], [54, 55], [55, 53], [56, 57]])
    return [random, random.with_edges(np.concatenate([star, tail]))]


def exact(graph, alpha, r, rows):
    """α(I - (1-α)P)^-1 X in double precision."""
    users = graph.node_count
    adjacency = np.zeros((users, users))
    adjacency[tuple(graph.edge_list())] = 1
    adjacency[np.diag_indices(users)] = graph.degrees == 0
    degree = adjacency.sum(axis=1)
    matrix = degree[:, None] ** (r - 1) * adjacency * degree**-r
    return alpha * np.linalg.solve(np.eye(users) - (1 - alpha) * matrix, rows)


def allowed(graph, r, r_max, result):
    """deg^r·r_max for users with neighbours and nothing for others, and the rounding of a float32."""
    bound = np.where(graph.degrees > 0, graph.degrees.astype(float) ** r, 0.0) * r_max
    return bound[:, None] + 2.0**-24 * np.abs(result)


def sparse_estimate(users, features, share=0.2, seed=0):
    """Signed entries at random places, and the same as a dense matrix."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(users, features)) * (random.random((users, features)) < share)
    owners, columns = np.nonzero(rows)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=users))])
    estimate = Estimate((users, features), indptr, columns.astype(np.int32), rows[owners, columns], 0.5, True)
    return estimate, rows
