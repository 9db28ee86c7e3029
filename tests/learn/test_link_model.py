import numpy as np
import pytest
import torch

from graphveil.graphs.splits import RandomSplit
from graphveil.learn import Schedule
from graphveil.learn.label_models import ROW_NORM, LinkModel, adjacency_rows, fit_link
from graphveil.linear import SparseMatrix
from tests.learn.graphs import as_graph, small_graph, targets_of


def whole(graph, **options):
    """The matrix of everybody's rows and columns."""
    return SparseMatrix.from_scipy(adjacency_rows(graph, **options))


@pytest.mark.parametrize("by_degree", [False, True])
def test_rows_are_the_scaled_adjacency_matrix(by_degree):
    graph, _, _ = small_graph()
    dense = whole(graph, by_degree=by_degree).to_dense().numpy()
    links = np.zeros_like(dense)
    links[tuple(graph.edge_list())] = 1
    norms = np.sqrt(links.sum(1, keepdims=True) if by_degree else links.sum() / len(links))
    assert np.allclose(dense, links * ROW_NORM / np.maximum(norms, 1))
    assert not whole(graph.without_edges(), by_degree=by_degree).to_dense().any()


def test_gradients_equal_those_of_the_dense_model():
    graph, _, _ = small_graph()
    rows, model = whole(graph, by_degree=True), LinkModel(graph.node_count, graph.class_count)
    model(rows).pow(2).add(torch.arange(3.0) * model(rows)).sum().backward()
    sparse = model.weight.grad.clone()
    model.zero_grad()
    scores = rows.to_dense() @ model.weight + model.bias
    scores.pow(2).add(torch.arange(3.0) * scores).sum().backward()
    assert torch.allclose(sparse, model.weight.grad, atol=1e-4)


@pytest.mark.parametrize("by_degree", [False, True])
def test_leaving_out_rows_and_columns_changes_nothing(by_degree):
    # The same model by dense matrices, with everybody's rows and columns.
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, 60)
    pairs = random.integers(0, 60, (500, 2))
    pairs = pairs[labels[pairs[:, 0]] == labels[pairs[:, 1]]]
    graph = as_graph(pairs, labels, 1, RandomSplit().draw(labels, 0))
    schedule, targets = Schedule(epochs=30), targets_of(graph)
    dense = whole(graph, by_degree=by_degree).to_dense()
    weight = torch.zeros(60, graph.class_count, requires_grad=True)
    bias = torch.zeros(graph.class_count, requires_grad=True)
    optimizer = torch.optim.Adam([weight, bias], lr=schedule.lr, weight_decay=schedule.weight_decay)
    losses, each = [], []
    for _ in range(30):
        scores = dense @ weight + bias
        losses.append(float(targets.validation_loss(scores.detach())))
        each.append(scores.detach())
        optimizer.zero_grad()
        targets.train_loss(scores).backward()
        optimizer.step()
    best = int(np.argmin(losses))
    assert best > 0
    fitted = fit_link(adjacency_rows(graph, by_degree=by_degree), graph.class_count, targets, schedule)
    assert fitted.epoch == best
    assert fitted.validation_loss == pytest.approx(losses[best], abs=1e-5)
    assert torch.allclose(fitted.scores, each[best], atol=1e-4)


def test_training_users_who_know_nobody_give_finite_scores():
    graph = as_graph([[4, 5]], np.arange(6) % 2, 1, small_graph(users=6)[0])
    graph_targets = targets_of(graph)
    fitted = fit_link(adjacency_rows(graph), 2, graph_targets, Schedule(epochs=3))
    assert fitted.scores.shape == (6, 2)
    assert torch.isfinite(fitted.scores).all()


def test_it_learns_whom_a_class_knows():
    # Nobody knows anybody of their own class: class 0 knows users 0..9, class 1 knows users 10..19, who are mixed.
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 200)
    pairs = [(user, random.integers(0, 10) + 10 * labels[user]) for user in range(20, 200) for _ in range(3)]
    graph = as_graph(pairs, labels, 1, RandomSplit().draw(labels, 0))
    fitted = fit_link(adjacency_rows(graph), 2, targets_of(graph), Schedule(epochs=100))
    predicted = fitted.scores.argmax(1).numpy()
    assert (predicted == labels)[20:][graph.test[20:]].mean() > 0.95
