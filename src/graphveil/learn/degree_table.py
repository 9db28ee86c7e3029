"""Which class users of about the same degree have: the least that a graph can tell."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from graphveil.graphs.world import ALONE, World
from graphveil.learn.label_propagation import class_shares
from graphveil.learn.targets import add_up

# A row of the table counts as if it had seen so many more users, of all classes in their usual shares.
PRIOR_USERS = 5.0


def degree_rows(degrees: Tensor) -> Tensor:
    """The row of each user in a table by degree: the power of two to which it rounds."""
    return torch.log2(degrees.float() + 1).round().long()


def degree_probabilities(labels: Tensor, degrees: Tensor, world: World = ALONE) -> Tensor:
    """The shares of the classes among training users whose degree rounds to the same power of two.

    ``labels`` (n x c) are one-hot rows of training users, zeros for all others; ``degrees`` has n numbers. The result is n x c.
    Training users of all workers count.
    """
    rows = degree_rows(degrees)
    highest = int(world.gather(np.array([int(rows.max()) if len(rows) else 0])).max())
    table = PRIOR_USERS * class_shares(labels, world).repeat(highest + 1, 1)
    if world.size == 1:
        table.index_add_(0, rows, labels)
    else:
        table += add_up(torch.zeros_like(table).index_add_(0, rows, labels), world)
    return (table / table.sum(1, keepdim=True))[rows]
