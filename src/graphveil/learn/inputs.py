"""What a backbone is fed: reports or raw features, sparse where they are sparse, scaled by public constants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from graphveil.errors import InputError
from graphveil.linear.composition import Composition, Input, Scaled
from graphveil.linear.sparse import SparseMatrix
from graphveil.mechanisms import Estimate, Mechanism, Reports
from graphveil.settings import available_gigabytes

# Rows of the input get the expected norm √d/8, chosen on validation users of cora, citeseer, facebook and town with
# multibit, piecewise, square-wave and hds. It is not the best everywhere, so that training tries larger ones too (`best_scale`).
ROW_NORM_SHARE = 1 / 8


def report_input(
    reports: Reports,
    share: float = ROW_NORM_SHARE,
    device: torch.device | str = "cpu",
    max_memory: float | None = None,
) -> SparseMatrix | Tensor:
    """Decoded reports (n users x d features), scaled so that a row has the norm ``share``·√d in expectation.

    They are dense where the mechanism reports every value, which is refused above ``max_memory`` gigabytes.
    """
    return estimate_input(
        reports.estimate(),
        report_scale(reports.mechanism, share),
        device,
        max_memory,
        reports.mechanism.name,
    )


def report_scale(mechanism: Mechanism, share: float = ROW_NORM_SHARE) -> float:
    """By what to multiply estimates, so that a row has the norm ``share``·√d in expectation.

    It comes from the mechanism alone: the root mean square of one entry, and how many entries a row has.
    """
    norm = share * math.sqrt(mechanism.dimensions)
    return norm / (mechanism.spread * math.sqrt(mechanism.report_length))


def estimate_input(
    estimate: Estimate,
    scale: float,
    device: torch.device | str = "cpu",
    max_memory: float | None = None,
    name: str = "a mechanism",
) -> SparseMatrix | Tensor:
    """Estimates (n x d) times ``scale`` as an input (n x d), sparse where they are sparse.

    The constant offset of the estimate (the middle of the range everywhere) is left out; a backbone's bias can make up for
    it. Entries that are 0 are not kept.
    """
    if estimate.indices is None:
        refuse_above(max_memory, estimate.shape, f"{name} reports every value, so its estimate")
        dense = (estimate.values * scale).astype(np.float32).reshape(estimate.shape)
        return torch.from_numpy(dense).to(device)
    kept = estimate.values != 0
    indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(kept)])[estimate.indptr]
    values = estimate.values[kept] * scale
    return SparseMatrix.from_csr(indptr, estimate.indices[kept], values, estimate.shape, device=device)


def thinned(inputs: Input, dropped: float) -> Input:
    """The input (n x d) with a random share of its entries at 0 and the others scaled up: dropout, before any hops."""
    if isinstance(inputs, Composition):
        return Composition(inputs.outer, thinned(inputs.inner, dropped))
    if isinstance(inputs, Scaled):
        return Scaled(thinned(inputs.inner, dropped), inputs.factor)
    if isinstance(inputs, SparseMatrix):
        return inputs.thinned(dropped)
    return functional.dropout(inputs, dropped)


def raw_input(features: Any, device: torch.device | str = "cpu") -> SparseMatrix | Tensor:
    """Raw features (n x d) as they are: a sparse matrix stays sparse. Only for a method that claims no privacy."""
    if hasattr(features, "tocsr"):
        matrix = features.tocsr()
        if not matrix.has_sorted_indices:
            matrix = matrix.sorted_indices()
        return SparseMatrix.from_csr(matrix.indptr, matrix.indices, matrix.data, matrix.shape, device=device)
    return torch.from_numpy(np.ascontiguousarray(features, dtype=np.float32)).to(device)


def refuse_above(
    max_memory: float | None,
    shape: tuple[int, int],
    what: str,
    instead: str = "take a mechanism that samples",
) -> None:
    """Refuse a dense float32 matrix of this shape above the allowed number of gigabytes; by default what the machine has left.

    ``what`` begins the error, ``instead`` ends it.
    """
    size = shape[0] * shape[1] * 4 / 1e9
    allowed = available_gigabytes() if max_memory is None else max_memory
    if size > allowed:
        limit = "that this machine has left" if max_memory is None else "allowed"
        raise InputError(
            f"{what} is a dense matrix of {shape[0]} x {shape[1]} numbers, {size:.1f} GB, above the {allowed:.3g} GB "
            f"{limit}: allow more with --max-memory, or {instead}"
        )
