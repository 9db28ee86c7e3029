import numpy as np
import pytest
import torch

from graphveil.denoise import AGGREGATORS, HOA, KProp, Residual
from graphveil.linear import gcn_matrix
from tests.learn.graphs import small_graph
from tests.refusals import check_refused
from tests.together import together


@pytest.fixture
def setting():
    graph, rows, _ = small_graph()
    edges = torch.from_numpy(graph.edge_list())
    return graph, edges, torch.from_numpy(rows), gcn_matrix(graph, loops=False).to_dense()


def powers(matrix, rows, hops):
    reached = [rows]
    for _ in range(hops):
        reached.append(matrix @ reached[-1])
    return reached


@pytest.mark.parametrize("hops", [1, 2, 5])
def test_each_is_what_its_formula_says(setting, hops):
    graph, edges, rows, matrix = setting
    reached = powers(matrix, rows, hops)
    expected = {
        "kprop": reached[-1],
        "hoa": sum(reached[1:]) / hops,
        "residual": torch.linalg.matrix_power((torch.eye(60) + matrix) / 2, hops) @ rows,
    }
    for name, make in AGGREGATORS.items():
        torch.testing.assert_close(make(hops)(rows, edges), expected[name])
        operator = make(hops).operator(gcn_matrix(graph, loops=False))
        torch.testing.assert_close(operator @ rows, expected[name])


@together("make", AGGREGATORS.values())
def test_they_are_modules_without_parameters_and_with_gradients_and_no_hops_change_nothing(setting, make):
    _, edges, rows, _ = setting
    assert torch.equal(make(0)(rows, edges), rows)
    module, rows = make(3), rows.clone().requires_grad_()
    module(rows, edges).sum().backward()
    assert list(module.parameters()) == [] and rows.grad.abs().sum() > 0
    assert repr(module).endswith("(3)")


def test_own_reports_are_left_out_of_a_single_hop_users_alone_get_zeros_and_precision_stays(setting):
    graph, edges, rows, _ = setting
    changed = rows.clone()
    changed[7] += 1
    for module in (KProp(1), HOA(1)):
        torch.testing.assert_close(module(rows, edges)[7], module(changed, edges)[7])
    alone = graph.degrees == 0
    assert alone.any()
    assert not HOA(4)(rows, edges)[torch.from_numpy(alone)].any()
    out = KProp(2)(rows.double(), edges)
    assert out.dtype == torch.float64
    torch.testing.assert_close(out.float(), KProp(2)(rows, edges))


def test_hops_reach_so_far_and_no_further():
    graph = small_graph()[0].with_edges(np.array([[i, i + 1] for i in range(5)]))
    edges, unit = torch.from_numpy(graph.edge_list()), torch.eye(60)
    reached = HOA(3)(unit, edges) != 0
    assert reached[0, :6].tolist() == [True, True, True, True, False, False]
    assert (Residual(2)(unit, edges)[0, :6] != 0).tolist() == [True, True, True, False, False, False]


def test_bad_hops_are_refused():
    check_refused(HOA, [(hops, "hops must be an integer of at least 0") for hops in (-1, 1.5, True, "4")])
