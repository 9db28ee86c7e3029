"""The compiled product of a sparse matrix with a dense one is the product, for every width and either precision."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import random_array

from graphveil.linear.compiled import WIDEST, sparse_product

WIDTHS = (*range(1, 20), WIDEST - 1, WIDEST, WIDEST + 1, 2 * WIDEST, 2 * WIDEST + 7)


@given(
    columns=st.sampled_from(WIDTHS),
    precise=st.booleans(),
    wide=st.booleans(),
    factors=st.sampled_from([None, (1.0, 0.25), (-2.0, 1.0)]),
    seed=st.integers(0, 1000),
)
def test_it_is_the_product(columns, precise, wide, factors, seed):
    rng = np.random.default_rng(seed)
    kind, index = (np.float64 if precise else np.float32), (np.int64 if wide else np.int32)
    matrix = random_array((9, 6), density=rng.random(), format="csr", rng=rng)
    arrays = matrix.indptr.astype(index), matrix.indices.astype(index), matrix.data.astype(kind)
    dense, added = (rng.normal(size=(rows, columns)).astype(kind) for rows in (6, 9))
    product = matrix @ dense
    if factors is None:
        out = np.full((9, columns), np.nan, dtype=kind)
        sparse_product(arrays, dense, out)
    else:
        product = factors[0] * product + factors[1] * added
        out = added.copy()
        sparse_product(arrays, dense, out, out, *factors)
    np.testing.assert_allclose(out, product, rtol=0, atol=1e-12 if precise else 1e-5)


@pytest.mark.parametrize("columns", [5, WIDEST + 5])
def test_a_row_does_not_depend_on_other_rows(columns):
    rng = np.random.default_rng(0)
    matrix = random_array((50, 50), density=0.3, format="csr", rng=rng, dtype=np.float32)
    dense = rng.normal(size=(50, columns)).astype(np.float32)
    whole, part = np.empty((50, columns), np.float32), np.empty((20, columns), np.float32)
    sparse_product((matrix.indptr, matrix.indices, matrix.data), dense, whole)
    some = matrix[30:]
    sparse_product((some.indptr, some.indices, some.data), dense, part)
    assert np.array_equal(part, whole[30:])
