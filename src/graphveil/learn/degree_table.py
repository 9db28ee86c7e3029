"""Which class users of about the same degree have: the least that a graph can tell."""

from __future__ import annotations

import torch
from torch import Tensor

from graphveil.learn.label_propagation import class_shares

# A row of the table counts as if it had seen so many more users, of all classes in their usual shares.
PRIOR_USERS = 5.0


def degree_rows(degrees: Tensor) -> Tensor:
    """The row of each user in a table by degree: the power of two to which it rounds."""
    return torch.log2(degrees.float() + 1).round().long()


def degree_probabilities(labels: Tensor, degrees: Tensor) -> Tensor:
    """The shares of the classes among training users whose degree rounds to the same power of two.

    ``labels`` (n x c) are one-hot rows of training users, zeros for all others; ``degrees`` has n numbers. The result is n x c.
    """
    rows = degree_rows(degrees)
    table = PRIOR_USERS * class_shares(labels).repeat(int(rows.max()) + 1, 1)
    table.index_add_(0, rows, labels)
    return (table / table.sum(1, keepdim=True))[rows]
