import copy
import pickle

import numpy as np
import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset

import graphveil as gv
from graphveil.errors import InputError, PrivacyError
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
    expected = built.randomize(ROWS.numpy(), gv.SeededBits(3)).estimate().dense()
    np.testing.assert_allclose(private.x.numpy(), expected, rtol=1e-6)


def test_the_control_carries_nothing():
    private, other = (
        Privatize("multibit", epsilon=1.0, range=(0, 1), seed=0, blind=True)(Data(x=x, edge_index=EDGES))
        for x in (ROWS.clone(), 1 - ROWS)
    )
    assert torch.equal(private.x, other.x)
    assert private.privacy["epsilon"] == 0.0


def test_settings_reach_the_mechanism():
    private = Privatize("multibit", epsilon=4.0, range=(0, 1), sampled=3, seed=0)(data())
    assert (private.x != 0).sum(dim=1).tolist() == [3] * 50


def test_data_without_features_is_refused():
    with pytest.raises(InputError, match="data has no x"):
        Privatize("multibit", epsilon=1.0, range=(0, 1))(Data(edge_index=EDGES, num_nodes=3))


class Village(InMemoryDataset):
    """One graph, loaded as PyG's own datasets are."""

    def __init__(self, graphs=1, transform=None):
        super().__init__(None, transform)
        self.data, self.slices = self.collate([data() for _ in range(graphs)])


def test_a_dataset_gets_the_same_answer_at_every_access():
    village = Village(transform=Privatize("multibit", epsilon=1.0, range=(0, 1)))
    first = village[0].x
    assert all(torch.equal(village[0].x, first) for _ in range(200))


def test_each_graph_of_a_dataset_keeps_its_answer():
    village = Village(3, Privatize("multibit", epsilon=1.0, range=(0, 1), graphs=3))
    first = [village[place].x for place in range(3)]
    assert all(torch.equal(village[place].x, first[place]) for place in range(3) for _ in range(20))


def test_what_is_written_into_the_tensor_is_not_asked_for():
    private, village = Privatize("multibit", epsilon=1.0, range=(0, 1)), data()
    first = private(village).x
    village.x += 0.5
    assert torch.equal(private(village).x, first)


def test_what_is_written_into_an_answer_does_not_reach_the_next():
    private, village = Privatize("multibit", epsilon=1.0, range=(0, 1)), data()
    first = private(village).x
    kept = first.clone()
    first.zero_()
    assert torch.equal(private(village).x, kept)


def test_a_second_data_is_refused_with_what_to_do():
    private = Privatize("multibit", epsilon=1.0, range=(0, 1))
    private(data())
    with pytest.raises(PrivacyError, match="pre_transform=.*graphs="):
        private(data())


def test_a_view_of_the_same_people_is_another_data():
    private, village = Privatize("multibit", epsilon=1.0, range=(0, 1)), data()
    private(village)
    with pytest.raises(PrivacyError, match="cannot be told from the same people"):
        private(Data(x=village.x[:10], edge_index=EDGES))


def test_as_many_data_are_answered_as_was_said():
    private = Privatize("multibit", epsilon=1.0, range=(0, 1), graphs=2)
    assert private(data()).privacy == private(data()).privacy
    with pytest.raises(PrivacyError):
        private(data())


def test_two_data_of_one_seed_have_noise_of_their_own():
    private = Privatize("multibit", epsilon=1.0, range=(0, 1), graphs=2, seed=0)
    assert not torch.equal(private(data()).x, private(data()).x)


def test_a_tensor_that_is_gone_does_not_lend_its_place():
    private = Privatize("multibit", epsilon=1.0, range=(0, 1), graphs=100)
    assert len({tuple(private(data()).x.flatten().tolist()) for _ in range(100)}) == 100


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_neither_draws_again_nor_answers_for_more(copied):
    private, village = Privatize("multibit", epsilon=1.0, range=(0, 1)), data()
    again = copied(private)
    assert torch.equal(private(village).x, again(village).x)
    with pytest.raises(PrivacyError):
        again(data())


def test_a_pickled_transform_answers_nothing_new_without_a_seed():
    village = data()
    with pytest.raises(PrivacyError, match="in another process"):
        pickle.loads(pickle.dumps(Privatize("multibit", epsilon=1.0, range=(0, 1))))(village)
    seeded = Privatize("multibit", epsilon=1.0, range=(0, 1), seed=0)
    assert torch.equal(pickle.loads(pickle.dumps(seeded))(village).x, seeded(village).x)


@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr"])
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state")
def test_sparse_features_keep_their_answer(layout):
    sparse = Data(x=getattr(ROWS, layout)(), edge_index=EDGES)
    private = Privatize("multibit", epsilon=1.0, range=(0, 1))
    assert torch.equal(private(sparse).x, private(sparse).x)


@pytest.mark.parametrize("graphs", [0, -1, True, 1.5, "2"])
def test_a_number_of_graphs_that_is_none_is_refused(graphs):
    with pytest.raises(InputError, match="graphs must be an integer of at least 1"):
        Privatize("multibit", epsilon=1.0, range=(0, 1), graphs=graphs)


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


X = torch.tensor([[1.0], [2.0], [4.0]])
BOTH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
COUNTED = torch.tensor([1.0, 1.0, 3.0, 3.0])


def adjacency(weights=None):
    """The same graph as a sparse matrix, rows being targets."""
    values = torch.ones(4) if weights is None else weights
    return torch.sparse_coo_tensor(BOTH.flip(0), values, (3, 3), check_invariants=True)


@pytest.mark.parametrize(
    "module", [gv.pyg.KProp(2), gv.pyg.HOA(3), gv.pyg.Residual(2), gv.pyg.AdaptiveResidual(2)]
)
def test_denoisers_take_a_sparse_adjacency_and_weights_of_edges(module):
    torch.testing.assert_close(module(X, adjacency()), module(X, BOTH))
    torch.testing.assert_close(module(X, adjacency(COUNTED)), module(X, BOTH, COUNTED))
    assert not torch.allclose(module(X, BOTH, COUNTED), module(X, BOTH))


def test_a_hop_weighs_edges_as_a_gcn_does():
    # Degrees are 1, 4 and 3; user 1 hears 1/sqrt(4·1) of 1 and 3/sqrt(4·3) of 4.
    expected = [2 / 2, 1 / 2 + 4 * 3 / 12**0.5, 2 * 3 / 12**0.5]
    torch.testing.assert_close(gv.pyg.KProp(1)(X, BOTH, COUNTED), torch.tensor(expected)[:, None])


def test_pagerank_takes_a_sparse_adjacency_and_no_weights():
    torch.testing.assert_close(PageRank(0.2)(X, adjacency()), PageRank(0.2)(X, BOTH))
    with pytest.raises(InputError, match="PageRank takes no weights of edges"):
        PageRank(0.2)(X, adjacency(COUNTED))


def test_flexprop_weighs_nodes_and_edges():
    module, weights = gv.pyg.FlexProp(1), torch.tensor([1.0, 1.0, 2.0])
    # User 1 hears 0, itself, and 2 with twice the weight.
    torch.testing.assert_close(module(X, BOTH, weights)[1], torch.tensor([(1 + 2 + 2 * 4) / 4]))
    torch.testing.assert_close(module(X, BOTH, weights, COUNTED)[1], torch.tensor([(1 + 2 + 3 * 2 * 4) / 8]))
    torch.testing.assert_close(module(X, adjacency(), weights), module(X, BOTH, weights))
    assert repr(module).startswith("FlexProp(\n  1")
    with pytest.raises(InputError, match="node_weight must be 3 finite numbers"):
        module(X, BOTH, weights[:2])


def test_nfr_says_which_threshold_selects():
    few = torch.tensor([[0.5, -1.0], [0.0, 4.0]])
    effect = gv.pyg.NFR(1.0).effective(few)
    assert (effect.least, effect.most, effect.selects) == (0.5, 4.0, True)
    assert (
        effect.sentence
        == "1 drops 66.7% of the numbers that are not 0; only thresholds from 0.5 to 4 select some"
    )
    assert not gv.pyg.NFR(0.1).effective(few).selects
    assert not gv.pyg.NFR(4.0).effective(few).selects


def test_no_threshold_selects_any_report_of_multibit():
    reports = gv.mechanism("multibit", epsilon=1.0, dims=12, range=(0, 1)).randomize(
        ROWS.numpy(), gv.SeededBits(0)
    )
    largest = reports.mechanism.largest
    effect = gv.pyg.NFR(0.25 * largest).effective(reports.estimate())
    assert not effect.selects and "no threshold selects any" in effect.sentence
    assert "scales them by 0.75" in effect.sentence
    assert gv.pyg.NFR(1.0).effective(torch.zeros(3)).sentence.startswith("all numbers are 0")
