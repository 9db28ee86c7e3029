from itertools import islice

import numpy as np
import pytest
import torch

from graphveil.graphs.splits import Split
from graphveil.learn import MultilabelTargets, Topology
from graphveil.learn.label_models import as_probabilities, class_shares, spread, training_labels
from tests.learn.graphs import as_graph, small_graph, targets_of


def labels_of(graph):
    return training_labels(targets_of(graph), graph.class_count)


def after(hops, labels, matrix, alpha):
    return next(islice(spread(labels, matrix, alpha), hops - 1, None))


@pytest.mark.parametrize("alpha", [0.5, 0.9])
def test_many_hops_give_the_dense_solution(alpha):
    graph, _, _ = small_graph()
    matrix, labels = Topology(graph).gcn, labels_of(graph)
    dense = torch.eye(graph.node_count) - alpha * matrix.to_dense()
    solution = (1 - alpha) * torch.linalg.solve(dense, labels)
    assert torch.allclose(after(200, labels, matrix, alpha), solution, atol=1e-5)


def test_one_hop_is_written_out():
    # Users 0 and 1 know each other, so every entry of the matrix is 1/2; user 0 trains with class 0.
    split = Split(np.array([1, 0]), np.array([0, 1]), np.array([0, 0]))
    graph = as_graph([[0, 1]], np.array([0, 1]), 1, split)
    first = after(1, labels_of(graph), Topology(graph).gcn, 0.8)
    assert torch.allclose(first, torch.tensor([[0.8 * 0.5 + 0.2, 0.0], [0.8 * 0.5, 0.0]]))


def test_only_training_users_have_a_label_or_several_as_they_are():
    graph, _, _ = small_graph()
    labels = labels_of(graph)
    assert labels.sum(1).tolist() == graph.train.astype(float).tolist()
    assert labels.argmax(1).numpy()[graph.train].tolist() == graph.labels[graph.train].tolist()
    labels = torch.tensor([[1, 1, 0], [0, 0, 0], [1, 0, 1], [-1, -1, -1]])
    train = torch.tensor([True, True, False, False])
    rows = training_labels(MultilabelTargets(labels, train, ~train), 3)
    assert rows.tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]


def test_a_user_whom_nothing_reaches_gets_the_shares_of_the_classes():
    labels = torch.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    shares = class_shares(labels)
    assert shares.tolist() == pytest.approx([3 / 6, 2 / 6, 1 / 6])
    rows = as_probabilities(labels, shares)
    assert torch.allclose(rows[3], shares)
    assert torch.allclose(rows.sum(1), torch.ones(4))
    assert (rows > 0).all()
