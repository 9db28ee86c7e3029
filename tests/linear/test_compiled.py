"""The compiled product of a sparse matrix with a dense one is the product, for every width and either precision."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import random_array

from graphveil.linear.compiled import WIDEST, sparse_product


@pytest.mark.parametrize(
    ("columns", "kind", "index"),
    [(1, "f4", "i4"), (7, "f4", "i4"), (16, "f4", "i4"), (WIDEST + 7, "f4", "i4"), (16, "f8", "i8")],
)
@pytest.mark.parametrize("factors", [None, (-2.0, 0.25)])
@given(seed=st.integers(0, 1000))
def test_it_is_the_product(columns, kind, index, factors, seed):
    rng = np.random.default_rng(seed)
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
    np.testing.assert_allclose(out, product, rtol=0, atol=1e-12 if kind == "f8" else 1e-5)


@pytest.mark.parametrize("columns", [7, WIDEST + 7])
def test_a_row_does_not_depend_on_other_rows(columns):
    rng = np.random.default_rng(0)
    matrix = random_array((50, 50), density=0.3, format="csr", rng=rng, dtype=np.float32)
    dense = rng.normal(size=(50, columns)).astype(np.float32)
    whole, part = np.empty((50, columns), np.float32), np.empty((20, columns), np.float32)
    sparse_product((matrix.indptr, matrix.indices, matrix.data), dense, whole)
    some = matrix[30:]
    sparse_product((some.indptr, some.indices, some.data), dense, part)
    assert np.array_equal(part, whole[30:])
