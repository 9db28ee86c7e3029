"""A column that is the same for everybody, beside what was reported."""

from __future__ import annotations

import numpy as np
from scipy.sparse import hstack

from graphveil.mechanisms import Estimate


def with_constant(estimate: Estimate) -> Estimate:
    """An estimate (n users x d features) with one more column that is 1 for everybody: n x (d + 1), without an offset."""
    users = estimate.shape[0]
    whole = hstack([estimate.to_scipy(), np.ones((users, 1))], format="csr")
    return Estimate(
        (users, estimate.shape[1] + 1),
        whole.indptr.astype(np.int64),
        whole.indices.astype(np.int32),
        whole.data,
        0.0,
        False,
    )
