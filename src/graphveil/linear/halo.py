"""The rows of neighbours that other workers hold: fetched where each of them is looked at, and not only their sum."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from graphveil.graphs.part import GraphPart
from graphveil.graphs.world import World


class Halo:
    """Whose rows this worker needs, and who needs its own: found once, then those rows alone are sent.

    ``needed`` says how many rows come from each worker, in the order of ``part.halo``; ``asked`` are the rows that each worker
    asks for, by their place among this part's users.
    """

    def __init__(self, part: GraphPart) -> None:
        self.world: World = part.world
        cuts = np.searchsorted(part.halo, part.bounds)
        wanted = [part.halo[cuts[peer] : cuts[peer + 1]] for peer in range(self.world.size)]
        self.needed = [len(numbers) for numbers in wanted]
        asked = self.world.swap(wanted)
        self.asked = [torch.from_numpy(numbers - part.first) for numbers in asked]
        self.rows = len(part.halo)

    def fetch(self, dense: Tensor) -> Tensor:
        """The rows of all ``part.halo``, for those of this part's users (n x …)."""
        sent = [dense[rows] for rows in self.asked]
        room = dense.new_empty((self.rows, *dense.shape[1:]))
        self.world.post(sent, room.split(self.needed)).wait()
        return room
