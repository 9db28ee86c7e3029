import numpy as np
import pytest
import torch

from graphveil.denoise import KProp
from graphveil.errors import InputError
from graphveil.learn.attribute_analysis import DenoisedReports
from graphveil.linear import Chebyshev, gcn_matrix
from tests.learn.analysis import setting
from tests.learn.graphs import small_graph


@pytest.mark.parametrize(("name", "hops"), [("multibit", 0), ("piecewise", 1), ("laplace", 3)])
def test_blocks_and_products_are_those_of_the_plain_matrix(name, hops):
    values, plain, _ = setting(name, hops)
    assert values.shape == plain.shape
    scale = np.abs(plain).max()
    users = np.array([7, 3, 79, 3])
    for chosen, expected in ((None, plain), (users, plain[users])):
        found = np.hstack([block.numpy().copy() for block in values.blocks(chosen)])
        np.testing.assert_allclose(found, expected, atol=1e-5 * scale)
    weights, rows = torch.randn(plain.shape[1], 3), torch.randn(plain.shape[0], 2)
    np.testing.assert_allclose(values.times(weights), plain @ weights.numpy(), atol=1e-4 * scale)
    np.testing.assert_allclose(values.transposed_times(rows), plain.T @ rows.numpy(), atol=1e-4 * scale)


def test_hops_that_are_a_chebyshev_series_do_too_and_hops_over_other_users_are_refused():
    values, _, _ = setting()
    graph, _, _ = small_graph(users=80, edges=160)
    other = DenoisedReports(values.estimate, Chebyshev(gcn_matrix(graph), [0.5, 0.3, 0.2]))
    weights, rows = torch.randn(40, 2), torch.randn(80, 2)
    # <V, H W> = <Hᵀ V, W>
    torch.testing.assert_close(
        (rows * other.times(weights)).sum(),
        (other.transposed_times(rows) * weights).sum(),
        rtol=1e-4,
        atol=1e-3,
    )
    values, _, _ = setting()
    graph, _, _ = small_graph(users=60)
    with pytest.raises(InputError, match="60 users, 80 reported"):
        DenoisedReports(values.estimate, KProp(1).operator(gcn_matrix(graph)))
