"""Lists of neighbours by randomized response, every pair of users answered once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.alias import code_type
from graphveil.channels.exact import TOTAL, Claim, Loss
from graphveil.channels.kary import KaryChannel
from graphveil.channels.words import SystemWords, WordArray, Words
from graphveil.errors import InputError
from graphveil.mechanisms.base import MAX_OUTCOMES, Answer, Mechanism, Subject
from graphveil.mechanisms.estimate import Estimate
from graphveil.mechanisms.reports import Reports, row_pointers
from graphveil.mechanisms.rows import PublicRange, Rows, listed

# Pairs that are looked at together: 64 of them share a word of each bit plane.
BLOCK_PAIRS = 1 << 22
WORD_BITS, TOTAL_BITS = 64, TOTAL.bit_length() - 1


@dataclass(frozen=True, eq=False)
class NeighbourLists:
    """What users hold: the number of each one, row pointers, and the numbers of the neighbours."""

    owners: NDArray[np.int64]
    indptr: NDArray[np.int64]
    neighbours: NDArray[np.integer]

    def __post_init__(self) -> None:
        # Whatever stands for a neighbour, it is a number from here on: what is none is nobody's.
        object.__setattr__(self, "neighbours", listed(self.neighbours, "neighbours"))
        fit = self.indptr.shape == (len(self.owners) + 1,) and self.indptr[0] == 0
        if not fit or (np.diff(self.indptr) < 0).any() or self.indptr[-1] != len(self.neighbours):
            raise InputError("row pointers must lead from 0 to the last neighbour, one row for each owner")

    def of(self, places: NDArray[np.int64]) -> NeighbourLists:
        """The lists of some of these users."""
        lengths = np.diff(self.indptr)[places]
        pointers = row_pointers(lengths)
        at = np.arange(pointers[-1]) + np.repeat(self.indptr[places] - pointers[:-1], lengths)
        return NeighbourLists(self.owners[places], pointers, self.neighbours[at])


@dataclass(frozen=True, eq=False, repr=False)
class LinkMechanism(Mechanism):
    """Every user answers, for each user with a smaller number, whether there is a link; each answer by randomized response.

    Who answers is a public rule: of two users the one with the larger number, and nobody else. So one link is answered
    once, and costs ε whoever is asked. (Solitude lets both users answer their whole lists: two answers about one link,
    which cost 2ε together.) A report is the sorted list of the neighbours that are answered with yes. How long it is is
    part of the answer, as every yes and no in it is random.

    The list is changed at places that are drawn without looking at it: pair by pair with probability q = 1/(1+e^ε), so
    neither the random words used nor the time to draw them depend on it. Of a binary fraction below q the first r digits
    are 0, and 64 pairs share one word a digit: the r words and-ed leave few pairs, which get a word each for the rest of
    the digits. The draw is exact, and memory grows with what is reported, not with the number of pairs.

    A yes is estimated as (1-q)/(1-2q), a no as -q/(1-2q), which is unbiased for a pair that was asked. An estimate has
    a column for every user; of user i's only those below i were asked, and the others say nothing.

    Source: Warner (1965); for adjacency lists Qin et al. (2017), EdgeRand of Wu et al. (2022) and Solitude, Lin, Li and
    Wang (2022).
    Claim: ε for any two lists that differ in one link. One bit of the report is q or 1-q under either, with
    (1-q)/q ≤ e^ε as `graphveil.channels.kary` rounds it; all others have the same distribution.

    ``private`` is a `NeighbourLists`, or an array (users x n) of users who are asked about all n, above 0 where there is a
    link. Numbers of nobody are passed over.
    """

    name: str
    claim: Claim
    size: int
    channel: KaryChannel
    subject: Subject = "links"
    unbiased: bool = True
    uneven: ClassVar[bool] = True

    @property
    def answers(self) -> tuple[Answer, ...]:
        return (Answer(self.channel, self.size),)

    @property
    def dimensions(self) -> int:
        return self.size

    @property
    def alphabet(self) -> int:
        return self.size

    @property
    def report_length(self) -> int:
        """How many neighbours a report can name at most."""
        return self.size

    @property
    def names_dimensions(self) -> bool:
        return False

    @property
    def loss(self) -> Loss:
        """The exact loss of one link: it is in one answer, and in no other."""
        return self.channel.loss

    @property
    def flip(self) -> float:
        """q, the probability that the answer about a pair is wrong."""
        return self.channel.other / TOTAL

    def compares(self, one: Any, other: Any) -> bool:
        """Whether two lists differ in one link."""
        return int((np.asarray(one) != np.asarray(other)).sum()) == 1

    def randomize(self, private: Any, words: Words | None = None) -> Reports:
        lists = private if isinstance(private, NeighbourLists) else self._full_lists(private)
        source = SystemWords() if words is None else words
        starts, held = self._pairs(lists)
        kind = code_type(self.size)
        codes, counts = [np.empty(0, dtype=kind)], np.zeros(len(starts) - 1, dtype=np.int64)
        for first, last, drawn in self.changes(int(starts[-1]), source):
            if self.channel.truthful:
                inside = held[np.searchsorted(held, first) : np.searchsorted(held, last)]
                drawn = np.setxor1d(drawn, inside, assume_unique=True)
            rows = np.searchsorted(starts, drawn, side="right") - 1
            codes.append((drawn - starts[rows]).astype(kind))
            counts += np.bincount(rows, minlength=len(counts))
        return Reports(self, row_pointers(counts), None, np.concatenate(codes))

    def changes(self, pairs: int, words: Words) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
        """Block by block, from where to where it goes and which of its pairs are answered wrongly, in order."""
        known = TOTAL_BITS - self.channel.other.bit_length()
        for first in range(0, pairs, BLOCK_PAIRS):
            last = min(first + BLOCK_PAIRS, pairs)
            left = _all_of(last - first) if known == 0 else _ones(words, known, last - first)
            rest = words.take(left.size) >> np.uint64(WORD_BITS - TOTAL_BITS + known)
            yield first, last, first + left[rest < np.uint64(self.channel.other)]

    def _pairs(self, lists: NeighbourLists) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where each user's pairs start when all that are asked are counted through, and those that are links, sorted."""
        asked = np.minimum(lists.owners, self.size)
        starts = row_pointers(asked)
        rows = np.repeat(np.arange(len(asked)), np.diff(lists.indptr))
        mine = self._somebody(lists) & (lists.neighbours < asked[rows])
        near = lists.neighbours[mine].astype(np.int64)
        return starts, np.unique(starts[rows[mine]] + near)

    def _somebody(self, lists: NeighbourLists) -> NDArray[np.bool_]:
        """Which neighbours are numbers of users."""
        near = lists.neighbours
        with np.errstate(all="ignore"):
            return np.asarray((near >= 0) & (near < self.size) & (near % 1 == 0))

    def altered(self, private: Any) -> int:
        if not isinstance(private, NeighbourLists):
            return int(Rows(private, self.size).outside(PublicRange(0.0, 1.0), binary=True).sum())
        rows = np.repeat(np.arange(len(private.owners)), np.diff(private.indptr))
        return len(np.unique(rows[~self._somebody(private)]))

    def _full_lists(self, private: Any) -> NeighbourLists:
        rows = Rows(private, self.size)
        owners, neighbours = rows.nonzero()
        pointers = row_pointers(np.bincount(owners, minlength=rows.users))
        return NeighbourLists(np.full(rows.users, self.size), pointers, neighbours)

    def count(self, private: Any) -> int:
        return len(private.owners) if isinstance(private, NeighbourLists) else Rows(private, self.size).users

    def estimate(self, reports: Reports) -> Estimate:
        gap = self.channel.surplus / TOTAL or 1.0
        shape, values = (reports.users, self.size), np.full(reports.codes.size, 1 / gap)
        indices = reports.codes.astype(np.int32)
        return Estimate(shape, reports.indptr, indices, values, -self.flip / gap, self.unbiased)

    def extremes(self) -> list[NDArray[np.int64]]:
        """No link and one; all and all but one. Only lists that differ in one link are compared."""
        empty, full = np.zeros(self.size, dtype=np.int64), np.ones(self.size, dtype=np.int64)
        one, most = empty.copy(), full.copy()
        one[0], most[-1] = 1, 0
        return [empty, full, one, most]

    def joint_counts(self, private: Any) -> tuple[NDArray[np.object_], int]:
        """In the order of `possible_reports`: user 0 is the lowest bit of a report's number."""
        if self.size > MAX_OUTCOMES.bit_length() - 1:
            raise InputError(f"{self.name} has too many different reports to enumerate: take fewer users")
        counts = np.ones(1, dtype=object)
        for bit in np.asarray(private).tolist():
            counts = np.outer(np.array(self.channel.row(int(bit)), dtype=object), counts).ravel()
        return counts, self.channel.total**self.size

    def possible_reports(self) -> Reports:
        """Every set of neighbours; user 0 is the lowest bit of its number."""
        if self.size > MAX_OUTCOMES.bit_length() - 1:
            raise InputError(f"{self.name} has too many different reports to enumerate: take fewer users")
        named = (np.arange(1 << self.size)[:, None] >> np.arange(self.size)) & 1
        rows, neighbours = np.nonzero(named)
        pointers = row_pointers(np.bincount(rows, minlength=len(named)))
        return Reports(self, pointers, None, neighbours.astype(code_type(self.size)))

    def describe_outcome(self, index: int) -> str:
        named = [str(user) for user in range(self.size) if index >> user & 1]
        return f"links to {', '.join(named)}" if named else "no links"

    def blind(self) -> LinkMechanism:
        return replace(self, name=f"blind {self.name}", claim=Claim(0.0), channel=self.channel.blind())

    def __repr__(self) -> str:
        return f"LinkMechanism({self.name}, epsilon={self.claim.epsilon:g} a link, {self.size} users)"


def _ones(words: Words, planes: int, size: int) -> NDArray[np.int64]:
    """The places below ``size`` where all of so many bit planes have a one: each with probability 2^-planes."""
    width = -(-size // WORD_BITS)
    left: WordArray = words.take(width)
    for _ in range(planes - 1):
        left &= words.take(width)
    some = np.flatnonzero(left)
    word, bits = np.nonzero((left[some, None] >> np.arange(WORD_BITS, dtype=np.uint64)) & np.uint64(1))
    places: NDArray[np.int64] = some[word] * WORD_BITS + bits
    return places[places < size]


def _all_of(size: int) -> NDArray[np.int64]:
    return np.arange(size, dtype=np.int64)
