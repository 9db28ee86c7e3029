"""Classes from labels and graph alone: label propagation, degrees, rates of labels, and blends of such predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphveil.graphs.collective import SINGLE_PROCESS, Collective
from graphveil.learn.targets import Targets, add_up
from graphveil.linear.sparse import SparseMatrix

# A little of the classes' shares goes to everybody, so that a user whom no label reaches has probabilities too.
SHARE_WEIGHT = 1e-3


def training_labels(targets: Targets, classes: int) -> Tensor:
    """The labels of training users as rows (users x classes) with a single 1, or with a 1 for each label that a user has.

    They are zeros for everybody else.
    """
    rows = targets.labels.new_zeros((len(targets.labels), classes)).float()
    if targets.labels.ndim == 2:
        rows[targets.train] = targets.labels[targets.train].float()
        return rows
    rows[targets.train.nonzero().ravel(), targets.labels[targets.train]] = 1
    return rows


def class_shares(labels: Tensor, collective: Collective = SINGLE_PROCESS) -> Tensor:
    """How common each of c classes is among the labels (n x c) of all workers, counted from 1 so that none is impossible."""
    counts = add_up(labels.sum(dim=0), collective) + 1
    return counts / counts.sum()


def spread(labels: Tensor, matrix: SparseMatrix, alpha: float) -> Iterator[Tensor]:
    """Z ← αPZ + (1-α)Y, from Z = Y; yields Z (n x c, as the labels Y) after every hop, without end; P is n x n.

    Source: Zhou et al. (2004), "Learning with local and global consistency". The limit is (1-α)(I-αP)⁻¹Y.
    """
    reached = labels
    while True:
        reached = alpha * (matrix @ reached) + (1 - alpha) * labels
        yield reached


def as_probabilities(reached: Tensor, shares: Tensor) -> Tensor:
    """Labels that have spread (n x c) as probabilities: rows that sum to one, nowhere 0; ``shares`` has c numbers."""
    weights = reached + SHARE_WEIGHT * shares
    return weights / weights.sum(dim=1, keepdim=True)


def with_known(labels: Tensor, train: Tensor) -> Tensor:
    """Rows of training labels (n x L, 0 for all others) and a last column that is 1 for training users: n x (L + 1).

    What spreads of the last column says how many labels have been heard of; what spreads of the others, how many were 1.
    """
    return torch.cat([labels, train.to(labels)[:, None]], dim=1)


def known_rates(known: Tensor) -> Tensor:
    """Which share of training users has each label (L numbers), counted from 1 so that none is impossible or certain."""
    return (known[:, :-1].sum(dim=0) + 1) / (known[:, -1].sum() + 2)


def as_rates(reached: Tensor, rates: Tensor) -> Tensor:
    """Labels that have spread beside those that are known (n x (L + 1)), as probabilities of each label (n x L).

    A little of everybody's rates goes to each user, so that a user whom no label reaches has probabilities too.
    """
    return (reached[:, :-1] + SHARE_WEIGHT * rates) / (reached[:, -1:] + SHARE_WEIGHT)


def degree_rates(known: Tensor, degrees: Tensor) -> Tensor:
    """The rate of each label (n x L) among training users whose degree rounds to the same power of two; see `degree_table`."""
    rows = degree_rows(degrees)
    prior = torch.cat([known_rates(known), known.new_ones(1)])
    table = PRIOR_USERS * prior.repeat(int(rows.max()) + 1, 1)
    table.index_add_(0, rows, known)
    return (table[:, :-1] / table[:, -1:])[rows]


# A row of the table counts as if it had seen so many more users, of all classes in their usual shares.
PRIOR_USERS = 5.0


def degree_rows(degrees: Tensor) -> Tensor:
    """The row of each user in a table by degree: the power of two to which it rounds."""
    return torch.log2(degrees.float() + 1).round().long()


def degree_probabilities(labels: Tensor, degrees: Tensor, collective: Collective = SINGLE_PROCESS) -> Tensor:
    """The shares of the classes among training users whose degree rounds to the same power of two.

    ``labels`` (n x c) are one-hot rows of training users, zeros for all others; ``degrees`` has n numbers. The result is n x c.
    Training users of all workers count.
    """
    rows = degree_rows(degrees)
    highest = int(collective.gather(np.array([int(rows.max()) if len(rows) else 0])).max())
    table = PRIOR_USERS * class_shares(labels, collective).repeat(highest + 1, 1)
    if collective.size == 1:
        table.index_add_(0, rows, labels)
    else:
        table += add_up(torch.zeros_like(table).index_add_(0, rows, labels), collective)
    return (table / table.sum(1, keepdim=True))[rows]


def choose_blend(
    candidates: Mapping[str, NDArray[Any]], quality: Callable[[NDArray[Any]], Any], rounds: int
) -> dict[str, float]:
    """The weight of each chosen candidate (Caruana et al. 2004), from arrays of one shape that ``quality`` judges.

    In each round the candidate is added, again if need be, whose addition makes the mean of all that were added the
    best; of all rounds the best is returned. With one round that is the best candidate alone, and more rounds are never
    worse than that where ``quality`` was measured. Of equals the first is taken.

    >>> near = lambda value: -abs(float(value[0]) - 2)
    >>> choose_blend({"one": np.ones(1), "four": np.full(1, 4.0)}, near, rounds=3)
    {'one': 0.6666666666666666, 'four': 0.3333333333333333}
    """
    added: list[str] = []
    best, chosen = None, dict[str, float]()
    for _ in range(rounds):
        # Judged as they are mixed in the end: rounding could break a tie in another way.
        tried = {name: _shares([*added, name]) for name in candidates}
        reached = {name: quality(mix(candidates, weights)) for name, weights in tried.items()}
        name = max(reached, key=lambda each: reached[each])
        added.append(name)
        if best is None or reached[name] > best:
            best, chosen = reached[name], tried[name]
    return chosen


def mix(candidates: Mapping[str, NDArray[Any]], weights: Mapping[str, float]) -> NDArray[Any]:
    """The weighted mean of the chosen candidates, of the same shape."""
    mean: NDArray[Any] = np.sum([weight * candidates[name] for name, weight in weights.items()], axis=0)
    return mean


def _shares(names: Sequence[str]) -> dict[str, float]:
    """How often each name stands there, as a share."""
    return {name: count / len(names) for name, count in Counter(names).items()}
