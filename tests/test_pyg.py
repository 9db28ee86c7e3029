import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import graphveil as gv
from graphveil.errors import InputError
from graphveil.pyg import PageRank, Privatize

ROWS = torch.from_numpy((np.random.default_rng(0).random((50, 12)) < 0.3).astype(np.float32))
EDGES = torch.tensor([[0, 1, 2], [1, 2, 0]])


def data():
    return Data(x=ROWS.clone(), edge_index=EDGES)


def test_the_transform_is_found_under_its_public_name():
    assert gv.pyg.Privatize is Privatize


def test_features_are_replaced_and_the_original_stays():
    original = data()
    private = Privatize("multibit", epsilon=1.0, range=(0, 1), seed=0)(original)
    assert torch.equal(original.x, ROWS)
    assert private.x.shape == ROWS.shape
    assert private.privacy == {"mechanism": "multibit", "epsilon": 1.0, "delta": 0.0}


def test_rows_have_the_norm_that_inputs_have():
    private = Privatize("multibit", epsilon=1.0, range=(0, 1), seed=0)(data())
    torch.testing.assert_close(private.x.norm(dim=1), torch.full((50,), 12**0.5 / 8))


def test_unscaled_features_are_the_mechanism_s_estimate():
    private = Privatize("piecewise", epsilon=1.0, range=(0, 1), scaled=False, seed=3)(data())
    built = gv.mechanism("piecewise", epsilon=1.0, dims=12, range=(0, 1))
    expected = built.randomize(ROWS.numpy(), gv.SeededWords(3)).estimate().dense()
    np.testing.assert_allclose(private.x.numpy(), expected, rtol=1e-6)


def test_the_control_carries_nothing():
    other = Data(x=1 - ROWS, edge_index=EDGES)
    blind = Privatize("multibit", epsilon=1.0, range=(0, 1), seed=0, blind=True)
    assert torch.equal(blind(data()).x, blind(other).x)
    assert blind(data()).privacy["epsilon"] == 0.0


def test_settings_reach_the_mechanism():
    private = Privatize("multibit", epsilon=4.0, range=(0, 1), sampled=3, seed=0)(data())
    assert (private.x != 0).sum(dim=1).tolist() == [3] * 50


def test_data_without_features_is_refused():
    with pytest.raises(InputError, match="data has no x"):
        Privatize("multibit", epsilon=1.0, range=(0, 1))(Data(edge_index=EDGES, num_nodes=3))


@pytest.mark.parametrize("r", [0.0, 0.3, 1.0])
def test_pagerank_is_the_inverse_and_has_a_gradient(r):
    # Nodes from 3 on have no neighbours: they keep their rows, but for r_max.
    x = torch.randn(6, 4, requires_grad=True)
    module = PageRank(0.2, r, 1e-5)
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 2]])
    degree = torch.tensor([1.0, 2.0, 1.0])
    adjacency = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    matrix = torch.eye(6)
    matrix[:3, :3] = degree[:, None] ** (r - 1) * adjacency * degree**-r
    inverse = 0.2 * torch.linalg.inv(torch.eye(6) - 0.8 * matrix)
    got = module(x, edges)
    torch.testing.assert_close(got, inverse @ x, atol=1e-4, rtol=1e-4)
    got.sum().backward()
    torch.testing.assert_close(x.grad, inverse.T @ torch.ones(6, 4), atol=1e-4, rtol=1e-4)
    assert repr(module) == f"PageRank(0.2, r={r:g}, r_max=1e-05)"
    assert module(x.detach().double(), edges).dtype == torch.float64
