"""The input of a backbone: reports of one or several rounds, or raw features, sparse where they are sparse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from graphveil.errors import InputError
from graphveil.linear.sparse import Composition, Device, HopSeries, Input, Scaled, SparseMatrix
from graphveil.mechanisms import Estimate, FeatureMechanism, Mechanism, Reports
from graphveil.mechanisms.base import row_mechanism
from graphveil.mechanisms.features import ValueMechanism, value_mechanism
from graphveil.settings import available_gigabytes

Floats = NDArray[np.float64]


def tensor(array: NDArray[Any], device: Device = "cpu") -> Tensor:
    """A copy of an array on a device, of the same shape and type."""
    return torch.tensor(array, device=device)


# Rows of the input get the expected norm √d/8, chosen on validation users of cora, citeseer, facebook and town with
# multibit, piecewise, square-wave and hds. It is not the best everywhere, so that training tries larger ones too (`best_scale`).
ROW_NORM_SHARE = 1 / 8


def report_input(
    reports: Reports, share: float = ROW_NORM_SHARE, device: Device = "cpu", max_memory: float | None = None
) -> SparseMatrix | Tensor:
    """Return decoded reports as an input (n users x d features), whose rows have a known expected norm.

    Parameters
    ----------
    share
        Rows have the norm ``share``·√d in expectation.
    max_memory
        The allowed gigabytes, where the mechanism reports every value and the input is dense.
    """
    mechanism = reports.mechanism
    scale = report_scale(mechanism, share)
    return estimate_input(reports.estimate(), scale, device, max_memory, mechanism.name)


def report_scale(mechanism: Mechanism, share: float = ROW_NORM_SHARE) -> float:
    """Return the factor of estimates with which a row has the norm ``share``·√d in expectation.

    It comes from the mechanism alone: the root mean square of one entry, and how many entries a row has.
    """
    norm = share * math.sqrt(mechanism.shape.dimensions)
    return norm / (row_mechanism(mechanism).spread * math.sqrt(mechanism.shape.length))


def estimate_input(
    estimate: Estimate,
    scale: float,
    device: Device = "cpu",
    max_memory: float | None = None,
    name: str = "a mechanism",
) -> SparseMatrix | Tensor:
    """Return estimates times ``scale`` as an input (n x d), sparse where they are sparse.

    The constant offset of the estimate (the middle of the range everywhere) is left out; a backbone's bias
    can make up for it. Entries that are 0 are not kept.

    Parameters
    ----------
    estimate
        The estimates: n x d.
    scale
        The factor.
    max_memory
        The allowed gigabytes of a dense input.
    name
        The name of the mechanism, for errors.
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


def raw_input(features: Any, device: Device = "cpu") -> SparseMatrix | Tensor:
    """Raw features (n x d) as they are: a sparse matrix stays sparse. Only for a method that claims no privacy."""
    if hasattr(features, "tocsr"):
        matrix = features.tocsr()
        return SparseMatrix.from_scipy(
            matrix if matrix.has_sorted_indices else matrix.sorted_indices(), device=device
        )
    return torch.from_numpy(np.ascontiguousarray(features, dtype=np.float32)).to(device)


def refuse_above(
    max_memory: float | None,
    shape: tuple[int, int],
    what: str,
    instead: str = "take a mechanism that samples",
) -> None:
    """Refuse a dense float32 matrix of this shape above an allowed size.

    Parameters
    ----------
    max_memory
        The allowed gigabytes; by default what the machine has left.
    what, instead
        The beginning and the end of the error.
    """
    size = shape[0] * shape[1] * 4 / 1e9
    allowed = available_gigabytes() if max_memory is None else max_memory
    if size > allowed:
        limit = "that this machine has left" if max_memory is None else "allowed"
        taken = f"{shape[0]} x {shape[1]} numbers, {size:.1f} GB, above the {allowed:.3g} GB {limit}"
        raise InputError(f"{what} is a dense matrix of {taken}: allow more with --max-memory, or {instead}")


# What an entry of a sparse matrix costs for each column that it is multiplied with, and what a number of a dense one costs, in
# nanoseconds: about what one machine took with 16 columns. They are constants and not measured anew, so that the same command takes
# the same way everywhere.
SPARSE_COST, DENSE_COST = 0.05, 0.03


def before_training(inputs: Input, epochs: int, hidden: int, max_memory: float | None = None) -> Input:
    """Return the input with its hops multiplied out, dense, where that is less work than hops in each epoch.

    With K hops over m entries and a dense input of n x d numbers, hops in each epoch take 2·K·m·h products, there and back
    for h hidden columns; multiplied out once, they take K·m·d before the first epoch, and 2·n·d·h in each.

    Parameters
    ----------
    inputs
        (n, d).
    epochs
        How many epochs there may be.
    hidden
        The number of columns h that the first weights have.
    max_memory
        The allowed gigabytes of the dense matrix.
    """
    if not isinstance(inputs, Composition) or isinstance(inputs.inner, Composition | Scaled):
        return inputs
    outer, inner = inputs.outer, inputs.inner
    matrix, hops = (outer.matrix, outer.degree) if isinstance(outer, HopSeries) else (outer, 1)
    users, columns = inputs.shape
    steps = hops * matrix.entry_count * SPARSE_COST
    dense = users * columns * DENSE_COST
    own = dense if isinstance(inner, Tensor) else inner.entry_count * SPARSE_COST
    multiplied = 2 * epochs * hidden
    if not matrix.whole or steps * columns + multiplied * dense >= multiplied * (steps + own):
        return inputs
    allowed = available_gigabytes() / 2 if max_memory is None else max_memory
    return inputs.to_dense() if users * columns * 4 / 1e9 <= allowed else inputs


# precision: an attribute's column is as large as it is precise. unbiased: all columns are estimates in the same unit.
Columns = Literal["precision", "unbiased"]


def precisions(mechanisms: Sequence[ValueMechanism]) -> list[Floats]:
    """For each round the inverse variance of every attribute's estimate, up to one factor: π_j/v."""
    return [mechanism.asking.inclusion / mechanism.answer_square for mechanism in mechanisms]


def rounds_input(
    rounds: Sequence[Reports], share: float, columns: Columns = "precision", device: Device = "cpu"
) -> SparseMatrix:
    """Return estimates of several rounds, weighted by their inverse variances and added; sparse, n x d.

    x̂_j = Σ_r a_rj x̂_rj / Σ_r a_rj with a_rj = π_rj/v_r. An attribute that is hardly ever asked has an
    estimate with a large variance; as a column of an input it would be the loudest.

    Parameters
    ----------
    rounds
        The reports of each round: n users x d attributes.
    share
        Rows have the norm ``share``·√d in expectation, by public constants alone and as if rounds asked for
        different values: where they ask for the same ones, rows are a little longer.
    columns
        With "precision" the columns stay multiplied by Σ_r a_rj: each answer then counts 1/v_r, however
        rarely it was asked for.
    """
    targets = [value_mechanism(reports.mechanism) for reports in rounds]
    weights = precisions(targets)
    if columns == "unbiased":
        total = np.sum(weights, axis=0)
        weights = [weight / np.maximum(total, 1e-300) for weight in weights]
    expected = sum(map(_norm_square, targets, weights))
    scale = share * math.sqrt(targets[0].shape.dimensions) / math.sqrt(expected)
    estimates = (reports.estimate() for reports in rounds)
    first, *others = (_weighed(each, scale * weight) for each, weight in zip(estimates, weights, strict=True))
    whole = sum(others, start=first)
    whole.sort_indices()
    return SparseMatrix.from_scipy(whole, device=device)


def _norm_square(mechanism: ValueMechanism, weights: Floats) -> float:
    """The expected square of the norm of a row of estimates, whose attributes are multiplied by these weights."""
    asking = mechanism.asking
    squares = asking.inclusion * asking.factors**2
    expected = mechanism.spread**2 * mechanism.shape.length
    return float(expected * (squares * weights**2).sum() / squares.sum())


def _weighed(estimate: Estimate, weights: Floats) -> Any:
    """The entries of an estimate multiplied by the weight of their attribute: a scipy matrix."""
    matrix = estimate.to_scipy()
    matrix.data = matrix.data * weights[matrix.indices]
    return matrix


def divided_input(
    reports: Reports,
    places: NDArray[np.int64],
    share: float,
    *,
    by_precision: bool,
    device: Device = "cpu",
    max_memory: float | None = None,
) -> SparseMatrix | Tensor:
    """Return decoded answers about some attributes as an input: n users x places.

    Silent users have empty rows.

    Parameters
    ----------
    places
        The attributes that are kept.
    share
        Rows have the norm ``share``·√d in expectation, by public constants alone.
    by_precision
        Whether to divide a column by its mean square v: an unbiased estimate at a small budget is large
        because it is noisy, and would be the loudest column.
    max_memory
        The allowed gigabytes of a dense input.
    """
    mechanism = reports.mechanism
    assert isinstance(mechanism, FeatureMechanism)
    squares = answer_squares(mechanism)[places]
    weights = 1 / squares if by_precision else np.ones(len(places))
    estimate = _weighed_columns(mechanism.only(reports, places).estimate(), weights)
    scale = share * math.sqrt(mechanism.size / float((weights**2 * squares).sum()))
    return estimate_input(estimate, scale, device, max_memory, mechanism.name)


def joined_input(
    first: Reports, reports: Reports, places: NDArray[np.int64], share: float, device: Device = "cpu"
) -> SparseMatrix:
    """Add the estimates of a round that sampled values and of one that divided its budget; sparse, n x d.

    Each estimate counts by its precision, as in `rounds_input`: π_j/v of the first, 1/v_j of the other. Both
    must be unbiased.

    Parameters
    ----------
    first
        The reports of the round that asked for some of the values.
    reports
        The reports of the round that divided its budget.
    places
        The attributes that are taken of ``reports``.
    share
        Rows have the norm ``share``·√d in expectation.
    """
    mechanism, before = reports.mechanism, value_mechanism(first.mechanism)
    assert isinstance(mechanism, FeatureMechanism)
    squares, weights = answer_squares(mechanism)[places], precisions([before])[0]
    kept = _weighed_columns(mechanism.only(reports, places).estimate(), 1 / squares)
    named = np.tile(places.astype(np.int32), len(kept.values) // len(places))
    whole = (
        _weighed(first.estimate(), weights)
        + replace(kept, shape=(kept.shape[0], mechanism.size), indices=named).to_scipy()
    )
    whole.sort_indices()
    expected = float(before.spread**2 * before.shape.length * (weights**2).mean() + (1 / squares).sum())
    scale = share * math.sqrt(mechanism.size / expected)
    return SparseMatrix.from_csr(whole.indptr, whole.indices, scale * whole.data, whole.shape, device=device)


def answer_squares(mechanism: FeatureMechanism) -> Floats:
    """v of every dimension: the mean square of its answer, all inputs equally likely, in the units of a value; public."""
    known = {channel: channel.root_mean_square**2 for channel in set(mechanism.channels)}
    squares = np.array([known[channel] for channel in mechanism.channels])
    unit = (mechanism.public.half_width * mechanism.scale) ** 2
    return np.broadcast_to(unit * squares, (mechanism.size,))


def _weighed_columns(estimate: Estimate, weights: Floats) -> Estimate:
    """Rows that answer everything, each column multiplied by its weight; empty rows stay empty."""
    return replace(estimate, values=(estimate.values.reshape(-1, len(weights)) * weights).ravel())
