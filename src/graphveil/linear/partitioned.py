"""A sparse operator whose rows are held by several workers, or stay on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.graphs.part import GraphPart, Neighbours
from graphveil.graphs.shards.edges import whole_rows
from graphveil.graphs.world import Posted, World
from graphveil.linear.sparse import SparseMatrix, csr_tensor


class Sight:
    """The users of a graph and all their neighbours, in the order of the numbers that the whole graph has them by.

    ``pattern`` has a row for each user that is here and a column for each that is seen, with a 1 for each link: n x s. Its rows are
    summed up in that order, so that a product is the same to the bit in one process and in parts. In a whole graph everybody
    is here, and s = n.
    """

    def __init__(self, graph: Graph) -> None:
        n = graph.node_count
        self._halo: Halo | None = None
        self.exchanges = 0
        self.places: NDArray[np.int64] = np.arange(n)
        if not isinstance(graph, GraphPart):
            self.pattern = _ones(graph.indptr, graph.indices, n)
            return
        if graph.near is None or graph.far is None:
            raise InputError("edges that stay on disk are not seen at once: load the graph into memory")
        self._halo = Halo(graph)
        numbers = self._with_halo(torch.from_numpy(graph.original)).numpy()
        order = np.argsort(numbers, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        self._order, self.places = torch.from_numpy(order), place[:n]
        near = _ones(graph.near.indptr, place[graph.near.indices], len(order))
        far = _ones(graph.far.indptr, graph.far.indices, n).T.tocoo()
        columns = place[n + far.coords[1]]
        self.pattern = near + csr_array((far.data, (far.coords[0], columns)), shape=near.shape)
        self.pattern.sort_indices()

    def see(self, rows: NDArray[Any]) -> NDArray[Any]:
        """The rows of all who are seen (s x …), from those of the users who are here (n x …)."""
        if self._halo is None:
            return rows
        return self.seen(torch.from_numpy(np.ascontiguousarray(rows))).numpy()

    def seen(self, rows: Tensor) -> Tensor:
        """The same for tensors."""
        if self._halo is None:
            return rows
        self.exchanges += 1
        return self._with_halo(rows)[self._order]

    def _with_halo(self, rows: Tensor) -> Tensor:
        assert self._halo is not None
        return torch.cat([rows, self._halo.fetch(rows)])


def _ones(indptr: NDArray[np.int64], columns: NDArray[np.integer], seen: int) -> Any:
    """A 1 in these columns of each row."""
    return csr_array((np.ones(len(columns)), columns, indptr), shape=(len(indptr) - 1, seen))


def sight_of(graph: Graph) -> Sight:
    """Whom the users of a graph see; a part keeps it."""
    if not isinstance(graph, GraphPart):
        return Sight(graph)
    if "sight" not in graph.made:
        graph.made["sight"] = Sight(graph)
    sight: Sight = graph.made["sight"]
    return sight


def other_ends(
    graph: Graph, users: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Callable[[NDArray[Any]], NDArray[Any]]]:
    """The links of some users who are here: how many each has, and what gives the row of each link's other end, from a row for each
    user who is here."""
    if isinstance(graph, GraphPart) and graph.blocks is not None:
        chosen = np.zeros(graph.node_count, dtype=bool)
        chosen[users] = True
        kept = [
            ends[np.repeat(chosen[begin:end], graph.degrees[begin:end])] for begin, end, ends in graph.blocks
        ]
        others = np.concatenate([*kept, np.empty(0, dtype=np.int32)])
        return graph.degrees[users], lambda rows: rows[others]
    sight = sight_of(graph)
    links = sight.pattern[users]
    return np.diff(links.indptr).astype(np.int64), lambda rows: sight.see(rows)[links.indices]


class OrderedMatrix(SparseMatrix):
    """A worker's rows of a symmetric matrix over all users, each summed up in the order of users' numbers.

    `PartedMatrix` multiplies while rows travel, and rounds in another order than one process does. Where what comes out is sorted or
    compared, the last bit can decide who comes first, and here it is the same as in one process.
    """

    def __init__(self, rows: Tensor, sight: Sight) -> None:
        super().__init__(rows, rows)
        self._sight = sight

    @property
    def shape(self) -> tuple[int, int]:
        return self._forward.shape[0], self._forward.shape[0]

    @property
    def transposed(self) -> OrderedMatrix:
        """The matrix itself, which is symmetric."""
        return self

    def multiply(self, dense: Tensor, out: Tensor | None = None) -> Tensor:
        return super().multiply(self._sight.seen(dense), out)

    def multiply_add(self, dense: Tensor, added: Tensor, weight: float, out: Tensor | None = None) -> Tensor:
        return super().multiply_add(self._sight.seen(dense), added, weight, out)

    def add_product(self, dense: Tensor, weight: float, scale: float, out: Tensor) -> Tensor:
        return super().add_product(self._sight.seen(dense), weight, scale, out)

    def thinned(self, dropped: float) -> SparseMatrix:
        raise InputError("edges are not dropped where each worker holds a part of the graph")

    def to_dense(self) -> Tensor:
        raise InputError("each worker holds a part of this matrix alone: run in one process to see all of it")


def ordered_gcn(part: GraphPart) -> OrderedMatrix:
    """D^-1/2 (A + I) D^-1/2 of a part, as `gcn_matrix` has it in one process: D are the degrees with the loop."""
    sight = sight_of(part)
    n = part.node_count
    loops = csr_array((np.ones(n), sight.places, np.arange(n + 1)), shape=sight.pattern.shape)
    entries = csr_array(sight.pattern + loops)
    entries.sort_indices()
    scale = 1 / np.sqrt(1 + part.weighted_degrees)
    values = np.repeat(scale, np.diff(entries.indptr)) * sight.see(scale)[entries.indices]
    return OrderedMatrix(csr_tensor(entries.indptr, entries.indices, values, entries.shape), sight)


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


Floats = NDArray[np.float64]


class StreamedMatrix(SparseMatrix):
    """left_i · right_j along the links of a graph whose edges are on disk (n x n): ``matrix @ dense`` reads them block by block.

    The rows of a factor are scaled by ``right`` first and those of the product by ``left`` in the end, so that a block needs its
    neighbours' numbers and nothing else. No more than one block is in memory, beside the factor and the product.
    """

    def __init__(self, part: GraphPart, left: Tensor, right: Tensor, loops: Tensor | None) -> None:
        assert part.blocks is not None
        self._part, self._blocks, self._left, self._right, self._loops = part, part.blocks, left, right, loops

    @property
    def shape(self) -> tuple[int, int]:
        return self._part.node_count, self._part.node_count

    @property
    def device(self) -> torch.device:
        return self._left.device

    @property
    def transposed(self) -> StreamedMatrix:
        """The transpose: links lead both ways, so that it has its entries in the same places."""
        return StreamedMatrix(self._part, self._right, self._left, self._loops)

    @property
    def entry_count(self) -> int:
        return int(self._part.indptr[-1])

    def multiply(self, dense: Tensor, out: Tensor | None = None) -> Tensor:
        product = dense.new_empty(dense.shape) if out is None else out
        return self._add(dense, product, 0.0, 1.0, product)

    def multiply_add(self, dense: Tensor, added: Tensor, weight: float, out: Tensor | None = None) -> Tensor:
        return self._add(dense, added, weight, 1.0, torch.empty_like(added) if out is None else out)

    def add_product(self, dense: Tensor, weight: float, scale: float, out: Tensor) -> Tensor:
        return self._add(dense, out, scale, weight, out)

    def _add(self, dense: Tensor, added: Tensor, scale: float, weight: float, out: Tensor) -> Tensor:
        """scale·added + weight·(matrix @ dense), block after block of rows."""
        factor = dense * self._right.to(dense.dtype)
        starts, users = self._part.indptr, self._part.node_count
        ones = dense.new_ones(0)
        for begin, end, neighbours in self._blocks:
            if len(ones) < len(neighbours):
                ones = dense.new_ones(len(neighbours))
            pointers = starts[begin : end + 1] - starts[begin]
            block = csr_tensor(
                pointers, neighbours, ones[: len(neighbours)], (end - begin, users), trusted=True
            )
            rows = block @ factor
            if self._loops is not None:
                rows += self._loops[begin:end].to(dense.dtype) * factor[begin:end]
            rows *= weight * self._left[begin:end].to(dense.dtype)
            if scale:
                rows.add_(added[begin:end], alpha=scale)
            out[begin:end] = rows
        return out

    def thinned(self, dropped: float) -> SparseMatrix:
        raise InputError("edges that stay on disk are not dropped: load the graph into memory")

    def to_dense(self) -> Tensor:
        raise InputError("a matrix whose entries stay on disk is not made dense: load the graph into memory")


def streamed_matrix(
    part: GraphPart, left: Floats, right: Floats, *, loops: NDArray[np.bool_] | None = None
) -> StreamedMatrix:
    """left_i · right_j along the links, and at the loops of those who have one; a number a user each."""
    rows, columns, looped = column_scales(left, right, loops)
    return StreamedMatrix(part, rows, columns, looped)


# Entries of a matrix that are multiplied at a time.
ENTRIES_AT_ONCE = 1 << 20


class Links:
    """Who is linked to whom in a part: ones among its own users (n x n), and what passes between them and others.

    All matrices of a part are these ones between two scales, so that there is one of it. ``exchanges`` counts products.
    """

    def __init__(self, part: GraphPart) -> None:
        assert part.near is not None
        self.near, self.passing = Ones(part.near, part.node_count), Passing(part)
        self.entries = int(part.indptr[-1])
        self.exchanges = 0

    def multiply(self, dense: Tensor, out: Tensor) -> None:
        """Write the sum over each user's neighbours, here and elsewhere, into ``out`` (both n x k for the n users who are here).

        While sums of a round travel, a share of the links among users here is multiplied.
        """
        self.exchanges += 1
        out.zero_()
        rounds = self.passing.rounds
        for number, sums in enumerate(self.passing.sums(dense)):
            self.near.add_product(dense, out, number / rounds, (number + 1) / rounds)
            sums.add_to(out)
        if not rounds:
            self.near.add_product(dense, out)


class Ones:
    """A matrix with a 1 for each neighbour of a row (n x ``columns``), of which only the neighbours are in memory, as the part has them.

    Its rows are multiplied some at a time, so that all can have the same few ones for their values.
    """

    def __init__(self, neighbours: Neighbours, columns: int) -> None:
        self._neighbours, self._columns = neighbours, columns
        self._rows = list(whole_rows(neighbours.indptr, ENTRIES_AT_ONCE))
        self._blocks: dict[torch.dtype, list[Tensor]] = {}

    def add_product(self, dense: Tensor, out: Tensor, begin: float = 0.0, end: float = 1.0) -> None:
        """Add the product with ``columns`` x k to ``out`` (n x k), of some rows alone: from one share of their blocks to another."""
        if dense.dtype not in self._blocks:
            self._blocks[dense.dtype] = self._made(dense.dtype)
        blocks = self._blocks[dense.dtype]
        for block in range(round(begin * len(blocks)), round(end * len(blocks))):
            rows = out[slice(*self._rows[block])]
            torch.addmm(rows, blocks[block], dense, out=rows)

    def _made(self, dtype: torch.dtype) -> list[Tensor]:
        starts = self._neighbours.indptr
        # A part that came from elsewhere may be one that nobody can write to, which torch does not take.
        neighbours = torch.from_numpy(np.require(self._neighbours.indices, np.int32, "W"))
        ones = torch.ones(
            max((int(starts[end] - starts[begin]) for begin, end in self._rows), default=0), dtype=dtype
        )
        blocks = []
        for begin, end in self._rows:
            own = neighbours[starts[begin] : starts[end]]
            pointers = starts[begin : end + 1] - starts[begin]
            blocks.append(csr_tensor(pointers, own, ones[: len(own)], (end - begin, self._columns)))
        return blocks


def links_of(part: GraphPart) -> Links:
    """The links of a part, made when they are first asked for."""
    if "links" not in part.made:
        part.made["links"] = Links(part)
    links: Links = part.made["links"]
    return links


class PartedMatrix(SparseMatrix):
    """A worker's rows of a matrix over all users, n x n for its n users: ``matrix @ dense`` takes and gives their rows.

    Entries are left_i · right_j along the links of the graph, and at the loops of those users who have one. A factor's rows are
    scaled by ``right`` first, and summed up over neighbours, of whom those elsewhere are summed up there (n' x k numbers travel for n'
    neighbours elsewhere and k columns); the product's rows are scaled by ``left`` in the end. Links lead both
    ways, so that the transpose has its entries in the same places, right_i · left_j: a gradient travels as a product does.
    """

    def __init__(self, links: Links, left: Tensor, right: Tensor, loops: Tensor | None) -> None:
        self.links, self._left, self._right, self._loops = links, left, right, loops

    @property
    def shape(self) -> tuple[int, int]:
        return len(self._left), len(self._left)

    @property
    def device(self) -> torch.device:
        return self._left.device

    @property
    def transposed(self) -> PartedMatrix:
        """The transpose, which shares its memory with this matrix."""
        return PartedMatrix(self.links, self._right, self._left, self._loops)

    @property
    def entry_count(self) -> int:
        """How many links this worker stores."""
        return self.links.entries

    def multiply(self, dense: Tensor, out: Tensor | None = None) -> Tensor:
        product = self._product(dense, torch.empty_like(dense) if out is None or out is dense else out)
        return product

    def multiply_add(self, dense: Tensor, added: Tensor, weight: float, out: Tensor | None = None) -> Tensor:
        product = self._product(dense, torch.empty_like(dense) if out is None else out)
        return product.add_(added, alpha=weight)

    def add_product(self, dense: Tensor, weight: float, scale: float, out: Tensor) -> Tensor:
        return out.mul_(scale).add_(self._product(dense, torch.empty_like(dense)), alpha=weight)

    def _product(self, dense: Tensor, out: Tensor) -> Tensor:
        factor = dense * self._right.to(dense.dtype)
        self.links.multiply(factor, out)
        if self._loops is not None:
            out.addcmul_(factor, self._loops.to(dense.dtype))
        del factor
        return out.mul_(self._left.to(dense.dtype))

    def thinned(self, dropped: float) -> SparseMatrix:
        raise InputError("edges are not dropped where each worker holds a part of the graph")

    def to_dense(self) -> Tensor:
        raise InputError("each worker holds a part of this matrix alone: run in one process to see all of it")


def parted_matrix(
    part: GraphPart, left: Floats, right: Floats, *, loops: NDArray[np.bool_] | None = None
) -> PartedMatrix:
    """left_i · right_j along the links of a part, and at the loops of those users who have one; a number a user each."""
    rows, columns, looped = column_scales(left, right, loops)
    return PartedMatrix(links_of(part), rows, columns, looped)


def column_scales(
    left: Floats, right: Floats, loops: NDArray[np.bool_] | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Scales as columns of numbers, a row a user."""
    rows = torch.from_numpy(left[:, None].astype(np.float64))
    columns = rows if right is left else torch.from_numpy(right[:, None].astype(np.float64))
    return rows, columns, None if loops is None else torch.from_numpy(loops[:, None])
