"""Scores of how much attributes matter for a task: TOGL's analysis of denoised reports, and others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.linalg import LinearOperator, eigsh
from torch import Tensor
from torch.nn import functional

from graphveil.checks import check_whole
from graphveil.denoise.blocks import propagated_blocks
from graphveil.errors import InputError
from graphveil.learn.inputs import estimate_input
from graphveil.linear.sparse import Device, HopSeries, SparseMatrix
from graphveil.mechanisms import Estimate


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """Labels (n numbers, -1 where unknown), who trains, who validates (n x bool each), and how many classes there are.

    Only labels of these users are ever read; who is in neither group, or has no known label, does not count.
    """

    labels: NDArray[np.int64]
    train: NDArray[np.bool_]
    validation: NDArray[np.bool_]
    class_count: int

    def __post_init__(self) -> None:
        if not len(self.labels) == len(self.train) == len(self.validation):
            raise InputError("labels and masks must be as long as each other")
        used = self.labels[self.train | self.validation]
        if used.size and int(used.max()) >= self.class_count:
            raise InputError(f"labels must be below {self.class_count}, got {int(used.max())}")
        if not self.train_users.size:
            raise InputError("an analysis learns from training users with a known label, and there are none")

    @property
    def train_users(self) -> NDArray[np.int64]:
        """Training users with a known label."""
        return np.flatnonzero(self.train & (self.labels >= 0))

    @property
    def validation_users(self) -> NDArray[np.int64]:
        """Validation users with a known label."""
        return np.flatnonzero(self.validation & (self.labels >= 0))


Numbers = NDArray[np.int64]
# Columns of a block: few enough that a block and its hops stay in the cache.
WIDEST = 32


@dataclass(frozen=True, eq=False)
class DenoisedReports:
    """H = hops @ X (n users x d attributes) for decoded reports X (n x d), the constant offset left out; ``hops`` is n x n.

    Products project before they propagate: H W = hops (X W), Hᵀ V = Xᵀ (hopsᵀ V). What is not linear in H, such as a variance,
    goes through `blocks`.
    """

    estimate: Estimate
    hops: HopSeries
    device: Device = "cpu"

    def __post_init__(self) -> None:
        if self.hops.shape[1] != self.estimate.shape[0]:
            raise InputError(f"the graph has {self.hops.shape[1]} users, {self.estimate.shape[0]} reported")

    @property
    def shape(self) -> tuple[int, int]:
        """Users and attributes."""
        return self.estimate.shape

    def blocks(self, users: Numbers | None = None) -> Iterator[Tensor]:
        """Yield the columns of H in blocks, in order, for some users (in this order) or all.

        The next block overwrites it: room that is taken and given back for each costs more than what is done in it.
        """
        propagated = propagated_blocks(self.estimate, self.hops, self.device, widest=WIDEST)
        if users is None:
            yield from (block for _, _, block in propagated)
            return
        chosen, room = torch.from_numpy(users).to(self.device), torch.empty(0)
        for _, _, block in propagated:
            if room.shape[1:] != block.shape[1:]:
                room = block.new_empty((len(users), block.shape[1]))
            yield torch.index_select(block, 0, chosen, out=room)

    def times(self, weights: Tensor) -> Tensor:
        """H W, for weights W (attributes x columns)."""
        return self.hops @ (self.reports @ weights.to(self.device, torch.float32).contiguous())

    def transposed_times(self, values: Tensor) -> Tensor:
        """Hᵀ V, for values V (users x columns)."""
        arrived = self.hops.transposed @ values.to(self.device, torch.float32).contiguous()
        reports = self.reports
        return (reports.transposed if isinstance(reports, SparseMatrix) else reports.T) @ arrived

    @cached_property
    def reports(self) -> SparseMatrix | Tensor:
        """X: sparse, or dense where the mechanism reports every value."""
        return estimate_input(self.estimate, 1.0, self.device)


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


def fisher_scores(values: DenoisedReports, known: KnownLabels) -> Scores:
    """FDA: the variance between classes over that within them, S_B / (S_W + ς) (TOGL, Eq. 5).

    S_B = Σ_c s_c (μ_c - μ)² and S_W = Σ_c s_c σ²_c, with shares s_c, means μ_c and variances σ²_c of the training users of class c.
    """
    classes, sizes = np.unique(known.labels[known.train_users], return_counts=True)
    of_each = [known.train_users[known.labels[known.train_users] == label] for label in classes]
    shares = torch.from_numpy(sizes / sizes.sum()).to(values.device)
    found: list[tuple[Scores, Scores]] = []
    for block in values.blocks(np.concatenate(of_each)):
        parts = block.split(sizes.tolist())
        means = torch.stack([part.mean(0) for part in parts])
        apart = (part.sub_(mean) for part, mean in zip(parts, means, strict=True))
        spreads = torch.stack([each.square_().mean(0) for each in apart])
        means = means.double()
        between = shares @ (means - shares @ means).square_()
        found.append((between.cpu().numpy(), (shares @ spreads.double()).cpu().numpy()))
    return _fisher(found)


def pair_fisher_scores(values: DenoisedReports, linked: Pairs, unlinked: Pairs) -> Scores:
    """Return FDA scores for links: linked pairs against unlinked ones, by h_u·h_v of their users u, v.

    Only moments of these products are needed, and they are sums along pairs: Σ h_u h_v = Σ_u h_u (Ah)_u, with
    A the matrix of the pairs; likewise with squares.

    Parameters
    ----------
    values
        The denoised reports H: n users x d attributes.
    linked, unlinked
        Pairs of users: (pairs, 2) int64.
    """
    if not (len(linked) and len(unlinked)):
        raise InputError("both linked and unlinked pairs are needed to tell them apart: give some of each")
    groups = []
    for pairs in (linked, unlinked):
        places, shape = (pairs[:, 0], pairs[:, 1]), (values.shape[0],) * 2
        ones = coo_array((np.ones(len(pairs)), places), shape=shape).tocsr()
        groups.append((len(pairs), SparseMatrix.from_scipy(ones, device=values.device)))
    shares = np.array([len(linked), len(unlinked)]) / (len(linked) + len(unlinked))
    found: list[tuple[Scores, Scores]] = []
    room = torch.empty(0)
    for block in values.blocks():
        if room.shape != block.shape:
            room = torch.empty_like(block)
        means = np.stack([_pair_mean(matrix, block, count, room) for count, matrix in groups])
        block.square_()
        second = np.stack([_pair_mean(matrix, block, count, room) for count, matrix in groups])
        within = np.maximum(second - means**2, SINGLE_ROUNDING * second)
        found.append((shares @ (means - shares @ means) ** 2, shares @ within))
    return _fisher(found)


def correlation_scores(
    values: DenoisedReports, target: NDArray[np.float64], users: NDArray[np.int64]
) -> Scores:
    """Return the squared correlation (Pearson) of each attribute with a target, over some users.

    Parameters
    ----------
    values
        The denoised reports: n users x d attributes.
    target
        A number for each of the n users; only those of ``users`` are read.
    users
        The numbers of the users who count.
    """
    aims = torch.from_numpy(np.asarray(target, dtype=np.float64)[users]).to(values.device)
    if not bool(torch.isfinite(aims).all()):
        raise InputError("targets must be finite numbers: leave out users without one")
    level = float(aims.mean())
    aims = aims - level
    spread = float(aims.square().mean())
    if spread <= ROUNDING * level**2:
        return np.zeros(values.shape[1])
    scores: list[Scores] = []
    for block in values.blocks(users):
        rows = block.double()
        means = rows.mean(0)
        rows.sub_(means)
        variances = rows.square().mean(0)
        varies = variances > ROUNDING * means.square()
        shared = (aims @ rows / len(users)).square()
        scale = (variances * spread).where(varies, torch.ones_like(means))
        explained = torch.where(varies, shared / scale, 0)
        scores.append(explained.clamp(max=1).cpu().numpy())
    return np.concatenate(scores)


def principal_scores(values: DenoisedReports, known: KnownLabels) -> Scores:
    """PCA: how much of an attribute's variance the first components hold, as many as there are classes; no label is read.

    Σ_c λ_c v_cj², with the largest eigenvalues λ_c and eigenvectors v_c of the covariance of all users' rows.
    """
    users, features = values.shape
    if known.class_count >= min(values.shape):
        # What all components together come to.
        blocks = (block.double().var(0, correction=0) for block in values.blocks())
        return np.concatenate([variances.cpu().numpy() for variances in blocks])

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


def _fisher(blocks: list[tuple[Scores, Scores]]) -> Scores:
    """FDA scores from the variance between classes and that within them, block by block."""
    between, within = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    smoothing = SMOOTHING * float((between + within).mean())
    if smoothing == 0:
        return np.zeros_like(between)
    return between / (within + smoothing)


def _pair_mean(matrix: SparseMatrix, rows: Tensor, count: int, room: Tensor) -> Scores:
    """The mean over pairs of the product of their rows."""
    means: Scores = matrix.multiply(rows, room).mul_(rows).sum(0).double().cpu().numpy() / count
    return means


BINS = 10


def mutual_information(observed: Scores, expected: Scores) -> Scores:
    """Return the mutual information of class and bin, in nats: Σ p(c, b) log (p(c, b) / p(c) p(b)) over classes c and bins b."""
    ratio = np.divide(observed, expected, out=np.ones_like(observed), where=observed > 0)
    total: Scores = (observed * np.log(ratio)).sum((0, 1)) / observed[..., 0].sum()
    return np.maximum(total, 0)


def chi_square(observed: Scores, expected: Scores) -> Scores:
    """Return Pearson's χ² = Σ (O - E)² / E of classes and bins."""
    squares = (observed - expected) ** 2
    shares: Scores = np.divide(squares, expected, out=np.zeros_like(squares), where=expected > 0)
    return np.asarray(shares.sum((0, 1)))


def table_scores(
    values: DenoisedReports,
    known: KnownLabels,
    statistic: Callable[[Scores, Scores], Scores],
    bins: int = BINS,
) -> Scores:
    """Return a statistic of class and attribute among training users: a score an attribute.

    Parameters
    ----------
    values
        The denoised reports: n users x d attributes.
    known
        The labels that the server knows.
    statistic
        A function of two tables (classes, bins, columns), the one that is observed and the one that independence lets expect.
    bins
        The number of bins of an attribute: see `class_tables`.
    """
    scores: list[Scores] = []
    for observed in class_tables(values, known, bins):
        of_class, of_bin = observed.sum(1, keepdims=True), observed.sum(0, keepdims=True)
        scores.append(statistic(observed, of_class * of_bin / observed[..., 0].sum()))
    return np.concatenate(scores)


def class_tables(values: DenoisedReports, known: KnownLabels, bins: int = BINS) -> Iterator[Scores]:
    """Yield the counts of training users of each block of attributes: (classes, bins, columns) float64.

    Bin k of an attribute ends with its value of rank ⌈nk/bins⌉ among the n training users, that value
    included. So equal values share a bin, and bins can be empty.

    Parameters
    ----------
    values
        The denoised reports: n users x d attributes.
    known
        The labels that the server knows.
    bins
        The number of bins of an attribute.
    """
    check_whole(bins, "bins", least=2)
    users = known.train_users
    ranks = [math.ceil(len(users) * k / bins) - 1 for k in range(1, bins)]
    labels = torch.from_numpy(known.labels[users]).to(values.device)
    # Counts are exact in single precision up to 2^24 users.
    members = functional.one_hot(labels, known.class_count).float()
    everyone = members.sum(0)[:, None]
    is_above = torch.empty(0)
    for block in values.blocks(users):
        if is_above.shape != block.shape:
            is_above, room = torch.empty_like(block), np.empty(tuple(block.shape)[::-1], dtype=np.float32)
        np.copyto(room, block.cpu().numpy().T)
        room.sort(axis=1)
        ends = (torch.from_numpy(room[:, rank].copy()).to(block) for rank in ranks)
        above = [members.T @ torch.gt(block, end, out=is_above) for end in ends]
        counts = torch.stack([everyone.expand_as(above[0]), *above, torch.zeros_like(above[0])], 1)
        yield (counts[:, :-1] - counts[:, 1:]).double().cpu().numpy()


Product = Callable[[Tensor], Tensor]
# The largest eigenvalue of the softmax's second derivative, diag(p) - ppᵀ.
CURVATURE = 0.5
# Power iteration comes from below: so many rounds, and so much on top.
POWER_ROUNDS, POWER_MARGIN = 30, 1.1
# Weights that move by less than this share of the largest have arrived.
ARRIVED = 1e-5


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows H by their products, H W and Hᵀ V, in double precision; and the classes 0..c-1 of the rows, each of them there."""

    times: Product
    transposed_times: Product
    features: int
    labels: Tensor

    @cached_property
    def members(self) -> Tensor:
        """Rows x classes: 1 where a row is of a class."""
        return functional.one_hot(self.labels).double()

    @cached_property
    def step(self) -> float:
        """1/L, L the Lipschitz constant of the gradient for the weights."""
        start = np.random.default_rng(0).standard_normal((self.features, 1))
        vector, size = torch.from_numpy(start).to(self.labels.device), 0.0
        for _ in range(POWER_ROUNDS):
            vector = self.transposed_times(centred(self.times(vector / vector.norm())))
            size = float(vector.norm())
            if size == 0:
                return 1.0
        return len(self.labels) / (CURVATURE * POWER_MARGIN * size)

    @property
    def strongest(self) -> float:
        """The smallest λ at which all weights are 0."""
        shares = self.members.mean(0)
        return float(self.transposed_times(shares - self.members).abs().max()) / len(self.labels)


@dataclass(frozen=True, eq=False)
class LogisticModel:
    """Weights (features x classes), the intercept, and the scores H W of the rows it was fitted to, intercept aside."""

    weights: Tensor
    intercept: Tensor
    scores: Tensor

    def moved(self, other: LogisticModel, share: float) -> LogisticModel:
        """This plus a share of the way from the other to it."""
        return LogisticModel(
            self.weights + share * (self.weights - other.weights),
            self.intercept + share * (self.intercept - other.intercept),
            self.scores + share * (self.scores - other.scores),
        )


def centred(values: Tensor) -> Tensor:
    """Each column less its mean."""
    return values - values.mean(0)


def solve_path(problem: Problem, strengths: Sequence[float], iterations: int) -> Iterator[LogisticModel]:
    """Yield the model of each λ, started from the one before: best from the largest to the smallest.

    Parameters
    ----------
    problem
        The logistic regression to solve.
    strengths
        The values of λ.
    iterations
        Iterations at most, for each.
    """
    shares = problem.members.mean(0)
    empty = torch.zeros(problem.features, len(shares), dtype=torch.float64, device=shares.device)
    model = LogisticModel(empty, shares.log(), torch.zeros_like(problem.members))
    for strength in strengths:
        model = _solve(problem, strength, model, iterations)
        yield LogisticModel(model.weights, model.intercept - model.scores.mean(0), model.scores)


def _solve(problem: Problem, strength: float, model: LogisticModel, iterations: int) -> LogisticModel:
    """FISTA; the intercept here belongs to centred scores."""
    ahead, pace = model, 1.0
    for _ in range(iterations):
        new = _proximal_step(problem, strength, ahead)
        change = new.weights - model.weights
        if float(((ahead.weights - new.weights) * change).sum()) > 0:
            pace = 1.0
        faster = (1 + (1 + 4 * pace**2) ** 0.5) / 2
        ahead, model, pace = new.moved(model, (pace - 1) / faster), new, faster
        if float(change.abs().max()) <= ARRIVED * float(new.weights.abs().max()):
            break
    return model


def _proximal_step(problem: Problem, strength: float, at: LogisticModel) -> LogisticModel:
    """A step down the loss, then a soft threshold for the weights."""
    chances = (centred(at.scores) + at.intercept).softmax(1)
    slopes = (chances - problem.members) / len(problem.labels)
    weights = at.weights - problem.step * problem.transposed_times(centred(slopes))
    weights = functional.softshrink(weights, problem.step * strength)
    return LogisticModel(weights, at.intercept - slopes.sum(0) / CURVATURE, problem.times(weights))


Analysis = Callable[[DenoisedReports, KnownLabels], Scores]
# The strengths that SMA tries: λ_max/2, λ_max/4, … At λ_max itself all weights are 0.
STRENGTHS, ITERATIONS = 8, 60


def sparse_model_scores(
    values: DenoisedReports, known: KnownLabels, strengths: int = STRENGTHS, iterations: int = ITERATIONS
) -> Scores:
    """Return SMA scores: mean |weight| over classes in an L1-penalized logistic regression (TOGL, Eq. 7).

    It learns from training users; the strength of the penalty, λ_max/2^k for k = 1, 2, …, is the one with the
    lowest loss on validation users. A class without training users has no weights.

    Parameters
    ----------
    values
        The denoised reports: n users x d attributes.
    known
        The labels that the server knows.
    strengths
        The number of strengths that are tried.
    iterations
        Iterations at most, for each.
    """
    classes, labels = np.unique(known.labels[known.train_users], return_inverse=True)
    judges = known.validation_users[np.isin(known.labels[known.validation_users], classes)]
    if not judges.size:
        raise InputError("sma needs validation users with labels that are trained: give some, or take fda")
    if len(classes) == 1:
        return np.zeros(values.shape[1])
    problem = _training_rows(values, known.train_users, labels)
    strongest = problem.strongest
    if strongest == 0:
        return np.zeros(values.shape[1])
    rows = torch.from_numpy(judges).to(values.device)
    aims = torch.from_numpy(np.searchsorted(classes, known.labels[judges])).to(values.device)

    def loss(model: LogisticModel) -> float:
        scores = values.times(model.weights)[rows].double() + model.intercept
        return float(functional.cross_entropy(scores, aims))

    best = min(solve_path(problem, [strongest / 2**k for k in range(1, strengths + 1)], iterations), key=loss)
    importance: Scores = best.weights.abs().sum(1).cpu().numpy() / known.class_count
    return importance


def combined_scores(parts: Sequence[tuple[Scores, float]]) -> Scores:
    """The weighted mean of several scores, each scaled to the sum 1 first: for several tasks at once.

    >>> combined_scores([(np.array([1.0, 3.0]), 1.0), (np.array([2.0, 0.0]), 1.0)]).tolist()
    [0.625, 0.375]
    """
    total = sum(weight for _, weight in parts)
    if not parts or total <= 0 or any(weight < 0 for _, weight in parts):
        raise InputError("weights of scores must be at least 0, and one of them above 0")
    # Scores that are all 0 stay so.
    shares = [weight / total * (scores / (float(scores.sum()) or 1.0)) for scores, weight in parts]
    return np.asarray(np.sum(shares, axis=0))


ANALYSES: dict[str, Analysis] = {
    "fda": fisher_scores,
    "sma": sparse_model_scores,
    "mutual-information": partial(table_scores, statistic=mutual_information),
    "chi-square": partial(table_scores, statistic=chi_square),
    "pca": principal_scores,
}


def _training_rows(values: DenoisedReports, users: NDArray[np.int64], labels: NDArray[np.int64]) -> Problem:
    """The denoised rows of some users, by their products."""
    chosen = torch.from_numpy(users).to(values.device)

    def transposed_times(given: Tensor) -> Tensor:
        everyone = torch.zeros((values.shape[0], given.shape[1]), device=values.device)
        everyone[chosen] = given.float()
        return values.transposed_times(everyone).double()

    return Problem(
        lambda weights: values.times(weights)[chosen].double(),
        transposed_times,
        values.shape[1],
        torch.from_numpy(labels.astype(np.int64)).to(values.device),
    )
