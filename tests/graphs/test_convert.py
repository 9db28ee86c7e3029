import networkx as nx
import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch_geometric.data import Data

from graphveil import InputError
from graphveil.graphs import FewLabelSplit, from_arrays, from_networkx, from_pyg, to_pyg
from tests.refusals import check_refused

COUNT = 12
EDGES = np.array([[0, 1], [1, 2], [2, 0], [3, 4], [1, 0], [5, 5]])
FEATURES = np.random.default_rng(1).random((COUNT, 4))
LABELS = np.arange(COUNT) % 3


def pairs(graph):
    return graph.pairs().tolist()


def data(**more):
    return Data(
        x=torch.from_numpy(FEATURES).float(),
        edge_index=torch.from_numpy(EDGES.T),
        y=torch.from_numpy(LABELS),
        **more,
    )


def masks(*columns):
    """PyG's masks: a column a split."""
    return torch.tensor(np.array(columns).T.squeeze(), dtype=torch.bool)


def test_arrays_lists_and_sparse_matrices_with_what_is_said_of_them():
    graph, users = from_arrays(EDGES, FEATURES, LABELS, range=(0, 1), feature_names="abcd", name="us", seed=2)
    assert pairs(graph) == [[0, 1], [0, 2], [1, 2], [3, 4]]
    assert (graph.name, graph.feature_names, graph.class_count) == ("us", ("a", "b", "c", "d"), 3)
    assert (users.raw.features == FEATURES).all()
    graph, _ = from_arrays([[0, 1]], [[0.0], [1.0], [0.5], [0.0]], [0, 1, 0, 1], range=(0, 1))
    assert (graph.node_count, graph.feature_count) == (4, 1)
    matrix = csr_array((np.ones(2), ([0, 3], [1, 2])), shape=(6, 6))
    graph, _ = from_arrays(matrix)
    assert (pairs(graph), graph.node_count) == ([[0, 1], [2, 3]], 6)
    assert from_arrays([[0, 1]], users=5)[0].node_count == 5
    assert from_arrays([[0, 1]])[0].node_count == 2
    graph, _ = from_arrays(EDGES, None, LABELS, split=FewLabelSplit(2, 3))
    assert (graph.train.sum(), graph.validation.sum(), graph.test.sum()) == (6, 3, 3)


def test_what_does_not_make_a_graph_is_refused():
    check_refused(
        lambda bring: bring(),
        [
            (lambda: from_arrays(EDGES, FEATURES, LABELS), "no public range"),
            (lambda: from_pyg(data()), "no public range"),
            (lambda: from_networkx(network(), features=["age"]), "no public range"),
            (lambda: from_pyg(Data(x=torch.zeros(3, 1)), range=(0, 1)), "no edge_index"),
            (
                lambda: from_arrays([[0, 1]], labels=np.eye(4), users=5),
                "labels must be 5 rows of 0 and 1, users x labels",
            ),
            (lambda: from_arrays(EDGES, None, LABELS, ids=["a"] * COUNT), "all different"),
            (lambda: from_arrays(EDGES, None, LABELS, ids=["a", "b"]), "one a user"),
            (lambda: from_arrays(EDGES, None, LABELS, ids=np.arange(COUNT) / 2), "texts or integers"),
        ],
    )


def test_pyg():
    graph, users = from_pyg(data(), range=(0, 1))
    assert pairs(graph) == [[0, 1], [0, 2], [1, 2], [3, 4]]
    assert np.allclose(users.raw.features, FEATURES, atol=1e-7)
    assert (users.raw.labels == LABELS).all()


def test_pyg_s_masks_are_the_split_unless_another_is_asked_for():
    train, rest = [1, 1, 0] * 4, [0, 0, 1] * 4
    validation = [flag if place < 6 else 0 for place, flag in enumerate(rest)]
    test = [flag if place >= 6 else 0 for place, flag in enumerate(rest)]
    given = {"train_mask": masks(train), "val_mask": masks(validation), "test_mask": masks(test)}
    assert from_pyg(data(**given), range=(0, 1))[0].train.astype(int).tolist() == train
    assert from_pyg(data(**given), range=(0, 1), split="random")[0].train.sum() == 6


def test_each_column_of_pyg_s_masks_is_a_split():
    first, second = [1, 1, 0] * 4, [0, 1, 1] * 4
    alone = np.eye(COUNT, dtype=int).tolist()
    given = {
        "train_mask": masks(first, second),
        "val_mask": masks(alone[2], alone[0]),
        "test_mask": masks(alone[5], alone[3]),
    }
    assert from_pyg(data(**given), range=(0, 1), seed=1)[0].train.astype(int).tolist() == second


def test_pyg_s_labels_may_be_several_of_which_one_is_taken():
    several = data()
    several.y = torch.stack([several.y, 2 - several.y], dim=1).float()
    _, users = from_pyg(several, range=(0, 1), label=1)
    assert (users.raw.labels == 2 - LABELS).all()
    rows = torch.tensor([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    several_labels = Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]), y=rows, num_nodes=4)
    graph, users = from_pyg(several_labels)
    assert (graph.multilabel, graph.metric) == (True, "f1")
    assert to_pyg(graph, users).y.tolist() == rows.tolist()
    assert (to_pyg(graph).y[torch.tensor(graph.test)] == -1).all()
    assert from_pyg(several_labels, label=1)[1].raw.labels.tolist() == [1, 1, 0, 0]


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state")
@pytest.mark.parametrize("layout", ["to_sparse_csr", "to_sparse_coo"])
def test_sparse_tensors_stay_sparse(layout):
    sparse = data()
    sparse.x = getattr((sparse.x > 0.5).float(), layout)()
    assert (from_pyg(sparse, range=(0, 1))[1].raw.features.toarray() == (FEATURES > 0.5)).all()


def test_a_dense_tensor_of_few_entries_becomes_sparse():
    few = data()
    few.x = torch.zeros(COUNT, 4)
    few.x[3, 2] = 1
    assert from_pyg(few, range=(0, 1))[1].raw.features.nnz == 1


def test_pyg_there_and_back():
    graph, users = from_pyg(data(), range=(0, 1))
    back = to_pyg(graph, users)
    again, _ = from_pyg(back, range=(0, 1))
    assert (again.pairs() == graph.pairs()).all()
    assert (again.train == graph.train).all()
    assert (back.y.numpy() == LABELS).all()
    assert np.allclose(back.x.numpy(), FEATURES, atol=1e-7)
    graph, _ = from_pyg(data(), range=(0, 1))
    public = to_pyg(graph)
    assert public.x is None
    assert public.num_nodes == COUNT
    assert (public.y[public.test_mask] == -1).all()


def network(kind=nx.Graph):
    graph = kind([("ann", "bob"), ("bob", "cem"), ("bob", "ann"), ("cem", "cem"), ("dan", "eve")])
    for place, node in enumerate(graph.nodes):
        graph.nodes[node].update(age=place / 10, tall=place % 2, both=[place, 1], town="ab"[place % 2])
    return graph


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_networkx_of_any_kind(kind):
    graph, users = from_networkx(network(kind), features=["age", "tall"], label="town", range=(0, 1))
    assert pairs(graph) == [[0, 1], [1, 2], [3, 4]]
    assert graph.feature_names == ("age", "tall")
    assert users.raw.features.tolist() == [[0.0, 0], [0.1, 1], [0.2, 0], [0.3, 1], [0.4, 0]]
    assert users.raw.labels.tolist() == [0, 1, 0, 1, 0]


def test_networkx_nodes_may_hold_all_features_in_one_attribute_or_have_no_label():
    _, users = from_networkx(network(), features="both", label="town", range=(0, 4))
    assert users.raw.features.tolist() == [[0, 1], [1, 1], [2, 1], [3, 1], [4, 1]]
    graph = network()
    graph.add_node("fay")
    _, users = from_networkx(graph, label="town")
    assert users.raw.labels.tolist() == [0, 1, 0, 1, 0, -1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"features": "height"}, "node 'ann' has no attribute 'height'"),
        ({"features": ["age", "town"]}, "features must be numbers"),
        ({"label": "height"}, "no node has the attribute 'height'"),
        ({"label": "mixed"}, "cannot be sorted"),
    ],
)
def test_networkx_attributes_that_do_not_fit_are_refused(options, words):
    graph = network()
    graph.nodes["ann"]["mixed"], graph.nodes["bob"]["mixed"] = 1, "a"
    with pytest.raises(InputError, match=words):
        from_networkx(graph, range=(0, 1), **options)


def test_ids_come_with_arrays_pyg_and_the_nodes_of_networkx():
    names = [f"user {number}" for number in range(COUNT)]
    for graph, _ in (
        from_arrays(EDGES, None, LABELS, ids=names),
        from_pyg(data(), range=(0, 1), ids=names),
        from_networkx(nx.path_graph(names)),
    ):
        assert graph.ids.tolist() == names
    assert from_networkx(nx.path_graph(3))[0].ids.tolist() == [0, 1, 2]
    assert from_networkx(nx.path_graph([(0, 0), (0, 1)]))[0].ids is None
