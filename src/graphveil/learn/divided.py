"""Reports about attributes with different budgets as one input: columns by how much noise they have."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphveil.learn.inputs import estimate_input
from graphveil.learn.rounds import precisions
from graphveil.linear.sparse import SparseMatrix
from graphveil.mechanisms import FeatureMechanism, Reports


def divided_input(
    reports: Reports,
    places: NDArray[np.int64],
    share: float,
    *,
    by_precision: bool,
    device: torch.device | str = "cpu",
    max_memory: float | None = None,
) -> SparseMatrix | Tensor:
    """Decoded answers about the attributes at ``places`` (n users x so many columns), the others left out.

    ``by_precision`` divides a column by its mean square v: an unbiased estimate at a small budget is large because it is noisy,
    and would be the loudest column. Rows have the norm ``share``·√columns in expectation, by public constants alone. Whoever is
    silent has an empty row.
    """
    mechanism = reports.mechanism
    assert isinstance(mechanism, FeatureMechanism)
    kept = mechanism.only(reports, places)
    squares = answer_squares(mechanism)[places]
    weights = 1 / squares if by_precision else np.ones(len(places))
    scale = share * math.sqrt(len(places)) / math.sqrt(float((weights**2 * squares).sum()))
    estimate = kept.estimate()
    values = (estimate.values.reshape(-1, len(places)) * weights).ravel()
    return estimate_input(replace(estimate, values=values), scale, device, max_memory, mechanism.name)


def both_input(
    first: Reports, reports: Reports, places: NDArray[np.int64], share: float, device: torch.device | str = "cpu"
) -> SparseMatrix:
    """prototype"""
    from scipy.sparse import csr_array

    mechanism, before = reports.mechanism, first.mechanism
    assert isinstance(mechanism, FeatureMechanism) and isinstance(before, FeatureMechanism)
    d = mechanism.size
    squares = answer_squares(mechanism)[places]
    [a1] = precisions([before])
    kept = mechanism.only(reports, places).estimate()
    values = (kept.values.reshape(-1, len(places)) / squares).ravel()
    indices = np.tile(places.astype(np.int32), len(values) // len(places))
    second = csr_array((values, indices, kept.indptr), shape=(kept.shape[0], d))
    one = first.estimate().to_scipy()
    one.data = one.data * a1[one.indices]
    sq = a1[0] ** 2 * before.spread**2 * before.report_length + (1 / squares).sum()
    whole = one + second
    whole.sort_indices()
    scale = share * math.sqrt(d) / math.sqrt(sq)
    return SparseMatrix.from_csr(whole.indptr, whole.indices, whole.data * scale, whole.shape, device=device)


def answer_squares(mechanism: FeatureMechanism) -> NDArray[np.float64]:
    """v of every dimension: the mean square of its answer, all inputs equally likely, in the units of a value; public."""
    known = {channel: channel.root_mean_square**2 for channel in set(mechanism.channels)}
    squares = np.array([known[channel] for channel in mechanism.channels])
    unit = (mechanism.public.half_width * mechanism.scale) ** 2
    return np.broadcast_to(unit * squares, (mechanism.size,))
