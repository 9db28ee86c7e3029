"""How common each of several labels is: among all training users, among those nearby, among those of the same degree."""

from __future__ import annotations

import torch
from torch import Tensor

from graphveil.learn.degree_table import PRIOR_USERS, degree_rows
from graphveil.learn.label_propagation import SHARE_WEIGHT


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
