"""Small graphs for the tests of learning."""

from __future__ import annotations

import numpy as np
import torch

from graphveil.graphs.graph import UNKNOWN, Graph, symmetric_csr
from graphveil.graphs.splits import RandomSplit, Split
from graphveil.learn.targets import Targets
from graphveil.mechanisms.rows import PublicRange


def small_graph(users=60, features=30, classes=3, edges=150, seed=0, isolated=2):
    """A random graph whose last users have no neighbours, its binary features and all its labels."""
    random = np.random.default_rng(seed)
    pairs = random.integers(0, users - isolated, (edges, 2))
    rows = (random.random((users, features)) < 0.2).astype(np.float32)
    labels = random.integers(0, classes, users)
    return as_graph(pairs, labels, features, RandomSplit().draw(labels, seed)), rows, labels


def as_graph(pairs, labels, features, split: Split, name="small") -> Graph:
    indptr, indices = symmetric_csr(np.asarray(pairs), len(labels))
    known = np.where(split.test, UNKNOWN, labels)
    classes = int(labels.max()) + 1
    return Graph(
        name,
        indptr,
        indices,
        features,
        PublicRange(0, 1),
        True,
        classes,
        known,
        split.train,
        split.validation,
        split.test,
    )


def targets_of(graph: Graph) -> Targets:
    return Targets(*(torch.tensor(array) for array in (graph.labels, graph.train, graph.validation)))


def dense(inputs):
    """A sparse matrix as a dense one, by its product with the identity."""
    return (inputs @ torch.eye(inputs.shape[1])).double().numpy()
