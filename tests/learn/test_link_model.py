import numpy as np
import pytest
import torch

from graphveil.graphs.splits import random_split
from graphveil.learn import Schedule, Targets, Topology, fit
from graphveil.learn.link_model import ROW_NORM, LinkModel, adjacency_rows
from tests.learn.graphs import as_graph, small_graph


@pytest.mark.parametrize("by_degree", [False, True])
def test_rows_are_the_scaled_adjacency_matrix(by_degree):
    graph, _, _ = small_graph()
    dense = adjacency_rows(graph, by_degree=by_degree).to_dense().numpy()
    links = np.zeros_like(dense)
    links[tuple(graph.edge_list())] = 1
    norms = np.sqrt(links.sum(1, keepdims=True) if by_degree else links.sum() / len(links))
    assert np.allclose(dense, links * ROW_NORM / np.maximum(norms, 1))


@pytest.mark.parametrize("by_degree", [False, True])
def test_a_graph_without_edges_has_empty_rows(by_degree):
    split, _, labels = small_graph()
    graph = as_graph(np.zeros((0, 2), dtype=int), labels, 1, split)
    assert not adjacency_rows(graph, by_degree=by_degree).to_dense().any()


def test_gradients_equal_those_of_the_dense_model():
    graph, _, _ = small_graph()
    rows, model = adjacency_rows(graph, by_degree=True), LinkModel(graph.node_count, graph.class_count)
    model(rows, Topology(graph)).pow(2).add(torch.arange(3.0) * model(rows, Topology(graph))).sum().backward()
    sparse = model.conv1.weight.grad.clone()
    model.zero_grad()
    scores = model.conv1(rows.to_dense())
    scores.pow(2).add(torch.arange(3.0) * scores).sum().backward()
    assert torch.allclose(sparse, model.conv1.weight.grad, atol=1e-4)


def test_it_learns_whom_a_class_knows():
    # Nobody knows anybody of their own class: class 0 knows users 0..9, class 1 knows users 10..19, who are mixed.
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 200)
    pairs = [(user, random.integers(0, 10) + 10 * labels[user]) for user in range(20, 200) for _ in range(3)]
    graph = as_graph(pairs, labels, 1, random_split(labels, 0))
    targets = Targets(*(torch.tensor(array) for array in (graph.labels, graph.train, graph.validation)))
    model = LinkModel(graph.node_count, 2)
    fitted = fit(model, adjacency_rows(graph), Topology(graph), targets, Schedule(epochs=100))
    predicted = fitted.scores.argmax(1).numpy()
    assert (predicted == labels)[20:][graph.test[20:]].mean() > 0.95
