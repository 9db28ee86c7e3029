"""Any module of torch as a backbone."""

import pytest
import torch
from scipy.sparse import csr_matrix
from torch import nn
from torch_geometric.nn import GCNConv

from graphveil.errors import InputError
from graphveil.learn import BACKBONES, GCN, build_backbone
from graphveil.learn.backbones import custom_backbone
from graphveil.learn.inputs import raw_input
from graphveil.learn.topology import Topology
from graphveil.learn.training import Schedule, fit
from graphveil.linear.sparse import Composition
from tests.learn.graphs import small_graph, targets_of

pytestmark = pytest.mark.usefixtures("forget_outside")


class Plain(nn.Module):
    """As PyG has it."""

    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.conv1, self.conv2 = GCNConv(inputs, hidden), GCNConv(hidden, outputs)

    def forward(self, x, edge_index):
        return self.conv2(torch.selu(self.conv1(x, edge_index)), edge_index)


class Sparse(nn.Module):
    """As the library has it."""

    def __init__(self, inputs, hidden, outputs, activation="relu", dropout=0.0):
        super().__init__()
        self.weights = nn.Parameter(torch.ones(inputs, outputs))
        self.told = activation, dropout

    def forward(self, inputs, topology):
        return topology.gcn @ (inputs @ self.weights)


def made(found, outputs=3, name="mine.py:Mine", **options):
    return custom_backbone(name, found)(30, 16, outputs, **options)


@pytest.mark.parametrize("form", ["sparse", "dense", "composed"])
def test_a_pyg_module_gives_what_the_library_s_own_gives(form):
    graph, rows, _ = small_graph()
    own, topology = GCN(30, 16, 3).eval(), Topology(graph)
    theirs = made(Plain).eval()
    theirs.module.load_state_dict(own.state_dict())
    inputs = raw_input(rows if form == "dense" else csr_matrix(rows))
    if form == "composed":
        inputs = Composition(topology.unlooped, inputs)
    torch.testing.assert_close(theirs(inputs, topology), own(inputs, topology))


def test_a_module_that_takes_a_topology_gets_the_sparse_input_itself_and_all_edges():
    graph, rows, _ = small_graph()
    inputs, seen = raw_input(csr_matrix(rows)), []

    class Watching(Sparse):
        def forward(self, inputs, topology):
            seen.append((inputs, topology))
            return super().forward(inputs, topology)

    topology = Topology(graph)
    assert made(Watching)(inputs, topology).shape == (60, 3)
    assert seen[0][0] is inputs and seen[0][1] is topology
    graph, _, _ = small_graph()
    edges = Topology(graph).edge_index
    assert sorted(map(tuple, edges.T.tolist())) == sorted(map(tuple, graph.edge_list().T.tolist()))


def test_a_function_makes_a_module_and_a_backbone_of_the_library_s_kind_is_taken_as_it_is():
    assert isinstance(made(lambda inputs, hidden, outputs: Plain(inputs, hidden, outputs)).module, Plain)
    assert type(made(GCN, activation="relu")) is GCN
    # Options are given where the parameters have their names.
    assert made(Sparse, activation="selu", dropout=0.25).module.told == ("selu", 0.25)
    assert made(Plain, activation="selu", dropout=0.25).module is not None


def test_it_is_trained_and_has_no_hidden_layer_to_embed_and_a_limit_to_its_dense_input():
    graph, rows, _ = small_graph()
    model = made(Plain)
    before = [each.clone() for each in model.parameters()]
    targets = targets_of(graph)
    fitted = fit(model, raw_input(csr_matrix(rows)), Topology(graph), targets, Schedule(3))
    assert fitted.hidden is None and fitted.scores.shape == (60, 3)
    assert not any(torch.equal(one, other) for one, other in zip(before, model.parameters(), strict=True))
    graph, rows, _ = small_graph()
    model.max_memory = 1e-9
    with pytest.raises(
        InputError, match=r"the input of mine.py:Mine is a dense matrix.*\(inputs, topology\)"
    ):
        model(raw_input(csr_matrix(rows)), Topology(graph))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda scores: scores[:, :-1], r"\(60, 3\), got torch.float32 of shape \(60, 2\)"),
        (lambda scores: scores.argmax(dim=1), r"got torch.int64 of shape \(60,\)"),
        (lambda scores: [scores], "got list"),
    ],
)
def test_an_output_of_another_kind_is_refused(change, words):
    class Other(Plain):
        def forward(self, x, edge_index):
            return change(super().forward(x, edge_index))

    graph, rows, _ = small_graph()
    with pytest.raises(InputError, match=words):
        made(Other)(raw_input(rows), Topology(graph))


class Alone(nn.Module):
    def __init__(self, inputs, hidden, outputs):
        super().__init__()

    def forward(self, x):
        return x


class Many(Alone):
    def forward(self, x, edge_index, edge_weight):
        return x


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (3, "mine.py:Mine is no backbone but a int"),
        (dict, "mine.py:Mine is no backbone but a dict"),
        (nn.Linear(2, 2), "is built already"),
        (nn.Identity, "mine.py:Mine.forward takes input"),
        (lambda inputs: None, r"cannot be made with \(30, 16, 3\)"),
        (lambda *sizes: 3, "mine.py:Mine returned a int"),
        (Alone, r"mine.py:Mine.forward takes x, not \(x, edge_index\)"),
        (Many, "takes x, edge_index, edge_weight"),
    ],
)
def test_what_is_no_backbone_is_refused(found, words):
    with pytest.raises(InputError, match=words):
        made(found)


def test_a_file_s_module_is_built_by_name(tmp_path):
    file = tmp_path / "layers.py"
    file.write_text(
        "import torch\n\nclass Own(torch.nn.Linear):\n"
        "    def __init__(self, inputs, hidden, outputs):\n        super().__init__(inputs, outputs)\n"
        "    def forward(self, x, edge_index):\n        return super().forward(x)\n"
    )
    BACKBONES.load(f"{file}:Own")
    graph, rows, _ = small_graph()
    model = build_backbone(f"{file}:Own", 30, 16, 3, activation="selu", dropout=0.5)
    assert model(raw_input(rows), Topology(graph)).shape == (60, 3)
