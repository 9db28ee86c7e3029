import numpy as np
import pytest
import torch

from graphveil import SeededBits, mechanism
from graphveil.denoise import NFR, GroupLasso
from graphveil.errors import InputError

ROWS = (np.random.default_rng(0).random((200, 12)) < 0.5).astype(float)


def reports(name, epsilon=4.0):
    return mechanism(name, epsilon=epsilon, dims=12, range=(0, 1)).randomize(ROWS, SeededBits(0))


def centred(estimate):
    return estimate.dense() - estimate.offset


def test_nfr_and_group_lasso_by_hand():
    assert NFR(1.0)(torch.tensor([-3.0, -1.0, -0.5, 0.0, 0.5, 2.5])).tolist() == [-2, 0, 0, 0, 0, 1.5]
    rows = torch.tensor([[3.0, 0.1, 0.0], [4.0, 0.0, 0.0]])
    torch.testing.assert_close(GroupLasso(2.5)(rows), torch.tensor([[1.5, 0, 0], [2.0, 0, 0]]))
    # A column of zeros has a gradient.
    rows.requires_grad_()
    GroupLasso(1.0)(rows).sum().backward()
    assert torch.isfinite(rows.grad).all()
    for threshold in (-1.0, float("nan")):
        with pytest.raises(InputError, match="threshold must be a number of at least 0"):
            NFR(threshold)


@pytest.mark.parametrize("name", ["multibit", "piecewise", "laplace"])
@pytest.mark.parametrize("make", [NFR, GroupLasso])
def test_on_reports_equals_the_module_on_the_dense_matrix(name, make):
    given = reports(name)
    module = make(0.4 * given.mechanism.largest)
    expected = module(torch.from_numpy(centred(given.estimate())))
    np.testing.assert_allclose(centred(module.on_reports(given.estimate())), expected.numpy(), atol=1e-12)
    assert not module.on_reports(given.estimate()).unbiased


def test_nfr_only_rescales_multibit_and_drops_small_piecewise_reports():
    given = reports("multibit")
    shrunk = NFR(0.3 * given.mechanism.largest).on_reports(given.estimate())
    np.testing.assert_allclose(shrunk.values, 0.7 * given.estimate().values)
    given = reports("piecewise")
    kept = NFR(0.5 * given.mechanism.largest).on_reports(given.estimate()).values != 0
    assert 0 < kept.sum() < kept.size
    assert np.abs(given.estimate().values[~kept]).max() <= 0.5 * given.mechanism.largest
