import numpy as np
import pytest
from scipy.sparse import coo_matrix, csr_matrix

from graphveil.denoise import certain_estimate

ROWS = np.array([[0.0, 2.0], [0.0, 0.0], [-1.0, 0.5]])


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix, coo_matrix])
def test_the_estimate_is_the_matrix_itself(kind):
    estimate = certain_estimate(kind(ROWS))
    assert estimate.dense().tolist() == ROWS.tolist()
    assert (estimate.offset, estimate.unbiased) == (0.0, True)


def test_only_what_is_not_0_is_kept_and_the_matrix_stays_as_it_is():
    given = csr_matrix((np.array([0.0, 3.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert certain_estimate(given).values.tolist() == [3.0]
    assert given.nnz == 2
