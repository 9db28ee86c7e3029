"""The sparse first layer gives what the plain PyG model gives on the dense matrix, outputs and gradients."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from torch.nn import functional
from torch_geometric import nn as pyg

from graphveil.errors import InputError
from graphveil.learn import APPNP, BACKBONES, MLP, SGC, Topology, build_backbone
from graphveil.learn.inputs import raw_input
from tests.learn.graphs import small_graph

TOLERANCE = 1e-5


def plain_pyg(model, rows, edges, activation):
    """The same parameters through PyG's own layers, on the dense matrix."""
    if isinstance(model, SGC):
        return model.conv1(rows, edges)
    if isinstance(model, APPNP):
        return pyg.APPNP(K=10, alpha=0.1)(model.conv2(activation(model.conv1(rows))), edges)
    if isinstance(model, MLP):
        return model.conv2(activation(model.conv1(rows)))
    return model.conv2(activation(model.conv1(rows, edges)), edges)


def largest_gap(one, other):
    return float((one - other).detach().abs().max() / other.detach().abs().max())


@pytest.fixture(params=list(BACKBONES))
def pair(request):
    graph, rows, _ = small_graph()
    torch.manual_seed(0)
    model = build_backbone(request.param, graph.feature_count, 16, graph.class_count).eval()
    return model, graph, rows


@pytest.mark.parametrize("form", ["sparse", "dense"])
def test_outputs_equal_plain_pyg(pair, form):
    model, graph, rows = pair
    inputs = raw_input(csr_matrix(rows) if form == "sparse" else rows)
    expected = plain_pyg(model, torch.from_numpy(rows), torch.from_numpy(graph.edge_list()), functional.selu)
    assert largest_gap(model(inputs, Topology(graph)), expected) < TOLERANCE


def test_gradients_equal_plain_pyg(pair):
    model, graph, rows = pair
    weights = torch.randn(graph.node_count, graph.class_count)
    expected = plain_pyg(model, torch.from_numpy(rows), torch.from_numpy(graph.edge_list()), functional.selu)
    (expected * weights).sum().backward()
    wanted = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    (model(raw_input(csr_matrix(rows)), Topology(graph)) * weights).sum().backward()
    gaps = [largest_gap(p.grad, want) for p, want in zip(model.parameters(), wanted, strict=True)]
    assert max(gaps) < TOLERANCE


def test_nothing_random_happens_in_the_first_layer(pair):
    model, graph, rows = pair
    model.train()
    topology, inputs = Topology(graph), raw_input(csr_matrix(rows))
    torch.testing.assert_close(model.first(inputs, topology), model.first(inputs, topology), rtol=0, atol=0)


def test_dropout_acts_in_training_only(pair):
    model, graph, rows = pair
    topology, inputs = Topology(graph), raw_input(csr_matrix(rows))
    torch.testing.assert_close(model(inputs, topology), model(inputs, topology), rtol=0, atol=0)
    model.train()
    linear = isinstance(model, SGC)
    assert torch.equal(model(inputs, topology), model(inputs, topology)) is linear


def test_relu_is_an_option():
    graph, rows, _ = small_graph()
    model = build_backbone("gcn", graph.feature_count, 4, 3, activation="relu").eval()
    expected = plain_pyg(model, torch.from_numpy(rows), torch.from_numpy(graph.edge_list()), functional.relu)
    assert largest_gap(model(raw_input(rows), Topology(graph)), expected) < TOLERANCE


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": "tree"}, "no backbone is named 'tree': choose one of gcn"),
        ({"name": "gcn", "activation": "sine"}, "activation must be one of selu, relu, got 'sine'"),
        ({"name": "gcn", "dropout": 1.0}, r"dropout must be a number in \[0, 1\), got 1.0"),
    ],
)
def test_bad_options_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        build_backbone(options.pop("name"), 3, 2, 2, **options)


def test_isolated_users_have_scores():
    graph, rows, _ = small_graph(isolated=5)
    for name in BACKBONES:
        scores = build_backbone(name, graph.feature_count, 4, 3).eval()(raw_input(rows), Topology(graph))
        assert np.isfinite(scores.detach().numpy()).all()
