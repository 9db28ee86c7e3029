"""Sparse operators over a graph whose links are held in parts: by several workers in memory, or on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from graphveil.errors import InputError
from graphveil.graphs.collective import Collective, Posted
from graphveil.linear.sparse import CsrMatrix, SparseMatrix, csr_tensor
from graphveil.scale.edges import Block, whole_rows

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]
# Entries of a matrix that are multiplied at a time.
ENTRIES_AT_ONCE = 1 << 20
# Users of each worker for whom sums come in one round. A town of a million sends 16 messages of 1.5 MB for a hop of two workers; with four
# times as many messages that hop takes half as long again.
USERS_A_ROUND = 1 << 15
# Room for sums that is reused from round to round, in bytes: asking the system for it each time takes longer than to fill it.
REUSED_BYTES = 1 << 22


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Row pointers, and the neighbours of all rows, ascending in each."""

    indptr: Numbers
    indices: NDArray[np.int32]


class PartOperator(SparseMatrix):
    """A matrix of which this process holds some rows, or none at a time."""

    whole, clustered = False, None

    def thinned(self, dropped: float) -> SparseMatrix:
        raise InputError(
            "edges are not dropped where each worker holds a part of the graph or edges are on disk"
        )

    def to_dense(self) -> Tensor:
        raise InputError("each worker holds a part of this matrix alone: run in one process to see all of it")


class LinkSource(Protocol):
    """Links of a part, each counting 1. All matrices of a part are these links between two scales."""

    @property
    def entries(self) -> int:
        """The number of neighbours of all users here together."""

    def multiply(self, dense: Tensor, out: Tensor) -> None:
        """Write the sum over each user's neighbours into ``out`` (both n x k for the n users who are here)."""


class PartitionedMatrix(PartOperator):
    """A worker's rows of a matrix over all users, n x n for its n users: ``matrix @ dense`` takes and returns their rows.

    Entries are left_i · right_j along the links of the graph, and at the loops of those users who have one. A factor's rows are
    scaled by ``right``, summed up over neighbours, and scaled by ``left``. Links lead both ways, so that the transpose has its
    entries in the same places, right_i · left_j: a gradient travels as a product does.
    """

    def __init__(self, links: LinkSource, left: Tensor, right: Tensor, loops: Tensor | None) -> None:
        self.links, self._left, self._right, self._loops = links, left, right, loops

    @classmethod
    def of(
        cls, links: LinkSource, left: Floats, right: Floats, loops: NDArray[np.bool_] | None
    ) -> PartitionedMatrix:
        """Return the matrix diag(left) (A + loops) diag(right).

        Parameters
        ----------
        links
            The links A of the part.
        left, right
            The scale of each row and of each column, (users,).
        loops
            The users who have a loop, (users,) bool; None: nobody.
        """
        rows = torch.from_numpy(left[:, None].astype(np.float64))
        columns = rows if right is left else torch.from_numpy(right[:, None].astype(np.float64))
        return cls(links, rows, columns, None if loops is None else torch.from_numpy(loops[:, None]))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self._left), len(self._left)

    @property
    def device(self) -> torch.device:
        return self._left.device

    @property
    def transposed(self) -> PartitionedMatrix:
        """The transpose, which shares its memory with this matrix."""
        return PartitionedMatrix(self.links, self._right, self._left, self._loops)

    @property
    def entry_count(self) -> int:
        return self.links.entries

    def multiply(self, dense: Tensor, out: Tensor | None = None) -> Tensor:
        out = torch.empty_like(dense) if out is None else out
        factor = dense * self._right.to(dense.dtype)
        self.links.multiply(factor, out)
        if self._loops is not None:
            out.addcmul_(factor, self._loops.to(dense.dtype))
        del factor
        return out.mul_(self._left.to(dense.dtype))

    def multiply_add(self, dense: Tensor, added: Tensor, weight: float, out: Tensor | None = None) -> Tensor:
        """Return the product with ``dense`` plus ``weight`` times ``added``.

        Parameters
        ----------
        dense, added
            The factor and what is added: (n, k) each.
        weight
            The factor of ``added``.
        out
            The tensor to write to; a new one by default.
        """
        return self.multiply(dense, out).add_(added, alpha=weight)

    def add_product(self, dense: Tensor, weight: float, scale: float, out: Tensor) -> Tensor:
        """Set out ← scale·out + weight·(matrix @ dense).

        Parameters
        ----------
        dense
            The factor: (n, k).
        weight, scale
            The factors of the product and of ``out``.
        out
            The tensor to change: (n, k).
        """
        return out.mul_(scale).add_(self.multiply(dense), alpha=weight)


class DiskLinks:
    """Links that stay on disk: ``blocks`` are read anew for each product, and one at a time is in memory."""

    def __init__(self, indptr: Numbers, blocks: Iterable[Block]) -> None:
        self._indptr, self._blocks = indptr, blocks
        self.entries = int(indptr[-1])

    def multiply(self, dense: Tensor, out: Tensor) -> None:
        ones = dense.new_ones(0)
        for begin, end, neighbours in self._blocks:
            if len(ones) < len(neighbours):
                ones = dense.new_ones(len(neighbours))
            pointers = self._indptr[begin : end + 1] - self._indptr[begin]
            shape = end - begin, len(dense)
            block = csr_tensor(pointers, neighbours, ones[: len(neighbours)], shape, trusted=True)
            CsrMatrix(block).multiply(dense, out[begin:end])


class WorkerLinks:
    """Links among the users who are here, and to those of other workers.

    Links lead both ways: users here are among the neighbours of those whom they are linked to elsewhere (``halo``). So a worker sums up
    their rows for each of those (``far``), and sends the sums to where those are. That are as many rows as if everybody fetched
    neighbours' rows, but a worker has room for those of two rounds, and never for all. Round by round everybody gets the sums for its next
    users; all make as many ``rounds``. ``exchanges`` counts products.

    Parameters
    ----------
    near
        The neighbours of each of n users who are here, among them.
    far
        For each user in ``halo``, those of the n users whom it is linked to.
    halo
        Ascending numbers, in the whole graph, of neighbours with other workers.
    bounds
        Where each worker's users begin in the whole graph, and where the last one's end.
    """

    def __init__(
        self, near: Neighbours, far: Neighbours, halo: Numbers, bounds: Numbers, collective: Collective
    ) -> None:
        self._collective, self._far, self._users = collective, far, len(near.indptr) - 1
        self._near = NearLinks(near, self._users)
        self._neighbours = torch.from_numpy(np.require(far.indices, np.int32, "W"))
        self.entries, self.exchanges = len(near.indices) + len(far.indices), 0
        sizes = np.diff(bounds)
        self.rounds = -(-int(sizes.max()) // USERS_A_ROUND) if collective.size > 1 else 0
        steps = np.minimum(np.arange(self.rounds + 1)[:, None] * USERS_A_ROUND, sizes)
        # Where those of a round begin among all who are elsewhere: rounds + 1 x workers.
        self._cuts = np.searchsorted(halo, bounds[:-1] + steps)
        summed = [numbers - bounds[collective.rank] for numbers in collective.swap(_by_worker(halo, bounds))]
        self._rounds = [_Round.of(summed, int(first)) for first in steps[:-1, collective.rank]]
        self._ones: dict[torch.dtype, Tensor] = {}
        self._rooms: dict[tuple[int, int], Tensor] = {}

    def multiply(self, dense: Tensor, out: Tensor) -> None:
        """Write the sums over neighbours; while sums of a round travel, a share of the links among users here is multiplied."""
        self.exchanges += 1
        out.zero_()
        for number in self.add_remote(dense, out):
            self._near.add_product(dense, out, number / self.rounds, (number + 1) / self.rounds)
        if not self.rounds:
            self._near.add_product(dense, out)

    def add_remote(self, dense: Tensor, out: Tensor) -> Iterator[int]:
        """Add the sums over neighbours elsewhere, round by round.

        Yields the number of each round before its sums are waited for, while those of the next one are on their way too.
        """
        following = self._post(dense, 0) if self.rounds else None
        for number, taken in enumerate(self._rounds):
            coming, following = following, self._post(dense, number + 1) if number + 1 < self.rounds else None
            yield number
            assert coming is not None
            room, posted = coming
            posted.wait()
            users = len(taken.indptr) - 1
            if users:
                ones = self._some_ones(len(taken.places), dense.dtype)
                chosen = csr_tensor(taken.indptr, taken.places, ones, (users, len(room)), trusted=True)
                rows = out[taken.first : taken.first + users]
                CsrMatrix(chosen).multiply(room, rows, added=rows, scale=1.0)

    def _post(self, dense: Tensor, number: int) -> tuple[Tensor, Posted]:
        """Send a round's sums to each worker; the room for those that come, and when they are there."""
        taken, turn = self._rounds[number], number % 2
        sent = []
        for peer, begin in enumerate(self._cuts[number].tolist()):
            room = self._room((turn, peer), self._cuts[number + 1, peer] - begin, dense)
            self._sum_up(dense, begin, room)
            sent.append(room)
        room = self._room((turn, self._collective.rank), sum(taken.counts), dense)
        return room, self._collective.post(sent, room.split(taken.counts))

    def _sum_up(self, dense: Tensor, begin: int, into: Tensor) -> None:
        """Sum up this worker's users for some of those elsewhere, from place ``begin`` on, into ``into``."""
        if len(into):
            starts = self._far.indptr[begin : begin + len(into) + 1]
            neighbours = self._neighbours[starts[0] : starts[-1]]
            ones = self._some_ones(len(neighbours), dense.dtype)
            links = csr_tensor(starts - starts[0], neighbours, ones, (len(into), self._users), trusted=True)
            CsrMatrix(links).multiply(dense, into)

    def _room(self, which: tuple[int, int], rows: int, like: Tensor) -> Tensor:
        """Room for some rows: reused for one of two turns and a worker, where it is small."""
        size = int(rows) * like.shape[1] * like.element_size()
        if size > REUSED_BYTES:
            return like.new_empty((rows, like.shape[1]))
        if which not in self._rooms or len(self._rooms[which]) < size:
            self._rooms[which] = torch.empty(size, dtype=torch.uint8)
        return self._rooms[which][:size].view(like.dtype).view(rows, like.shape[1])

    def _some_ones(self, count: int, dtype: torch.dtype) -> Tensor:
        if dtype not in self._ones or len(self._ones[dtype]) < count:
            self._ones[dtype] = torch.ones(count, dtype=dtype)
        return self._ones[dtype][:count]


def _by_worker(halo: Numbers, bounds: Numbers) -> list[Numbers]:
    """The numbers of ``halo`` that each worker has."""
    return np.split(halo, np.searchsorted(halo, bounds[1:-1]))


@dataclass(frozen=True)
class _Round:
    """For whom sums come in a round: users from ``first`` on, a row each, with the places of their sums among all that come; and how many
    come from each worker."""

    first: int
    indptr: Tensor
    places: Tensor
    counts: list[int]

    @classmethod
    def of(cls, summed: Sequence[Numbers], first: int) -> _Round:
        """``summed`` are the users for whom each worker has a sum, ascending."""
        own = [
            numbers[slice(*np.searchsorted(numbers, (first, first + USERS_A_ROUND)))] for numbers in summed
        ]
        rows = np.concatenate(own) - first
        counts = np.bincount(rows) if len(rows) else np.empty(0, dtype=np.int64)
        indptr = np.concatenate([np.zeros(1, dtype=np.int32), np.cumsum(counts, dtype=np.int32)])
        places = np.argsort(rows, kind="stable").astype(np.int32)
        return cls(first, torch.from_numpy(indptr), torch.from_numpy(places), [len(each) for each in own])


class NearLinks:
    """A matrix with a 1 for each neighbour of a row (n x ``columns``), of which only the neighbours are in memory, as the part has them.

    Its rows are multiplied some at a time, so that all can have the same few ones for their values.
    """

    def __init__(self, neighbours: Neighbours, columns: int) -> None:
        self._neighbours, self._columns = neighbours, columns
        self._rows = list(whole_rows(neighbours.indptr, ENTRIES_AT_ONCE))
        self._blocks: dict[torch.dtype, list[CsrMatrix]] = {}

    def add_product(self, dense: Tensor, out: Tensor, begin: float = 0.0, end: float = 1.0) -> None:
        """Add the product with ``dense`` to ``out``, for some of the rows.

        Parameters
        ----------
        dense
            The factor, (columns, k).
        out
            The sum to add to, (n, k).
        begin, end
            The shares of the blocks of rows, from 0 to 1, between which rows are computed.
        """
        if dense.dtype not in self._blocks:
            self._blocks[dense.dtype] = self._made(dense.dtype)
        blocks = self._blocks[dense.dtype]
        for block in range(round(begin * len(blocks)), round(end * len(blocks))):
            rows = out[slice(*self._rows[block])]
            blocks[block].multiply(dense, rows, added=rows, scale=1.0)

    def _made(self, dtype: torch.dtype) -> list[CsrMatrix]:
        starts = self._neighbours.indptr
        # A part that came from elsewhere may be one that nobody can write to, which torch does not take.
        neighbours = torch.from_numpy(np.require(self._neighbours.indices, np.int32, "W"))
        lengths = [int(starts[end] - starts[begin]) for begin, end in self._rows]
        ones = torch.ones(max(lengths, default=0), dtype=dtype)
        blocks = []
        for (begin, end), length in zip(self._rows, lengths, strict=True):
            own = neighbours[starts[begin] : starts[end]]
            pointers = starts[begin : end + 1] - starts[begin]
            blocks.append(CsrMatrix(csr_tensor(pointers, own, ones[:length], (end - begin, self._columns))))
        return blocks


class Neighbourhood:
    """The users of a part and all their neighbours, in the order of the numbers that the whole graph has them by.

    ``pattern`` has a row for each user that is here and a column for each user and neighbour, with a 1 for each link: n x s. Its rows are
    summed up in that order, so that a product is the same to the bit in one process and in parts. ``places`` are the columns of the
    users who are here.
    """

    def __init__(
        self,
        original: Numbers,
        near: Neighbours,
        far: Neighbours,
        halo: Numbers,
        bounds: Numbers,
        collective: Collective,
    ) -> None:
        self._collective = collective
        wanted = _by_worker(halo, bounds)
        # How many rows come from each worker, in the order of the halo; and those that each asks for.
        self._needed = [len(numbers) for numbers in wanted]
        self._asked = [
            torch.from_numpy(numbers - bounds[collective.rank]) for numbers in collective.swap(wanted)
        ]
        self.exchanges = 0
        n = len(original)
        numbers = self._with_halo(torch.from_numpy(original)).numpy()
        order = np.argsort(numbers, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        self._order, self.places = torch.from_numpy(order), place[:n]
        inner = _ones(near.indptr, place[near.indices], len(order))
        outer = _ones(far.indptr, far.indices, n).T.tocoo()
        columns = place[n + outer.coords[1]]
        self.pattern = inner + csr_array((outer.data, (outer.coords[0], columns)), shape=inner.shape)
        self.pattern.sort_indices()

    def gather(self, rows: NDArray[Any]) -> NDArray[Any]:
        """The rows of all users and neighbours (s x …), from those of the users who are here (n x …)."""
        return self.gather_tensor(torch.from_numpy(np.ascontiguousarray(rows))).numpy()

    def gather_tensor(self, rows: Tensor) -> Tensor:
        """The same for tensors."""
        self.exchanges += 1
        return self._with_halo(rows)[self._order]

    def _with_halo(self, rows: Tensor) -> Tensor:
        sent = [rows[asked] for asked in self._asked]
        room = rows.new_empty((sum(self._needed), *rows.shape[1:]))
        self._collective.post(sent, room.split(self._needed)).wait()
        return torch.cat([rows, room])


def _ones(indptr: Numbers, columns: NDArray[np.integer], width: int) -> Any:
    """A 1 in these columns of each row."""
    return csr_array((np.ones(len(columns)), columns, indptr), shape=(len(indptr) - 1, width))


class OrderedMatrix(PartOperator):
    """A worker's rows of a symmetric matrix over all users, each summed up in the order of users' numbers.

    `PartitionedMatrix` multiplies while rows travel, and rounds in another order than one process does. Where what comes out is sorted
    or compared, the last bit can decide who comes first, and here it is the same as in one process.
    """

    def __init__(self, rows: Tensor, neighbourhood: Neighbourhood) -> None:
        super().__init__(rows, rows)
        self._neighbourhood = neighbourhood

    @classmethod
    def gcn(cls, neighbourhood: Neighbourhood, degrees: Floats) -> OrderedMatrix:
        """D^-1/2 (A + I) D^-1/2, as `gcn_matrix` has it in one process: D are the degrees with the loop."""
        pattern, n = neighbourhood.pattern, len(degrees)
        loops = csr_array((np.ones(n), neighbourhood.places, np.arange(n + 1)), shape=pattern.shape)
        entries = csr_array(pattern + loops)
        entries.sort_indices()
        scale = 1 / np.sqrt(1 + degrees)
        values = np.repeat(scale, np.diff(entries.indptr)) * neighbourhood.gather(scale)[entries.indices]
        return cls(csr_tensor(entries.indptr, entries.indices, values, entries.shape), neighbourhood)

    @property
    def shape(self) -> tuple[int, int]:
        return self._rows.tensor.shape[0], self._rows.tensor.shape[0]

    @property
    def transposed(self) -> OrderedMatrix:
        """The matrix itself, which is symmetric."""
        return self

    def operand(self, dense: Tensor) -> Tensor:
        return self._neighbourhood.gather_tensor(dense)
