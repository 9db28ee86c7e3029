import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import graphveil as gv
from graphveil.errors import InputError
from graphveil.pyg import Privatize

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
