"""Scores of attributes from means and variances: Fisher's, correlation, principal components.

Each gives d scores for denoised values of n users x d attributes. Pairs are m x 2 numbers of users.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.linalg import LinearOperator, eigsh
from torch import Tensor

from graphveil.errors import InputError
from graphveil.learn.denoised import Denoised
from graphveil.learn.known import Known
from graphveil.linear.sparse import SparseMatrix

Scores = NDArray[np.float64]
Pairs = NDArray[np.int64]
# ς of TOGL's Eq. 5, as a share of the mean variance of an attribute: far above rounding, far below any signal.
SMOOTHING = 1e-6
# A variance below this share of the squared mean is rounding: the attribute is constant.
ROUNDING = 1e-10
# The same for what is summed up in single precision.
SINGLE_ROUNDING = 1e-6
# How exactly ARPACK finds a component: products are in single precision.
COMPONENT_TOLERANCE = 1e-6


def fisher_scores(values: Denoised, known: Known) -> Scores:
    """FDA: the variance between classes over that within them, S_B / (S_W + ς) (TOGL, Eq. 5).

    S_B = Σ_c s_c (μ_c - μ)² and S_W = Σ_c s_c σ²_c, with shares s_c, means μ_c and variances σ²_c of the training users of class c.
    """
    classes, sizes = np.unique(known.labels[known.train_users], return_counts=True)
    of_each = [known.train_users[known.labels[known.train_users] == label] for label in classes]
    shares = torch.from_numpy(sizes / sizes.sum()).to(values.device)
    between, within = np.zeros(values.shape[1]), np.zeros(values.shape[1])
    for first, block in values.blocks(np.concatenate(of_each)):
        parts = block.split(sizes.tolist())
        means = torch.stack([part.mean(0) for part in parts])
        spreads = torch.stack(
            [part.sub_(mean).square_().mean(0) for part, mean in zip(parts, means, strict=True)]
        )
        means = means.double()
        here = slice(first, first + block.shape[1])
        between[here] = (shares @ (means - shares @ means).square_()).cpu().numpy()
        within[here] = (shares @ spreads.double()).cpu().numpy()
    return _fisher(between, within)


def pair_fisher_scores(values: Denoised, linked: Pairs, unlinked: Pairs) -> Scores:
    """FDA for links: pairs that are linked against pairs that are not, a pair's value being h_u·h_v for its users u, v.

    Only moments of these products are needed, and they are sums along pairs: Σ h_u h_v = Σ_u h_u (Ah)_u, with A the matrix
    of the pairs; likewise with squares.
    """
    if not (len(linked) and len(unlinked)):
        raise InputError("both linked and unlinked pairs are needed to tell them apart: give some of each")
    groups = [(len(pairs), _pair_matrix(pairs, values)) for pairs in (linked, unlinked)]
    shares = np.array([len(linked), len(unlinked)]) / (len(linked) + len(unlinked))
    between, within = np.zeros(values.shape[1]), np.zeros(values.shape[1])
    room = torch.empty(0)
    for first, block in values.blocks():
        if room.shape != block.shape:
            room = torch.empty_like(block)
        means = np.stack([_pair_mean(matrix, block, count, room) for count, matrix in groups])
        block.square_()
        second = np.stack([_pair_mean(matrix, block, count, room) for count, matrix in groups])
        here = slice(first, first + block.shape[1])
        between[here] = shares @ (means - shares @ means) ** 2
        within[here] = shares @ np.maximum(second - means**2, SINGLE_ROUNDING * second)
    return _fisher(between, within)


def correlation_scores(values: Denoised, target: NDArray[np.float64], users: NDArray[np.int64]) -> Scores:
    """The squared correlation (Pearson) of each attribute with a target, over the users given (by number).

    ``target`` has one number a user of all; only those of ``users`` are read.
    """
    aims = torch.from_numpy(np.asarray(target, dtype=np.float64)[users]).to(values.device)
    if not bool(torch.isfinite(aims).all()):
        raise InputError("targets must be finite numbers: leave out users without one")
    level = float(aims.mean())
    aims = aims - level
    spread = float(aims.square().mean())
    scores = np.zeros(values.shape[1])
    if spread <= ROUNDING * level**2:
        return scores
    for first, block in values.blocks(users):
        rows = block.double()
        means = rows.mean(0)
        rows.sub_(means)
        variances = rows.square().mean(0)
        varies = variances > ROUNDING * means.square()
        shared = (aims @ rows / len(users)).square()
        explained = torch.where(
            varies, shared / (variances * spread).where(varies, torch.ones_like(means)), 0
        )
        scores[first : first + rows.shape[1]] = explained.clamp(max=1).cpu().numpy()
    return scores


def principal_scores(values: Denoised, known: Known) -> Scores:
    """PCA: how much of an attribute's variance the first components hold, as many as there are classes; no label is read.

    Σ_c λ_c v_cj², with the largest eigenvalues λ_c and eigenvectors v_c of the covariance of all users' rows.
    """
    users, features = values.shape
    if known.class_count >= min(values.shape):
        return _variances(values)

    def covariance(vector: NDArray[np.float64]) -> NDArray[np.float64]:
        scores = values.times(torch.from_numpy(vector).reshape(-1, 1)).double()
        back = values.transposed_times(scores - scores.mean(0)).double()
        product: NDArray[np.float64] = back.ravel().cpu().numpy() / users
        return product

    start = np.random.default_rng(0).standard_normal(features)
    if not covariance(start).any():
        return np.zeros(features)
    operator = LinearOperator((features, features), matvec=covariance, dtype=np.float64)
    sizes, components = eigsh(operator, known.class_count, v0=start, tol=COMPONENT_TOLERANCE)
    scores: Scores = np.square(components) @ np.maximum(sizes, 0)
    return scores


def _fisher(between: Scores, within: Scores) -> Scores:
    smoothing = SMOOTHING * float((between + within).mean())
    if smoothing == 0:
        return np.zeros_like(between)
    return between / (within + smoothing)


def _variances(values: Denoised) -> Scores:
    """What all components together come to."""
    variances = [block.double().var(0, correction=0).cpu().numpy() for _, block in values.blocks()]
    return np.concatenate(variances)


def _pair_matrix(pairs: Pairs, values: Denoised) -> SparseMatrix:
    """The matrix with 1 at every pair."""
    users = values.shape[0]
    matrix = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(users, users)).tocsr()
    return SparseMatrix.from_csr(
        matrix.indptr, matrix.indices, matrix.data, (users, users), device=values.device
    )


def _pair_mean(matrix: SparseMatrix, rows: Tensor, count: int, room: Tensor) -> Scores:
    """The mean over pairs of the product of their rows."""
    means: Scores = matrix.multiply(rows, room).mul_(rows).sum(0).double().cpu().numpy() / count
    return means
