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
from graphveil.mechanisms import Estimate, FeatureMechanism, Reports

Places = NDArray[np.int64]
Numbers = NDArray[np.float64]


def divided_input(
    reports: Reports,
    places: Places,
    share: float,
    *,
    by_precision: bool,
    device: torch.device | str = "cpu",
    max_memory: float | None = None,
) -> SparseMatrix | Tensor:
    """Decoded answers about the attributes at ``places`` (n users x so many columns), the others left out.

    ``by_precision`` divides a column by its mean square v: an unbiased estimate at a small budget is large because it is noisy,
    and would be the loudest column. Rows have the norm ``share``·√d in expectation, by public constants alone. Whoever is silent
    has an empty row.
    """
    mechanism = _answering_all(reports)
    squares = answer_squares(mechanism)[places]
    weights = 1 / squares if by_precision else np.ones(len(places))
    estimate = _weighed(mechanism.only(reports, places).estimate(), weights)
    scale = share * math.sqrt(mechanism.size / float((weights**2 * squares).sum()))
    return estimate_input(estimate, scale, device, max_memory, mechanism.name)


def joined_input(
    first: Reports, reports: Reports, places: Places, share: float, device: torch.device | str = "cpu"
) -> SparseMatrix:
    """Estimates of a round that asked for some of the values, and of one that divided its budget, added; sparse, n x d.

    Each estimate counts by its precision, as in `rounds_input`: π_j/v of the first, 1/v_j of the attributes at ``places``, whose
    answers in the other round are all that is taken of it. Both must be unbiased. Rows have the norm ``share``·√d in expectation.
    """
    mechanism, before = _answering_all(reports), first.mechanism
    assert isinstance(before, FeatureMechanism)
    squares, weights = answer_squares(mechanism)[places], precisions([before])[0]
    kept = _weighed(mechanism.only(reports, places).estimate(), 1 / squares)
    named = np.tile(places.astype(np.int32), len(kept.values) // len(places))
    asked = first.estimate().to_scipy()
    asked.data = asked.data * weights[asked.indices]
    whole = asked + replace(kept, shape=(kept.shape[0], mechanism.size), indices=named).to_scipy()
    whole.sort_indices()
    expected = float(before.spread**2 * before.report_length * (weights**2).mean() + (1 / squares).sum())
    scale = share * math.sqrt(mechanism.size / expected)
    return SparseMatrix.from_csr(whole.indptr, whole.indices, scale * whole.data, whole.shape, device=device)


def answer_squares(mechanism: FeatureMechanism) -> Numbers:
    """v of every dimension: the mean square of its answer, all inputs equally likely, in the units of a value; public."""
    known = {channel: channel.root_mean_square**2 for channel in set(mechanism.channels)}
    squares = np.array([known[channel] for channel in mechanism.channels])
    unit = (mechanism.public.half_width * mechanism.scale) ** 2
    return np.broadcast_to(unit * squares, (mechanism.size,))


def _answering_all(reports: Reports) -> FeatureMechanism:
    mechanism = reports.mechanism
    assert isinstance(mechanism, FeatureMechanism)
    return mechanism


def _weighed(estimate: Estimate, weights: Numbers) -> Estimate:
    """Rows that answer everything, each column multiplied by its weight; empty rows stay empty."""
    return replace(estimate, values=(estimate.values.reshape(-1, len(weights)) * weights).ravel())
