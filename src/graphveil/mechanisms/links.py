"""Lists of neighbours by randomized response, every pair of users answered once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.exact import TOTAL, Claim, Loss
from graphveil.channels.kary import KaryChannel, kary
from graphveil.channels.sampling import RandomBits, SystemBits, code_type
from graphveil.errors import InputError, MessageError
from graphveil.mechanisms.base import (
    MAX_OUTCOMES,
    Answer,
    Enumerable,
    Estimate,
    Mechanism,
    ReportShape,
    Subject,
)
from graphveil.mechanisms.exact_sampling import happened
from graphveil.mechanisms.limits import check_dims
from graphveil.mechanisms.reports import Reports, gathered, row_pointers
from graphveil.mechanisms.rows import PublicRange, Rows, listed

# Which of the two users of a pair answer for it.
Ends = Literal["one", "both"]


@dataclass(frozen=True, eq=False)
class NeighbourLists:
    """Neighbour lists of some users: the users' numbers, row pointers, and the neighbours' numbers."""

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
        """Return the lists of some of these users."""
        pointers, at = gathered(self.indptr, places)
        return NeighbourLists(self.owners[places], pointers, self.neighbours[at])


@dataclass(frozen=True, eq=False)
class AskedPairs:
    """The pairs that some users are asked about, counted through user by user, and which of them are links.

    The pairs of user i have the places ``starts[i]`` to ``starts[i+1]``, one for each other user but the one who is
    ``left_out``; ``held`` are the places of links, sorted.
    """

    starts: NDArray[np.int64]
    left_out: NDArray[np.int64]
    held: NDArray[np.int64]

    @property
    def users(self) -> int:
        """The number of users asked."""
        return len(self.left_out)

    @property
    def count(self) -> int:
        """The number of pairs."""
        return int(self.starts[-1])

    def named(self, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the row that each of these pairs belongs to, and the other user."""
        rows = np.searchsorted(self.starts, places, side="right") - 1
        others = places - self.starts[rows]
        return rows, others + (others >= self.left_out[rows])


def link_mechanism(mechanism: Mechanism) -> LinkMechanism:
    """Return the mechanism if it is a `LinkMechanism`, whose reports can be read as lists; refuse it otherwise."""
    if not isinstance(mechanism, LinkMechanism):
        raise InputError(f"links are read from reports of links, these are of {mechanism.subject}")
    return mechanism


def told_by_both_ends(mechanism: Mechanism) -> Claim:
    """Return the most that one link costs if both its users answer for it, though only one was meant to.

    Numbers decide who answers for a pair, and devices get them from a server. A server that tells two friends
    different numbers makes both of them answer. Neither report spends more on a link than the claim: both
    together spend twice that. Where both are meant to answer, the claim counts both.
    """
    claim = mechanism.claim
    if mechanism.trust == "curator" or (isinstance(mechanism, LinkMechanism) and mechanism.ends == "both"):
        return claim
    return Claim(2 * claim.epsilon, 2 * claim.delta)


@dataclass(frozen=True, eq=False, repr=False)
class LinkMechanism(Enumerable):
    """Every user answers, for each user with a smaller number, whether there is a link; each answer by randomized response.

    Who answers is a public rule: of two users the one with the larger number, and nobody else. So one link is answered
    once, and costs ε whoever is asked. (Solitude lets both users answer their whole lists: two answers about one link,
    which cost 2ε together.) A report is the sorted list of the neighbours that are answered with yes. How long it is is
    part of the answer, as every yes and no in it is random.

    The list is changed at places that are drawn without looking at it: pair by pair with probability q = 1/(1+e^ε), so
    neither the random words used nor the time to draw them depend on it. The pairs between two changes are skipped
    (`skipping`): the draw is exact, and time and memory grow with what is reported, not with the number of pairs.

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
    # The users of a pair who answer for it: the one with the larger number, or both.
    ends: Ends = "one"
    # Whether about as many pairs are reported as there are links, however small the budget is. They are then read as links.
    as_many_as_links: ClassVar[bool] = False
    # Whether the answers of a report are drawn independently of each other.
    independent: ClassVar[bool] = True
    # Whether how many random words are drawn follows from what is reported, and not from public settings alone.
    bits_by_reports: ClassVar[bool] = False

    @property
    def answers(self) -> tuple[Answer, ...]:
        return (Answer(self.channel, self.size),)

    @cached_property
    def shape(self) -> ReportShape:
        return ReportShape(self.size, self.size, self.size, uneven=True)

    @property
    def loss(self) -> Loss:
        """The exact loss of one link: it is in one answer, and in no other."""
        return self.channel.loss

    @property
    def flip(self) -> float:
        """q, the probability that the answer about a pair is wrong."""
        return self.channel.other / TOTAL

    def compares(self, one: Any, other: Any) -> bool:
        """Return whether two lists differ in one link."""
        return int((np.asarray(one) != np.asarray(other)).sum()) == 1

    @property
    def degree_variance(self) -> float:
        """The variance of the noise on a reported degree; 0 where none is reported."""
        return 0.0

    @property
    def whole_degrees(self) -> bool:
        """Whether users report how many neighbours they have in all."""
        return False

    def neighbours(self, reports: Reports) -> tuple[NDArray[np.int64], NDArray[np.unsignedinteger]]:
        """Return the neighbours that each reporting user has named, as row pointers and numbers."""
        return reports.indptr, reports.codes

    def degrees(self, reports: Reports) -> NDArray[np.int64] | None:
        """Return the noisy degree of each reporting user; None if none is reported."""
        return None

    def kept(self, degrees: NDArray[np.int64], users: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """Return the share of the yes answers that each user names, given the reported degrees.

        It is 1 unless some are left out. ``users`` are the numbers of the users, all from 0 on by default.
        """
        return np.ones(len(degrees))

    def randomize(self, private: Any, random_bits: RandomBits | None = None) -> Reports:
        source = SystemBits() if random_bits is None else random_bits
        lists = self._lists(private)
        counts, others = self._named(self._pairs(lists, self._links(lists)), source)
        return Reports(self, row_pointers(counts), None, others)

    def _named(
        self, pairs: AskedPairs, random_bits: RandomBits
    ) -> tuple[NDArray[np.int64], NDArray[np.unsignedinteger]]:
        """Return how many others each user answers yes about, and which.

        These are the links, changed at places that are drawn without looking at them.
        """
        kind, counts = code_type(self.shape.alphabet), np.zeros(pairs.users, dtype=np.int64)
        codes = [np.empty(0, dtype=kind)]
        for first, last, places in happened(pairs.count, self.channel.other, random_bits):
            if self.channel.truthful:
                inside = pairs.held[np.searchsorted(pairs.held, first) : np.searchsorted(pairs.held, last)]
                places = np.setxor1d(places, inside, assume_unique=True)
            rows, others = pairs.named(places)
            codes.append(others.astype(kind))
            counts += np.bincount(rows, minlength=len(counts))
        return counts, np.concatenate(codes)

    def check_owners(self, reports: Reports, owners: NDArray[np.int64]) -> None:
        pointers, codes = self.neighbours(reports)
        users, others = np.repeat(owners, np.diff(pointers)), codes.astype(np.int64)
        if (others == users).any() or (self.ends == "one" and (others > users).any()):
            raise MessageError(
                "a user has answered for a pair that is not theirs: "
                + (
                    "only links to smaller numbers are reported"
                    if self.ends == "one"
                    else "nobody is linked to themselves"
                )
            )

    def asked(self, owner: int) -> list[int]:
        """Return the numbers of those whom a user is asked about."""
        return list(range(min(owner, self.size)))

    def _lists(self, private: Any) -> NeighbourLists:
        return private if isinstance(private, NeighbourLists) else self._full_lists(private)

    def _pairs(self, lists: NeighbourLists, links: tuple[NDArray[np.int64], NDArray[np.int64]]) -> AskedPairs:
        """Return the pairs that these users are asked about.

        Those without a number among the users are asked about all.
        """
        numbers = np.minimum(lists.owners, self.size)
        asked, left_out = numbers, np.full(len(numbers), self.size)
        if self.ends == "both":
            asked, left_out = np.where(numbers < self.size, self.size - 1, self.size), numbers
        starts = row_pointers(asked)
        rows, others = links
        places = others - (others > left_out[rows])
        mine = (others != left_out[rows]) & (places < asked[rows])
        return AskedPairs(starts, left_out, starts[rows[mine]] + places[mine])

    def _links(self, lists: NeighbourLists) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the owner and the neighbour of each link, each once, sorted.

        Unknown numbers and one's own are dropped.
        """
        rows = np.repeat(np.arange(len(lists.owners)), np.diff(lists.indptr))
        mine = self._somebody(lists)
        rows, others = rows[mine], lists.neighbours[mine].astype(np.int64)
        links = np.unique((rows * self.size + others)[others != lists.owners[rows]])
        return links // self.size, links % self.size

    def _somebody(self, lists: NeighbourLists) -> NDArray[np.bool_]:
        """Return which neighbours are numbers of users."""
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
        gap, offset = 1.0, 0.0
        if not self.as_many_as_links:
            gap = self.channel.surplus / TOTAL or 1.0
            offset = -self.flip / gap
        pointers, named = self.neighbours(reports)
        shape, values = (reports.users, self.size), np.full(named.size, 1 / gap)
        return Estimate(shape, pointers, named.astype(np.int32), values, offset, self.unbiased)

    def extremes(self) -> list[NDArray[np.int64]]:
        """Return no link and one; all and all but one. Only lists that differ in one link are compared."""
        empty, full = np.zeros(self.size, dtype=np.int64), np.ones(self.size, dtype=np.int64)
        one, most = empty.copy(), full.copy()
        one[0], most[-1] = 1, 0
        return [empty, full, one, most]

    def joint_counts(self, private: Any) -> tuple[NDArray[np.object_], int]:
        """Return the counts in the order of `possible_reports`.

        User 0 is the lowest bit of a report's number.
        """
        self._check_enumerable()
        answers = np.asarray(private).tolist()
        held = [other for other, bit in enumerate(answers) if bit > 0]
        return self.counts_of(answers, self.degree_of(self.size, held))

    def counts_of(self, answers: list[int], degree: int | None) -> tuple[NDArray[np.object_], int]:
        """Return how often each whole report occurs with these answers to all questions, out of the total."""
        counts = np.ones(1, dtype=object)
        for bit in answers:
            counts = np.outer(np.array(self.channel.row(int(bit)), dtype=object), counts).ravel()
        return counts, self.channel.total ** len(answers)

    def degree_of(self, owner: int, neighbours: list[int]) -> int | None:
        """Return the degree that a user with these neighbours reports, before noise.

        None if none is reported.
        """
        return None

    def possible_reports(self) -> Reports:
        """Return every set of neighbours; user 0 is the lowest bit of its number."""
        self._check_enumerable()
        pointers, neighbours = self._subsets()
        return Reports(self, pointers, None, neighbours.astype(code_type(self.shape.alphabet)))

    def _subsets(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        named = (np.arange(1 << self.size)[:, None] >> np.arange(self.size)) & 1
        rows, neighbours = np.nonzero(named)
        return row_pointers(np.bincount(rows, minlength=len(named))), neighbours

    def _check_enumerable(self) -> None:
        if self.size > MAX_OUTCOMES.bit_length() - 1:
            raise InputError(f"{self.name} has too many different reports to enumerate: take fewer users")

    def describe_outcome(self, index: int) -> str:
        named = [str(user) for user in range(self.size) if index >> user & 1]
        return f"links to {', '.join(named)}" if named else "no links"

    def blind(self) -> LinkMechanism:
        return replace(self, name=f"blind {self.name}", claim=Claim(0.0), channel=self.channel.blind())

    def __repr__(self) -> str:
        return f"LinkMechanism({self.name}, epsilon={self.claim.epsilon:g} a link, {self.size} users)"


def build_link_rr(epsilon: float, dims: int) -> LinkMechanism:
    """Build randomized response for a neighbour list.

    The user with the larger number answers for each pair.
    """
    check_dims(dims, what="users")
    return LinkMechanism("link-rr", Claim(epsilon), int(dims), kary(epsilon, 2))
