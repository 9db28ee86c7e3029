"""The private rows that reports are made of: the real ones where they are at hand, else some of the same shape."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

# What a row of the real data holds on average.
ONES_A_ROW = 14
SEED = 0


def sparse_rows(users: int, dimensions: int) -> tuple[str, csr_array]:
    """The features of ``facebook`` from $GRAPHVEIL_DATA if they have this shape, else generated ones; and which."""
    folder = os.environ.get("GRAPHVEIL_DATA")
    path = Path(folder, "facebook.npz") if folder else None
    if path is not None and path.is_file():
        with np.load(path) as stored:
            if tuple(stored["x_shape"]) == (users, dimensions):
                parts = (stored["x_data"], stored["x_indices"], stored["x_indptr"])
                return "facebook", csr_array(parts, shape=(users, dimensions))
    return "generated", generated_rows(users, dimensions)


def generated_rows(users: int, dimensions: int) -> csr_array:
    """Binary rows with the same number of ones each, at random places."""
    ones = min(ONES_A_ROW, dimensions)
    generator = np.random.default_rng(SEED)
    places = [np.sort(generator.choice(dimensions, ones, replace=False)) for _ in range(users)]
    indices = np.concatenate(places).astype(np.int32)
    pointers = np.arange(users + 1, dtype=np.int32) * ones
    return csr_array((np.ones(indices.size, dtype=np.float32), indices, pointers), shape=(users, dimensions))
