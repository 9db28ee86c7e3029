"""The rows of neighbours that other workers hold: they come in trips, and while some travel, others are multiplied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from graphveil.graphs.part import GraphPart, rows_of_one
from graphveil.graphs.world import Posted, World


class Halo:
    """Whose rows this worker needs, and who needs its own: found once, then every product sends those rows alone.

    Rows travel some at a time (`graphveil.graphs.part.trips_of`), so that there is never room for all of them. ``asked`` are the rows that
    each worker asks for, by their place among this part's users. ``exchanges`` counts how often all rows were fetched.
    """

    def __init__(self, part: GraphPart) -> None:
        self.world: World = part.world
        owners = np.searchsorted(part.bounds, part.halo, side="right") - 1
        wanted = [part.halo[owners == peer] for peer in range(self.world.size)]
        self._needed = [len(numbers) for numbers in wanted]
        self.asked = [
            torch.from_numpy((numbers - part.first).astype(np.int32)) for numbers in self.world.swap(wanted)
        ]
        self._at_once = rows_of_one(self.world.size)
        self.exchanges = 0

    @property
    def sent_rows(self) -> int:
        """How many rows this worker sends before a product: a row counts once for each worker that needs it."""
        return sum(len(rows) for rows in self.asked)

    @property
    def trip_count(self) -> int:
        """How many trips there are in which something comes here or leaves."""
        return -(-max(*self._needed, *map(len, self.asked)) // self._at_once)

    def trips(self, dense: Tensor) -> Iterator[Fetched]:
        """Exchange rows (n x …): what comes in each trip, in the order of ``part.halo``. When one is given out, the next is on its way too.

        Whoever wants the rows waits for them. Room for them is taken for each trip: afterwards it is free for others.
        """
        self.exchanges += 1
        count = self.trip_count
        following = self._post(dense, 0) if count else None
        for trip in range(count):
            coming, following = following, self._post(dense, trip + 1) if trip + 1 < count else None
            assert coming is not None
            yield coming
            coming = None

    def _post(self, dense: Tensor, trip: int) -> Fetched:
        begin, end = trip * self._at_once, (trip + 1) * self._at_once
        sent = [dense.index_select(0, rows[begin:end]) for rows in self.asked]
        sizes = [max(min(count, end) - begin, 0) for count in self._needed]
        room = dense.new_empty((sum(sizes), *dense.shape[1:]))
        return Fetched(room, self.world.post(sent, room.split(sizes)))


@dataclass(frozen=True)
class Fetched:
    """Rows that are on their way."""

    room: Tensor
    posted: Posted

    def rows(self) -> Tensor:
        """The rows, when they are here."""
        self.posted.wait()
        return self.room


def halo_of(part: GraphPart) -> Halo:
    """How rows are fetched for a part, found out when it is first asked."""
    if "halo" not in part.made:
        part.made["halo"] = Halo(part)
    halo: Halo = part.made["halo"]
    return halo
