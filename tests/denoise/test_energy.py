import numpy as np
import pytest
import torch

from graphveil.denoise import dirichlet_energy, energy_over_hops
from graphveil.denoise import energy as module
from graphveil.denoise.energy import find_components
from graphveil.denoise.modules import HOA, KProp
from graphveil.graphs.splits import Split
from graphveil.linear.propagation import gcn_matrix
from graphveil.linear.sparse import SparseMatrix
from graphveil.mechanisms import mechanism
from tests.learn.graphs import as_graph, small_graph
from tests.refusals import check_refused


def graph_of(pairs, users):
    masks = np.zeros((3, users), dtype=bool)
    return as_graph(pairs, np.zeros(users, dtype=np.int64), 1, Split(*masks))


def wheel(users=9):
    """A ring with a hub: connected, with triangles, so not bipartite."""
    ring = [[i, i % (users - 1) + 1] for i in range(1, users)]
    return graph_of(ring + [[0, i] for i in range(1, users)], users)


def by_hand(values, graph):
    """The definition, as a double loop."""
    scaled = values / np.sqrt(np.maximum(graph.degrees, 1))[:, None]
    total = 0.0
    for i in range(graph.node_count):
        for j in graph.indices[graph.indptr[i] : graph.indptr[i + 1]]:
            total += ((scaled[i] - scaled[j]) ** 2).sum()
    return total / graph.node_count


def rows(graph, columns=7, seed=0):
    return np.random.default_rng(seed).normal(size=(graph.node_count, columns))


def test_the_energy_is_the_double_loop_s_with_isolated_users_too():
    graph, _, _ = small_graph(isolated=3)
    values = rows(graph)
    assert dirichlet_energy(values, graph) == pytest.approx(by_hand(values, graph), rel=1e-12)
    assert dirichlet_energy([[1.0], [3.0]], graph_of([[0, 1]], 2)) == pytest.approx((4 + 4) / 2)
    # Users that are alike but for their degree have none, as isolated users alone have none.
    alike = np.sqrt(wheel().degrees)[:, None] * [[1.0, -5.0]]
    assert dirichlet_energy(alike, wheel()) == pytest.approx(0, abs=1e-28)
    energies = energy_over_hops(np.ones((3, 2)), graph_of(np.empty((0, 2), int), 3), 2)
    assert energies.ska.tolist() == energies.hoa.tolist() == [0, 0, 0]


@pytest.mark.parametrize(("name", "kind"), [("ska", KProp), ("hoa", HOA)])
def test_energies_over_hops_are_those_of_the_denoisers(name, kind):
    graph, _, _ = small_graph(isolated=2)
    values = rows(graph)
    found = getattr(energy_over_hops(values, graph, 5), name)
    matrix = gcn_matrix(graph, loops=False)
    for hops in range(6):
        denoised = (kind(hops).operator(matrix) @ torch.from_numpy(values).float()).numpy()
        assert found[hops] == pytest.approx(by_hand(denoised, graph), rel=1e-4)


@pytest.fixture
def estimate():
    graph, features, _ = small_graph()
    return graph, mechanism("multibit", epsilon=1.0, dims=30, range=(0, 1)).randomize(features).estimate()


def test_blocks_of_columns_add_up_and_sparse_wide_inputs_are_dense_a_block_at_a_time_only(
    estimate, monkeypatch
):
    graph, wide = estimate
    forms, widths, original = (wide, rows(graph, 30)), [], module._block
    whole = [energy_over_hops(values, graph, 4) for values in forms]
    monkeypatch.setattr(module, "BLOCK", 8)
    monkeypatch.setattr(
        module, "_block", lambda *given: widths.append(original(*given).shape[1]) or original(*given)
    )
    for values, expected in zip(forms, whole, strict=True):
        blocks = energy_over_hops(values, graph, 4)
        np.testing.assert_allclose(blocks.ska, expected.ska, rtol=1e-12)
        np.testing.assert_allclose(blocks.hoa, expected.hoa, rtol=1e-12)
    assert widths[:4] == [8, 8, 8, 6]


def test_every_form_of_the_same_values_has_the_same_energies(estimate):
    graph, wide = estimate
    dense = wide.dense() - wide.offset
    arrays = (wide.indptr, wide.indices, wide.values, wide.shape)
    expected = energy_over_hops(dense, graph, 3)
    for form in (wide, wide.to_scipy(), torch.from_numpy(dense), SparseMatrix.from_csr(*arrays)):
        np.testing.assert_allclose(energy_over_hops(form, graph, 3).hoa, expected.hoa, rtol=1e-5)


def test_ska_decays_geometrically_by_the_second_eigenvalue_where_nothing_is_bipartite():
    graph = wheel()
    eigenvalues = np.linalg.eigvalsh(gcn_matrix(graph, loops=False).to_dense().double().numpy())
    second = np.sort(np.abs(eigenvalues))[-2]
    ska = energy_over_hops(rows(graph), graph, 60).ska
    np.testing.assert_allclose(ska[41:] / ska[40:-1], second**2, rtol=1e-3)
    # Tiny energies keep their digits.
    ska = energy_over_hops(1e3 + rows(graph), graph, 80).ska
    assert 0 < ska[80] < 1e-26 * ska[0]
    assert ska[80] / ska[79] == pytest.approx(ska[60] / ska[59], rel=1e-6)


def test_hoa_decays_like_one_over_k_squared_and_hoa_over_ska_grows_as_in_theorem_4():
    hoa = energy_over_hops(rows(wheel()), wheel(), 200).hoa
    squares = hoa * np.arange(201) ** 2
    assert squares[200] == pytest.approx(squares[100], rel=1e-6) and squares[200] > 0
    energies = energy_over_hops(rows(wheel()), wheel(), 60)
    assert (np.diff(energies.ratio[5:]) > 0).all()
    assert energies.ratio[60] > 1e6
    # Theorem 4's Φ_K.
    summed_ratio = np.cumsum(energies.hoa[1:]) / np.cumsum(energies.ska[1:])
    assert summed_ratio[59] == pytest.approx(summed_ratio[30], rel=0.05)
    assert summed_ratio[59] > 0.1


def test_ska_swaps_the_groups_of_a_bipartite_component_forever():
    pair = graph_of([[0, 1]], 2)
    energies = energy_over_hops([[1.0], [3.0]], pair, 10)
    np.testing.assert_allclose(energies.ska, energies.floor)
    assert energies.floor == pytest.approx(4.0)
    np.testing.assert_allclose(energies.hoa[2::2], 0, atol=1e-15)
    np.testing.assert_allclose(energies.hoa[1::2], [4 / k**2 for k in range(1, 10, 2)])
    edges = np.concatenate([wheel().pairs(), [[9, 10], [10, 11]]])
    graph = graph_of(edges, 12)
    energies = energy_over_hops(rows(graph), graph, 80)
    assert energies.floor > 0
    assert energies.ska[80] == pytest.approx(energies.floor, rel=1e-9)
    assert energies.ratio[80] < 0.01
    assert energies.mixing.ratio[80] > 1e6


def test_the_share_of_other_components_is_theirs_alone():
    edges = np.concatenate([wheel().pairs(), [[9, 10]]])
    values = rows(graph_of(edges, 11))
    alone = energy_over_hops(values[:9], wheel(), 6)
    share = energy_over_hops(values, graph_of(edges, 11), 6).mixing
    np.testing.assert_allclose(share.ska * 11, alone.ska * 9)
    np.testing.assert_allclose(share.hoa * 11, alone.hoa * 9)
    assert alone.mixing is None


def test_components_are_told_apart():
    # A triangle, a pair, a path of three, a square with a diagonal, and a user alone.
    pairs = [[0, 1], [1, 2], [2, 0], [3, 4], [5, 6], [6, 7], [8, 9], [9, 10], [10, 11], [11, 8], [8, 10]]
    found = find_components(graph_of(pairs, 13))
    assert found.constant.shape[1] == 4
    assert found.bipartite_count == 2
    assert np.flatnonzero(found.bipartite).tolist() == [3, 4, 5, 6, 7]


def test_relative_energies_start_at_1_and_forget_the_scale():
    graph, _, _ = small_graph()
    one, other = (energy_over_hops(scale * rows(graph), graph, 3).relative for scale in (1.0, 1e5))
    assert one.ska[0] == one.hoa[0] == 1
    np.testing.assert_allclose(one.ska, other.ska)


@pytest.mark.statistical
def test_a_sketch_is_close_to_the_whole():
    # Seeded; five standard deviations of at most √(2/256).
    graph, _, _ = small_graph()
    values = rows(graph, 600)
    whole, sketched = (energy_over_hops(values, graph, 4, sketch=sketch) for sketch in (None, 256))
    np.testing.assert_allclose(sketched.ska, whole.ska, rtol=5 * np.sqrt(2 / 256))
    assert not np.allclose(sketched.ska, whole.ska)


def test_a_wrong_number_of_hops_and_values_of_other_users_are_refused():
    hops, ones = "hops must be an integer of at least 0", np.ones((9, 1))
    check_refused(energy_over_hops, [(ones, wheel(), wrong, hops) for wrong in (-1, True, 1.5)])
    words = "values must be 9 rows, one a user, got the shape (3, 2)"
    check_refused(dirichlet_energy, [(np.ones((3, 2)), wheel(), words)])
