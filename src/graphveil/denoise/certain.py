"""Rows that are known for certain, in the form that reports are decoded to."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from graphveil.mechanisms import Estimate


def certain_estimate(rows: Any) -> Estimate:
    """A matrix (n users x d features, dense or sparse) as an estimate without error; only what is not 0 is kept."""
    kept = csr_matrix(rows, copy=True)
    kept.sort_indices()
    kept.eliminate_zeros()
    return Estimate(
        kept.shape,
        kept.indptr.astype(np.int64),
        kept.indices.astype(np.int32),
        kept.data.astype(np.float64),
        0.0,
        True,
    )
