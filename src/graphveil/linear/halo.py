"""The rows of neighbours that other workers hold: fetched before a product, while the own part is multiplied."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from graphveil.graphs.part import GraphPart
from graphveil.graphs.world import Posted, World


class Halo:
    """Whose rows this worker needs, and who needs its own: found once, then every product sends those rows alone.

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

    @property
    def sent_rows(self) -> int:
        """How many rows this worker sends before a product: a row counts once for each worker that needs it."""
        return sum(len(rows) for rows in self.asked)

    def fetch(self, dense: Tensor) -> Fetched:
        """Begin to exchange rows (n x …): whoever waits for the result gets the rows of all ``part.halo``.

        Room for them is taken for each exchange: between two of them it is free for others.
        """
        sent = [dense[rows] for rows in self.asked]
        room = dense.new_empty((self.rows, *dense.shape[1:]))
        return Fetched(room, self.world.post(sent, room.split(self.needed)))


@dataclass(frozen=True)
class Fetched:
    """Rows that are on their way."""

    room: Tensor
    posted: Posted

    def rows(self) -> Tensor:
        """The rows, when they are here."""
        self.posted.wait()
        return self.room
