"""What a backbone is fed: reports or raw features, sparse where they are sparse, scaled by public constants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from graphveil.errors import InputError
from graphveil.learn.backbones import Input
from graphveil.linear.sparse import SparseMatrix
from graphveil.mechanisms import Reports

# Rows of the input get the expected norm √d/8, chosen on validation users of cora, citeseer, facebook and town with
# multibit, piecewise, square-wave and hds. It is not the best everywhere: a town likes √d/4 with multibit, by up to 0.8
# points, and on pubmed 2√d was 7.5 points better (62.4 against 54.9, multibit at ε = 1).
ROW_NORM_SHARE = 1 / 8


def report_input(
    reports: Reports,
    row_norm: float | None = None,
    device: torch.device | str = "cpu",
    max_memory: float | None = None,
) -> Input:
    """Decoded reports, scaled so that a row has the norm ``row_norm`` (√d/8 by default) in expectation.

    The scale comes from the mechanism alone: the root mean square of one entry, and how many entries a row has. The
    constant offset of the estimate (the middle of the range everywhere) is left out; a backbone's bias can make up for it.
    """
    mechanism = reports.mechanism
    dimensions = mechanism.dimensions
    norm = math.sqrt(dimensions) * ROW_NORM_SHARE if row_norm is None else float(row_norm)
    scale = norm / (mechanism.spread * math.sqrt(mechanism.report_length))
    estimate = reports.estimate()
    if estimate.indices is None:
        refuse_above(max_memory, estimate.shape, f"{mechanism.name} reports every value, so its estimate")
        dense = (estimate.values * scale).astype(np.float32).reshape(estimate.shape)
        return torch.from_numpy(dense).to(device)
    values = estimate.values * scale
    return SparseMatrix.from_csr(estimate.indptr, estimate.indices, values, estimate.shape, device=device)


def raw_input(features: Any, device: torch.device | str = "cpu") -> Input:
    """Raw features as they are: a sparse matrix stays sparse. Only for a method that claims no privacy."""
    if hasattr(features, "tocsr"):
        matrix = features.tocsr()
        return SparseMatrix.from_csr(matrix.indptr, matrix.indices, matrix.data, matrix.shape, device=device)
    return torch.from_numpy(np.ascontiguousarray(features, dtype=np.float32)).to(device)


def refuse_above(max_memory: float | None, shape: tuple[int, int], what: str) -> None:
    """Refuse a dense float32 matrix that is larger than the allowed number of gigabytes."""
    size = shape[0] * shape[1] * 4 / 1e9
    if max_memory is not None and size > max_memory:
        raise InputError(
            f"{what} is a dense matrix of {shape[0]} x {shape[1]} numbers, {size:.1f} GB, above the allowed "
            f"{max_memory:g} GB: allow more with --max-memory, or take a mechanism that samples"
        )
