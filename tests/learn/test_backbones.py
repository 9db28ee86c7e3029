"""The sparse first layer gives what the plain PyG model gives on the dense matrix, outputs and gradients."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from torch import nn
from torch_geometric import nn as pyg

from graphveil.learn import BACKBONES, SGC, Topology, build_backbone
from graphveil.learn.inputs import raw_input
from tests.learn.graphs import small_graph
from tests.refusals import check_refused

TOLERANCE = 1e-5


def small_network(inputs, hidden, outputs, activation):
    return nn.Sequential(nn.Linear(inputs, hidden), activation, nn.Linear(hidden, outputs))


# The layers of each backbone, as PyG has them.
LAYERS = {
    "gcn": lambda d, h, c, _: (pyg.GCNConv(d, h), pyg.GCNConv(h, c)),
    "sage": lambda d, h, c, _: (pyg.SAGEConv(d, h), pyg.SAGEConv(h, c)),
    "gat": lambda d, h, c, _: (pyg.GATConv(d, h, heads=4), pyg.GATConv(4 * h, c, heads=1, concat=False)),
    "gin": lambda d, h, c, act: tuple(
        pyg.GINConv(small_network(size, h, out, act)) for size, out in ((d, h), (h, c))
    ),
    "mlp": lambda d, h, c, _: (nn.Linear(d, h), nn.Linear(h, c)),
    "appnp": lambda d, h, c, _: (nn.Linear(d, h), nn.Linear(h, c)),
    "sgc": lambda d, _h, c, _: (pyg.SGConv(d, c, K=2),),
    # It is an SGC too, whose parameters are drawn before.
    "ssgc": lambda d, _h, c, _: (pyg.SGConv(d, c, K=16), pyg.SSGConv(d, c, alpha=0.05, K=16))[1:],
}


class Plain(nn.Module):
    """The same model of PyG's own layers, on the dense matrix."""

    def __init__(self, name, sizes, activation):
        super().__init__()
        self.name, self.activation = name, activation
        for number, layer in enumerate(LAYERS[name](*sizes, activation), 1):
            self.add_module(f"conv{number}", layer)

    def forward(self, rows, edges):
        if self.name in ("sgc", "ssgc"):
            return self.conv1(rows, edges)
        if self.name in ("mlp", "appnp"):
            scores = self.conv2(self.activation(self.conv1(rows)))
            return scores if self.name == "mlp" else pyg.APPNP(K=10, alpha=0.1)(scores, edges)
        return self.conv2(self.activation(self.conv1(rows, edges)), edges)


def plain_pyg(name, model, graph, hidden, activation):
    """PyG's model with the same parameters, which have the same names there."""
    plain = Plain(name, (graph.feature_count, hidden, graph.class_count), activation).eval()
    plain.load_state_dict(model.state_dict())
    return plain


def edges_of(graph):
    return torch.from_numpy(graph.edge_list())


def largest_gap(one, other):
    return float((one - other).detach().abs().max() / other.detach().abs().max())


@pytest.fixture(params=list(BACKBONES))
def pair(request):
    graph, rows, _ = small_graph()
    torch.manual_seed(0)
    model = build_backbone(request.param, graph.feature_count, 16, graph.class_count).eval()
    return model, graph, rows


def test_first_values_outputs_and_gradients_equal_plain_pyg(pair, request):
    model, graph, _ = pair
    name = request.node.callspec.params["pair"]
    torch.manual_seed(0)
    plain = Plain(name, (graph.feature_count, 16, graph.class_count), nn.SELU())
    given, expected = model.state_dict(), plain.state_dict()
    assert list(given) == list(expected)
    assert all(torch.equal(given[each], expected[each]) for each in expected)
    model, graph, rows = pair
    plain = plain_pyg(request.node.callspec.params["pair"], model, graph, 16, nn.SELU())
    expected = plain(torch.from_numpy(rows), edges_of(graph))
    inputs = {"sparse": raw_input(csr_matrix(rows)), "dense": raw_input(rows)}
    gaps = {form: largest_gap(model(each, Topology(graph)), expected) for form, each in inputs.items()}
    assert max(gaps.values()) < TOLERANCE, gaps
    weights = torch.randn(graph.node_count, graph.class_count)
    (expected * weights).sum().backward()
    wanted = [parameter.grad for parameter in plain.parameters()]
    (model(inputs["sparse"], Topology(graph)) * weights).sum().backward()
    gaps = [largest_gap(p.grad, want) for p, want in zip(model.parameters(), wanted, strict=True)]
    assert max(gaps) < TOLERANCE


def test_dropout_acts_in_training_only_and_never_in_the_first_layer(pair):
    model, graph, rows = pair
    topology, inputs = Topology(graph), raw_input(csr_matrix(rows))
    torch.testing.assert_close(model(inputs, topology), model(inputs, topology), rtol=0, atol=0)
    model.train()
    torch.testing.assert_close(model.first(inputs, topology), model.first(inputs, topology), rtol=0, atol=0)
    linear = isinstance(model, SGC)
    assert torch.equal(model(inputs, topology), model(inputs, topology)) is linear


def test_relu_is_an_option_and_isolated_users_have_scores():
    graph, rows, _ = small_graph(isolated=5)
    model = build_backbone("gcn", graph.feature_count, 4, 3, activation="relu").eval()
    plain = plain_pyg("gcn", model, graph, 4, nn.ReLU())
    expected = plain(torch.from_numpy(rows), edges_of(graph))
    assert largest_gap(model(raw_input(rows), Topology(graph)), expected) < TOLERANCE
    for name in BACKBONES:
        scores = build_backbone(name, graph.feature_count, 4, 3).eval()(raw_input(rows), Topology(graph))
        assert np.isfinite(scores.detach().numpy()).all()


def test_bad_options_are_refused():
    check_refused(
        lambda name, options: build_backbone(name, 3, 2, 2, **options),
        [
            ("tree", {}, "no backbone is named 'tree': choose one of gcn"),
            ("gcn", {"activation": "sine"}, "activation must be one of selu, relu, got 'sine'"),
            ("gcn", {"dropout": 1.0}, "dropout must be a number in [0, 1), got 1.0"),
        ],
    )
