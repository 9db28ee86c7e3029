"""LapGraph: a curator, who is trusted with everybody's links, publishes a noisy graph."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.exact import TOTAL, Claim, Loss
from graphveil.channels.kary import KaryChannel, kary
from graphveil.channels.sampling import RandomBits, SystemBits, code_type
from graphveil.checks import check_number
from graphveil.errors import InputError
from graphveil.mechanisms.base import Answer, Trust, verified
from graphveil.mechanisms.exact_sampling import layers, noisy_chances, noisy_counts
from graphveil.mechanisms.limits import check_dims
from graphveil.mechanisms.links import LinkMechanism, NeighbourLists
from graphveil.mechanisms.reports import Reports, row_pointers

# Users of one graph: it has fewer than 2^47 pairs, which `geometric.hits` can number.
MAX_USERS = 1 << 24

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False, repr=False)
class PublishedGraph(LinkMechanism):
    """A curator's mechanism: the curator sees every link and must be trusted.

    No device can run it, as it takes all lists. A report is a row of the published graph: of each user the
    sorted smaller numbers that the graph links it to. Reports are written by the curator, all at once; an
    estimate is the published graph as it is, 1 and 0, and biased. Where two users' lists differ about their
    link, the list of the one with the larger number counts.

    ``private`` are the `NeighbourLists` of everybody. An array (graphs x n) holds graphs of n cells each,
    published one by one: an audit uses this form, where a row is an input and what is published of it a
    report.
    """

    unbiased: bool = False
    trust: ClassVar[Trust] = "curator"
    as_many_as_links: ClassVar[bool] = True

    @property
    def flip(self) -> float:
        """Almost 0: there are about as many published pairs as links, and they are read as links."""
        return 1 / TOTAL

    @abstractmethod
    def chances_of(self, graph: frozenset[Pair]) -> list[Fraction]:
        """Return the probability of every possible publication of a small graph, in a fixed order.

        ``graph`` holds pairs, smaller number first. Probabilities are exact, or have 50 digits.
        """

    def _lists(self, private: Any) -> NeighbourLists:
        """Return the lists; refuse some users' without the others', which depends on their owners alone."""
        if isinstance(private, NeighbourLists) and not np.array_equal(private.owners, np.arange(self.size)):
            raise InputError(f"{self.name} is a curator's: it takes the lists of all {self.size} users")
        return super()._lists(private)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, epsilon={self.claim.epsilon:g} a link, {self.size} users, a trusted curator)"


def common_counts(chances: list[Fraction]) -> tuple[NDArray[np.object_], int]:
    """Return probabilities as counts of their common denominator, and that."""
    total = math.lcm(*(chance.denominator for chance in chances))
    return np.array([int(chance * total) for chance in chances], dtype=object), total


# The part of the budget that the number of links gets, which LinkTeller's authors leave open.
SHARE = 0.1
# Cells whose published sets are enumerated at most.
MAX_CELLS = 12
# No rank is asked for beyond this: a first layer then has at most 2^-48 of all hits, which are fewer than 2^47.
MAX_DEPTH = 48

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class LapGraph(PublishedGraph):
    """A curator's noisy graph: about as many pairs as there are links, the likeliest ones.

    A part ``share`` of ε goes to the number of links, T̃ = T plus two-sided geometric noise of ratio e^-ε₁, cut to 0 and the
    number of pairs. The rest goes to the cells of the adjacency matrix above its diagonal, each 0 or 1 plus two-sided geometric
    noise of ratio e^-ε₂. The T̃ pairs with the largest noisy cells are published; ties are broken at random.

    Whether a noisy cell is at least 1 is randomized response, with q = 1/(1+e^ε₂). How far beyond it is, is the same whether
    there is a link or not. So the largest cells are those of a random order in which all that are at least 1 come first. That
    order is what is drawn: from its beginning, rank by rank, until T̃ pairs are there. Cells of no link are skipped
    geometrically, so memory and time grow with what is published, and never with the number of pairs. (Laplace noise of
    real numbers would have cells between 0 and 1, which are worse guesses at the same ε.)

    Source: Wu, Long, Zhang and Li (2022), "LinkTeller", LapGraph; noise of whole numbers from Ghosh, Roughgarden and
    Sundararajan (2009).
    Claim: ε = ε₁ + ε₂ for any two graphs that differ in one link, in the central model. The number changes by one, so T̃ is at
    most e^ε₁ times as likely; one cell changes, and its noisy value is at most e^ε₂ times as likely; the order and what is
    published of it follow from these and from words that depend on nothing. Both ratios are those of integers
    (`graphveil.channels.kary`). All draws are exact: the noise of T̃ has ratio other/keep of the counting channel, a cell that
    of the other, and equal random numbers in the order are drawn again. How long the curator takes, and how many random words,
    depends on T̃ and on T; neither is protected against somebody who watches the curator.
    """

    counting: KaryChannel = field(kw_only=True)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The number of links, and a bit for every cell; of all these, one link is in the first and in one of the others."""
        return Answer(self.counting, 1), Answer(self.channel, self.size)

    @property
    def loss(self) -> Loss:
        """The exact loss of one link by addition: that of the number and that of one cell."""
        return Loss.total([self.counting.loss, self.channel.loss]) if self.channel.truthful else Loss(())

    @property
    def wrong(self) -> Fraction:
        """q, the probability that a noisy cell is at least 1 without a link, or below 1 with one."""
        return Fraction(self.channel.other, TOTAL)

    @property
    def ratio(self) -> Fraction:
        """The factor by which a number of links is likelier than the next farther one."""
        return Fraction(self.counting.other, self.counting.other + self.counting.surplus)

    def randomize(self, private: Any, random_bits: RandomBits | None = None) -> Reports:
        source = SystemBits() if random_bits is None else random_bits
        one_graph, lists = isinstance(private, NeighbourLists), self._lists(private)
        starts, held = self._cells(lists)
        graphs = starts[[0, -1]] if one_graph else starts
        published = self._published(graphs, held if self.channel.truthful else held[:0], source)
        rows = np.searchsorted(starts, published, side="right") - 1
        counts = np.bincount(rows, minlength=len(starts) - 1)
        codes = (published - starts[rows]).astype(code_type(self.size))
        return Reports(self, row_pointers(counts), None, codes)

    def _cells(self, lists: NeighbourLists) -> tuple[Numbers, Numbers]:
        """Return where each list's cells begin when all are numbered, and which cells are links, sorted."""
        widths = np.minimum(lists.owners, self.size)
        starts = row_pointers(widths)
        rows = np.repeat(np.arange(len(widths)), np.diff(lists.indptr))
        inside = self._somebody(lists) & (lists.neighbours < widths[rows])
        return starts, np.unique(starts[rows[inside]] + lists.neighbours[inside].astype(np.int64))

    def _published(self, graphs: Numbers, held: Numbers, random_bits: RandomBits) -> Numbers:
        """Return the cells that are published, sorted.

        ``graphs`` says where the cells of each graph begin, ``held`` which are links.
        """
        links = np.diff(np.searchsorted(held, graphs))
        wanted = noisy_counts(links, np.diff(graphs), self.ratio, random_bits)
        order = _Order(graphs, wanted)
        if not wanted.any():
            return held[:0]
        yes = held[random_bits.take(held.size) >> np.uint64(2) >= np.uint64(self.channel.other)]
        cells = int(graphs[-1])
        depth = _depth(np.diff(graphs) * float(self.wrong), wanted)
        at = depth - np.minimum(_ranks(random_bits.take(yes.size)), depth)
        for layer, drawn in enumerate(layers(cells, self.wrong, depth, random_bits)):
            others = np.setdiff1d(drawn, held, assume_unique=True)
            order.add(np.concatenate([yes[at == layer], others]))
            if order.complete:
                return order.first(random_bits)
        # All cells of at least 1 are there. Of the others none says anything about its link that differs from the rest.
        depth = _depth(np.diff(graphs) - order.counts, wanted - order.counts)
        for drawn in layers(cells, Fraction(1), depth, random_bits):
            order.add(drawn)
            if order.complete:
                break
        return order.first(random_bits)

    def chances_of(self, graph: frozenset[Pair]) -> list[Fraction]:
        pairs = list(combinations(range(self.size), 2))
        counts, total = replace(self, size=len(pairs)).joint_counts([int(pair in graph) for pair in pairs])
        return [Fraction(count, total) for count in counts.tolist()]

    def joint_counts(self, private: Any) -> tuple[NDArray[np.object_], int]:
        """Return the counts of a graph of n cells in the order of `possible_reports`.

        Cell 0 is the lowest bit of a published set's number.
        """
        if self.size > MAX_CELLS:
            raise InputError(f"{self.name} has too many different graphs to enumerate: take fewer users")
        links = [bool(bit) and self.channel.truthful for bit in np.asarray(private).tolist()]
        numbers = noisy_chances(sum(links), self.size, self.ratio)
        chances = {
            (true, false): numbers[true + false] * self._set_chance(sum(links), true, false)
            for true, false in product(range(sum(links) + 1), range(self.size - sum(links) + 1))
        }
        named = [
            [links[cell] for cell in range(self.size) if number >> cell & 1]
            for number in range(1 << self.size)
        ]
        return common_counts([chances[sum(each), len(each) - sum(each)] for each in named])

    def _set_chance(self, links: int, true: int, false: int) -> Fraction:
        """Return the probability that a given set of links and other cells is published, given its size."""
        kept, wrong, size = 1 - self.wrong, self.wrong, true + false
        absent, empty = links - true, self.size - links - false
        chance = Fraction(0)
        # More cells of at least 1 than are published: all of the set are, and it is one of the choices among them.
        for one, other in product(range(absent + 1), range(empty + 1)):
            ways = math.comb(absent, one) * math.comb(empty, other)
            within = kept ** (true + one + empty - other) * wrong ** (false + other + absent - one)
            chance += Fraction(ways, math.comb(size + one + other, size)) * within
        # Fewer: all of them are in the set, and the rest of it is one of the choices among the others.
        for one, other in product(range(true + 1), range(false + 1)):
            if one + other < size:
                ways = math.comb(true, one) * math.comb(false, other)
                within = kept ** (one + false - other + empty) * wrong ** (true - one + other + absent)
                left = self.size - one - other
                chance += Fraction(ways, math.comb(left, size - one - other)) * within
        return chance

    def blind(self) -> LapGraph:
        """Return the control: a curator who publishes the graph without links in the same way."""
        return replace(self, name=f"blind {self.name}", claim=Claim(0.0), channel=self.channel.blind())


class _Order:
    """The beginning of a random order of each graph's cells, drawn layer by layer until there are enough."""

    def __init__(self, graphs: Numbers, wanted: Numbers) -> None:
        self.graphs, self.wanted = graphs, wanted
        self.counts = np.zeros_like(wanted)
        self.cells = np.empty(0, dtype=np.int64)
        self.layers = np.empty(0, dtype=np.int64)
        self.last = 0

    @property
    def complete(self) -> bool:
        """Whether every graph has as many cells as are wanted."""
        return bool((self.counts >= self.wanted).all())

    def add(self, drawn: Numbers) -> None:
        """Add the next layer; cells of an earlier one stay there."""
        new = np.setdiff1d(drawn, self.cells, assume_unique=True)
        self.cells = np.concatenate([self.cells, new])
        self.layers = np.concatenate([self.layers, np.full(len(new), self.last)])
        self.counts = self.counts + np.bincount(self._graph_of(new), minlength=len(self.wanted))
        self.last += 1

    def first(self, random_bits: RandomBits) -> Numbers:
        """Return as many cells of each graph as are wanted, sorted.

        Within a layer they are chosen at random.
        """
        graph = self._graph_of(self.cells)
        keys = random_bits.take(len(self.cells))
        # Given that they all differ, every order of them is equally likely.
        while _come_twice(keys):
            keys = random_bits.take(len(self.cells))
        order = np.lexsort((keys, graph * self.last + self.layers))
        rank = np.arange(len(order)) - np.repeat(row_pointers(self.counts)[:-1], self.counts)
        kept = order[rank < self.wanted[graph[order]]]
        return np.sort(self.cells[kept])

    def _graph_of(self, cells: Numbers) -> NDArray[np.intp]:
        return np.searchsorted(self.graphs, cells, side="right") - 1


def _come_twice(keys: NDArray[np.uint64]) -> bool:
    """Return whether some of the keys are equal."""
    ordered = np.sort(keys)
    return bool((ordered[1:] == ordered[:-1]).any())


def _depth(expected: NDArray[Any], wanted: Numbers) -> int:
    """Return the rank from which about as many cells are expected as are wanted, in every graph.

    Graphs that want none are left out.
    """
    open_ones = wanted > 0
    most = float((expected[open_ones] / (wanted[open_ones] + 1)).min())
    return min(max(math.frexp(most)[1] - 1, 0), MAX_DEPTH)


def _ranks(words: NDArray[np.uint64]) -> Numbers:
    """Return the number of trailing zeros of each word: r or more with probability 2^-r."""
    lowest = words & (~words + np.uint64(1))
    return np.where(words == 0, 64, np.log2(np.maximum(lowest, 1).astype(np.float64))).astype(np.int64)


def build_lapgraph(epsilon: float, dims: int, share: float = SHARE) -> LapGraph:
    """Build LapGraph: a noisy graph, published by a curator who is trusted with all links.

    Parameters
    ----------
    epsilon
        The budget of one link, in the central model.
    dims
        The number of users.
    share
        The part of ε for the number of links, strictly between 0 and 1.
    """
    check_dims(dims, what="users", most=MAX_USERS)
    check_number(share, "share", above=0, below=1)
    spent = float(share) * epsilon
    counting, channel = kary(spent, 2), kary(epsilon - spent, 2)
    return verified(LapGraph("lapgraph", Claim(epsilon), int(dims), channel, counting=counting))
