"""What the users of one worker add to the rows of another's: sums are passed on, for some users at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphveil.graphs.part import GraphPart
from graphveil.graphs.world import Posted
from graphveil.linear.sparse import csr_tensor

# Users of each worker for whom sums come in one round. A town of a million sends 16 messages of 1.5 MB for a hop of two workers; with four
# times as many messages that hop takes half as long again.
USERS_A_ROUND = 1 << 15
# Room for sums that is kept from round to round, in bytes: asking the system for it each time takes longer than to fill it.
KEPT = 1 << 22


class Passing:
    """Sums over neighbours who are with other workers.

    Links lead both ways: users here are among the neighbours of whoever they have elsewhere (``part.halo``). So a worker sums up their rows
    for each of those, and sends the sums to where those are. That are as many rows as if everybody fetched neighbours' rows, but a worker has
    room for those of two rounds, and never for all. Round by round everybody gets the sums for its next users; all make as many ``rounds``.
    """

    def __init__(self, part: GraphPart) -> None:
        assert part.far is not None
        self._world, self._far, self._users = part.world, part.far, part.node_count
        self._neighbours = torch.from_numpy(np.require(part.far.indices, np.int32, "W"))
        sizes = np.diff(part.bounds)
        self.rounds = -(-int(sizes.max()) // USERS_A_ROUND) if part.world.size > 1 else 0
        steps = np.minimum(np.arange(self.rounds + 1)[:, None] * USERS_A_ROUND, sizes)
        # Where those of a round begin among all who are elsewhere: rounds + 1 x workers.
        self._cuts = np.searchsorted(part.halo, part.bounds[:-1] + steps)
        owned = np.searchsorted(part.halo, part.bounds)
        told = part.world.swap([part.halo[owned[peer] : owned[peer + 1]] for peer in range(part.world.size)])
        summed = [numbers - part.first for numbers in told]
        self._rounds = [_Round.of(summed, int(each[part.world.rank]), USERS_A_ROUND) for each in steps[:-1]]
        self._ones: dict[torch.dtype, Tensor] = {}
        self._kept: dict[tuple[int, int], Tensor] = {}

    def sums(self, dense: Tensor) -> Iterator[Sums]:
        """The sums of each round, from the rows of this worker's users (n x k). When some are given out, the next are on their way too.

        They are to be added before the next are asked for, which take their room.
        """
        following = self._post(dense, 0) if self.rounds else None
        for number in range(self.rounds):
            coming, following = following, self._post(dense, number + 1) if number + 1 < self.rounds else None
            assert coming is not None
            yield coming

    def _post(self, dense: Tensor, number: int) -> Sums:
        taken, turn = self._rounds[number], number % 2
        sent = []
        for peer, begin in enumerate(self._cuts[number].tolist()):
            room = self._room((turn, peer), self._cuts[number + 1, peer] - begin, dense)
            self._sum_up(dense, begin, room)
            sent.append(room)
        room = self._room((turn, self._world.rank), sum(taken.counts), dense)
        posted = self._world.post(sent, room.split(taken.counts))
        return Sums(taken, room, posted, self._some_ones(len(taken.places), dense.dtype))

    def _sum_up(self, dense: Tensor, begin: int, into: Tensor) -> None:
        """What this worker's users add up to for some of those who are elsewhere, from place ``begin`` on."""
        if len(into):
            starts = self._far.indptr[begin : begin + len(into) + 1]
            neighbours = self._neighbours[starts[0] : starts[-1]]
            ones = self._some_ones(len(neighbours), dense.dtype)
            shape = len(into), self._users
            links = csr_tensor(starts - starts[0], neighbours, ones, shape, trusted=True)
            torch.addmm(into, links, dense, beta=0, out=into)

    def _room(self, which: tuple[int, int], rows: int, like: Tensor) -> Tensor:
        """Room for some rows: what is kept for one of two turns and a worker, if it is no more than that."""
        size = int(rows) * like.shape[1] * like.element_size()
        if size > KEPT:
            return like.new_empty((rows, like.shape[1]))
        if which not in self._kept or len(self._kept[which]) < size:
            self._kept[which] = torch.empty(size, dtype=torch.uint8)
        return self._kept[which][:size].view(like.dtype).view(rows, like.shape[1])

    def _some_ones(self, count: int, dtype: torch.dtype) -> Tensor:
        if dtype not in self._ones or len(self._ones[dtype]) < count:
            self._ones[dtype] = torch.ones(count, dtype=dtype)
        return self._ones[dtype][:count]


@dataclass(frozen=True)
class _Round:
    """For whom sums come in a round: users from ``first`` on, a row each, with the places of their sums among all that come; and how many
    come from each worker."""

    first: int
    indptr: Tensor
    places: Tensor
    counts: list[int]

    @classmethod
    def of(cls, summed: Sequence[NDArray[np.int64]], first: int, users: int) -> _Round:
        """``summed`` are the users for whom each worker has a sum, ascending."""
        cuts = [np.searchsorted(numbers, (first, first + users)) for numbers in summed]
        rows = np.concatenate(
            [numbers[begin:end] for numbers, (begin, end) in zip(summed, cuts, strict=True)]
        )
        rows -= first
        counts = np.bincount(rows) if len(rows) else np.empty(0, dtype=np.int64)
        indptr = np.concatenate([np.zeros(1, dtype=np.int32), np.cumsum(counts, dtype=np.int32)])
        places = np.argsort(rows, kind="stable").astype(np.int32)
        return cls(
            first,
            torch.from_numpy(indptr),
            torch.from_numpy(places),
            [int(end - begin) for begin, end in cuts],
        )


@dataclass(frozen=True)
class Sums:
    """The sums of a round, which are on their way."""

    taken: _Round
    room: Tensor
    posted: Posted
    ones: Tensor

    def add_to(self, out: Tensor) -> None:
        """Wait for them, and add them to the rows of users (n x k)."""
        self.posted.wait()
        users = len(self.taken.indptr) - 1
        if users:
            shape = users, len(self.room)
            chosen = csr_tensor(self.taken.indptr, self.taken.places, self.ones, shape, trusted=True)
            rows = out[self.taken.first : self.taken.first + users]
            torch.addmm(rows, chosen, self.room, out=rows)
