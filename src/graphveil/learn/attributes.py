"""Which attributes matter for a task: TOGL's analysis of denoised reports, and what it is compared with.

Every analysis gives d scores, one an attribute, at least 0 and finite; the higher, the more it matters. Reports and labels are
what the server has anyway, so that an analysis costs no budget.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from graphveil.errors import InputError
from graphveil.learn.class_tables import chi_square_scores, mutual_information_scores
from graphveil.learn.denoised import Denoised
from graphveil.learn.known import Known
from graphveil.learn.moments import correlation_scores, fisher_scores, pair_fisher_scores, principal_scores
from graphveil.learn.sparse_logistic import Problem, solve_path

__all__ = [
    "ANALYSES",
    "Analysis",
    "Denoised",
    "Known",
    "Scores",
    "chi_square_scores",
    "combined_scores",
    "correlation_scores",
    "fisher_scores",
    "mutual_information_scores",
    "pair_fisher_scores",
    "principal_scores",
    "sparse_model_scores",
]

Scores = NDArray[np.float64]
Analysis = Callable[[Denoised, Known], Scores]
# The strengths that SMA tries: λ_max/2, λ_max/4, … At λ_max itself all weights are 0.
STRENGTHS, ITERATIONS = 8, 60


def sparse_model_scores(
    values: Denoised, known: Known, strengths: int = STRENGTHS, iterations: int = ITERATIONS
) -> Scores:
    """SMA: the mean over classes of |weight| in a logistic regression with an L1 penalty (TOGL, Eq. 7).

    It learns from training users; the strength of the penalty, λ_max/2^k for k = 1, 2, …, is the one with the lowest loss
    on validation users. A class without training users has no weights.
    """
    classes, labels = np.unique(known.labels[known.train_users], return_inverse=True)
    judges = known.validation_users[np.isin(known.labels[known.validation_users], classes)]
    if not judges.size:
        raise InputError(
            "sma chooses its penalty on validation users, and none has a label that training users have: "
            "give some, or take fda"
        )
    if len(classes) == 1:
        return np.zeros(values.shape[1])
    problem = _training_rows(values, known.train_users, labels)
    strongest = problem.strongest
    if strongest == 0:
        return np.zeros(values.shape[1])
    rows = torch.from_numpy(judges).to(values.device)
    aims = torch.from_numpy(np.searchsorted(classes, known.labels[judges])).to(values.device)
    best, lowest = None, np.inf
    for model in solve_path(problem, [strongest / 2**k for k in range(1, strengths + 1)], iterations):
        scores = values.times(model.weights)[rows].double() + model.intercept
        loss = float(functional.cross_entropy(scores, aims))
        if best is None or loss < lowest:
            best, lowest = model, loss
    assert best is not None
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
    mean: Scores = np.sum([weight / total * _to_sum_one(scores) for scores, weight in parts], axis=0)
    return mean


ANALYSES: dict[str, Analysis] = {
    "fda": fisher_scores,
    "sma": sparse_model_scores,
    "mutual-information": mutual_information_scores,
    "chi-square": chi_square_scores,
    "pca": principal_scores,
}


def _to_sum_one(scores: Scores) -> Scores:
    """Scores as shares of their sum; all of them 0 stay so."""
    total = float(scores.sum())
    return scores / total if total else scores


def _training_rows(values: Denoised, users: NDArray[np.int64], labels: NDArray[np.int64]) -> Problem:
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
