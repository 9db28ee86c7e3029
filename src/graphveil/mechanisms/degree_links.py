"""Neighbour lists with noisy degrees, and neighbour lists sampled down to about the number of links."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.counting import CountingChannel, counting
from graphveil.channels.exact import TOTAL, Claim, Loss
from graphveil.channels.kary import kary
from graphveil.channels.sampling import RandomBits, SystemBits, code_type
from graphveil.checks import check_number, check_whole, short
from graphveil.errors import InputError, MessageError
from graphveil.mechanisms.base import Answer, ReportShape, verified
from graphveil.mechanisms.exact_sampling import happened_in_rows
from graphveil.mechanisms.limits import check_dims
from graphveil.mechanisms.links import AskedPairs, LinkMechanism, NeighbourLists
from graphveil.mechanisms.reports import Reports, row_pointers


@dataclass(frozen=True, eq=False, repr=False)
class DegreeLinkMechanism(LinkMechanism):
    """Every user reports a list of neighbours by randomized response, and besides how many there are, with integer noise.

    With ``ends`` "one" a pair is answered by the user with the larger number alone, as `LinkMechanism` has it; with "both"
    by both its users, about everybody else. A link is in the degrees of both its users either way. So one link costs what
    one answer or two cost, and two degrees: ``claim`` is about everything that both its ends send, and so is `loss`.

    One answer at ε is never worse than two at ε/2: any ε-private answers about a bit, two at ε/2 among them, are one answer by
    randomized response at ε and something done to it that does not look at the bit (Kairouz, Oh and Viswanath 2015). BLINK as
    published lets both ends spend ε on their own lists and degrees, of which a link is in both: that costs 2ε.

    A report is the sorted list of the neighbours that are answered with yes, and ``size`` plus the noisy degree as its last code.

    Source: Zhu, Tan and Xiao (2023), BLINK.
    Claim: E for any two graphs that differ in one link: answers and degrees are drawn independently, those of a link by
    `channel` and `degree_channel`, whose losses add up to E.

    A degree counts everybody who is on the list once; of an array (users x n) at most n-1.
    """

    degree_channel: CountingChannel | None = None
    # The number of reported degrees that one link is counted in.
    degrees_of_a_link: ClassVar[int] = 2

    @property
    def counted(self) -> CountingChannel:
        """The channel that degrees are answered by."""
        assert self.degree_channel is not None
        return self.degree_channel

    @property
    def answers(self) -> tuple[Answer, ...]:
        return (Answer(self.channel, self.size), Answer(self.counted, 1))

    @cached_property
    def shape(self) -> ReportShape:
        """The format of a report: at most every other user, and a degree with codes of its own."""
        return ReportShape(self.size + 1, 2 * self.size, self.size, uneven=True)

    @property
    def loss(self) -> Loss:
        """The exact loss of one link over both its ends: it is in one answer or in two, and in two degrees."""
        answered = 2 if self.ends == "both" else 1
        return Loss.total(
            [self.channel.loss.times(answered), self.counted.loss.times(self.degrees_of_a_link)]
        )

    @property
    def whole_degrees(self) -> bool:
        return self.degrees_of_a_link == 2

    @property
    def degree_variance(self) -> float:
        return self.counted.variance

    def randomize(self, private: Any, random_bits: RandomBits | None = None) -> Reports:
        source = SystemBits() if random_bits is None else random_bits
        lists = self._lists(private)
        links = self._links(lists)
        held = np.minimum(self._held_degrees(lists, links), self.size - 1)
        degrees = self.counted.respond(held, source).astype(np.int64)
        counts, others = self._named_beside(degrees, self._pairs(lists, links), source)
        return self._reports(counts, others, degrees)

    def _reports(
        self, counts: NDArray[np.int64], others: NDArray[np.integer], degrees: NDArray[np.int64]
    ) -> Reports:
        """Return reports of ``counts`` neighbours for each user, each followed by the degree."""
        pointers = row_pointers(counts + 1)
        codes = np.empty(pointers[-1], dtype=code_type(self.shape.alphabet))
        last = np.zeros(codes.size, dtype=bool)
        last[pointers[1:] - 1] = True
        codes[last], codes[~last] = self.size + degrees, others
        return Reports(self, pointers, None, codes)

    def _named_beside(
        self, degrees: NDArray[np.int64], pairs: AskedPairs, random_bits: RandomBits
    ) -> tuple[NDArray[np.int64], NDArray[np.unsignedinteger]]:
        """Return how many neighbours each user names, and which, given the degrees they have reported."""
        return self._named(pairs, random_bits)

    def _held_degrees(
        self, lists: NeighbourLists, links: tuple[NDArray[np.int64], NDArray[np.int64]]
    ) -> NDArray[np.int64]:
        """Return the number of neighbours of each user."""
        return np.bincount(links[0], minlength=len(lists.owners))

    def neighbours(self, reports: Reports) -> tuple[NDArray[np.int64], NDArray[np.unsignedinteger]]:
        kept = np.ones(reports.codes.size, dtype=bool)
        kept[reports.indptr[1:] - 1] = False
        return reports.indptr - np.arange(len(reports.indptr)), reports.codes[kept]

    def degrees(self, reports: Reports) -> NDArray[np.int64]:
        """Return the noisy degree of each reporting user."""
        return reports.codes[reports.indptr[1:] - 1].astype(np.int64) - self.size

    def check_reports(self, reports: Reports) -> None:
        """Refuse reports that do not end with a degree, or that hold another one."""
        ends = np.zeros(reports.codes.size, dtype=bool)
        ends[reports.indptr[1:][reports.lengths > 0] - 1] = True
        if (reports.lengths == 0).any() or not np.array_equal(reports.codes >= self.size, ends):
            raise MessageError(f"a report of {self.name} must name users and end with one degree")

    def asked(self, owner: int) -> list[int]:
        if self.ends == "one":
            return super().asked(owner)
        return [other for other in range(self.size) if other != owner]

    def degree_of(self, owner: int, neighbours: list[int]) -> int:
        """Return the degree that a user with these neighbours reports, before noise."""
        return min(len(neighbours), self.size - 1)

    def counts_of(self, answers: list[int], degree: int | None) -> tuple[NDArray[np.object_], int]:
        """Return how often each whole report occurs with these answers and this degree, out of the total."""
        assert degree is not None
        counts, total = super().counts_of(answers, None)
        noisy = np.array(self.counted.row(degree), dtype=object)
        return np.outer(noisy, counts).ravel(), total * self.counted.total

    def possible_reports(self) -> Reports:
        """Return every set of neighbours with every degree; user 0 is the lowest bit of a list's number."""
        self._check_enumerable()
        pointers, named = self._subsets()
        degrees = np.repeat(np.arange(self.size), len(pointers) - 1)
        return self._reports(np.tile(np.diff(pointers), self.size), np.tile(named, self.size), degrees)

    def describe_outcome(self, index: int) -> str:
        degree, subset = divmod(index, 1 << self.size)
        return f"{super().describe_outcome(subset)}, degree {degree}"

    def blind(self) -> Self:
        return replace(
            self,
            name=f"blind {self.name}",
            claim=Claim(0.0),
            channel=self.channel.blind(),
            degree_channel=self.counted.blind(),
        )

    def described(self) -> dict[str, Any]:
        return {**super().described(), "ends": self.ends}

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.name}, epsilon={self.claim.epsilon:g} a link, {self.size} users, "
            f"{self.ends} of two answering)"
        )


# A user who has more links than the noisy number and the usual noise takes words of their own for the others: noise that
# leads there has at most so many counts of 2^62, one in 2^30.
RARE = 1 << 32


@dataclass(frozen=True, eq=False, repr=False)
class SampledLinkMechanism(DegreeLinkMechanism):
    """Every user answers for smaller numbers, tells with noise how many links these are, and names about as many of the yes.

    User i is asked about i others, d of whom are neighbours. Randomized response alone says yes about d(1-2q) + iq of them, on
    large graphs mostly wrongly. Each yes is kept with probability θ = d̃/(d̃(1-2q) + iq), at most 1, where d̃ is the noisy
    number that is reported besides: about d̃ are left.

    Both steps are one draw: a pair that is no link is named with probability a = qθ, rounded up to a count of 2^62, a link
    with b = ⌊a(1-q)/q⌋. Pairs between two that are named by mistake are skipped, and a link takes one word, so time and memory
    grow with what is reported. How many words are drawn follows from d̃, which is sent, and not from the list: words for d̃
    links and the usual noise are drawn whether or not there are so many.

    An estimate is the named neighbours themselves, and biased: of d̃ = 0 nothing can be told.

    Source: Hidano and Murakami (2024), DPRR.
    Claim: E for any two graphs that differ in one link, which is in one answer and in one number. Given d̃, b/a ≤ (1-q)/q,
    and with a ≤ q also (1-a)/(1-b) ≤ (1-q)/q: sampling adds nothing to what the answer and the number cost.
    """

    unbiased: bool = False
    independent: ClassVar[bool] = False
    bits_by_reports: ClassVar[bool] = True
    as_many_as_links: ClassVar[bool] = True
    degrees_of_a_link: ClassVar[int] = 1

    def kept(self, degrees: NDArray[np.int64], users: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """Return θ of each of some users who reported these numbers.

        ``users`` defaults to all users from 0 on.
        """
        asked = np.minimum(np.arange(len(degrees)) if users is None else users, self.size)
        return self._all_named_counts(asked, degrees)[:, 0] / self.channel.other

    def named_counts(self, asked: int, degree: int) -> tuple[int, int]:
        """Return how often, out of 2^62, a user with these numbers names a pair without a link, and a link.

        ``asked`` is the number of pairs that the user is asked about, ``degree`` the noisy number of links.
        """
        wrong = self.channel.other
        right = TOTAL - wrong
        if 2 * degree >= asked:
            return wrong, right
        expected = degree * (right - wrong) + asked * wrong
        by_mistake = min(-(-wrong * degree * TOTAL // expected), wrong)
        return by_mistake, by_mistake * right // wrong

    def _all_named_counts(self, asked: NDArray[np.int64], degrees: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the named counts of each of some users.

        Those with the same numbers share the computation.
        """
        width = int(degrees.max(initial=0)) + 1
        alike, which = np.unique(asked * width + degrees, return_inverse=True)
        counts = [self.named_counts(*divmod(code, width)) for code in alike.tolist()]
        return np.array(counts, dtype=np.int64).reshape(-1, 2)[which]

    @cached_property
    def usual_noise(self) -> int:
        """A bound of the noise: values below its negative are rare."""
        tails = np.array(self.counted.tails)
        return int(np.count_nonzero(tails > RARE))

    def _held_degrees(
        self, lists: NeighbourLists, links: tuple[NDArray[np.int64], NDArray[np.int64]]
    ) -> NDArray[np.int64]:
        """Return the number of neighbours with smaller numbers of each user."""
        rows, others = links
        return np.bincount(rows[others < lists.owners[rows]], minlength=len(lists.owners))

    def degree_of(self, owner: int, neighbours: list[int]) -> int:
        return min(sum(other < owner for other in neighbours), self.size - 1)

    def _named_beside(
        self, degrees: NDArray[np.int64], pairs: AskedPairs, random_bits: RandomBits
    ) -> tuple[NDArray[np.int64], NDArray[np.unsignedinteger]]:
        asked = np.diff(pairs.starts)
        counts = self._all_named_counts(asked, degrees)
        rows, others = happened_in_rows(asked, counts[:, 0], random_bits)
        places = pairs.starts[rows] + others
        named = self._named_links(degrees, pairs, counts[:, 1], random_bits)
        if self.channel.truthful:
            places = np.union1d(np.setdiff1d(places, pairs.held, assume_unique=True), named)
        rows, others = pairs.named(places)
        return np.bincount(rows, minlength=pairs.users), others.astype(code_type(self.shape.alphabet))

    def _named_links(
        self,
        degrees: NDArray[np.int64],
        pairs: AskedPairs,
        counts: NDArray[np.int64],
        random_bits: RandomBits,
    ) -> NDArray[np.int64]:
        """Draw the links that are named, each with a word of its own.

        The noisy numbers decide how many words are drawn.
        """
        starts = row_pointers(np.minimum(np.diff(pairs.starts), degrees + self.usual_noise))
        drawn = random_bits.take(int(starts[-1]))
        if not self.channel.truthful:
            return pairs.held[:0]
        rows = np.searchsorted(pairs.starts, pairs.held, side="right") - 1
        ranks = np.arange(len(rows)) - np.searchsorted(rows, rows)
        own = starts[rows] + ranks
        beyond = own >= starts[rows + 1]
        taken = np.empty(len(rows), dtype=np.uint64)
        taken[~beyond] = drawn[own[~beyond]]
        taken[beyond] = random_bits.take(int(beyond.sum()))
        return pairs.held[taken >> np.uint64(2) < counts[rows].astype(np.uint64)]

    def counts_of(self, answers: list[int], degree: int | None) -> tuple[NDArray[np.object_], int]:
        """Return how often each whole report occurs with these answers and this number, out of the total."""
        assert degree is not None
        parts = []
        for noisy, weight in enumerate(self.counted.row(degree)):
            by_mistake, right = self.named_counts(len(answers), noisy)
            counts = np.array([weight], dtype=object)
            for bit in answers:
                yes = right if bit > 0 and self.channel.truthful else by_mistake
                counts = np.outer(np.array([TOTAL - yes, yes], dtype=object), counts).ravel()
            parts.append(counts)
        return np.concatenate(parts), TOTAL ** (len(answers) + 1)

    def described(self) -> dict[str, Any]:
        return {**super().described(), "sampled": True}


# The part of a link's budget that degrees get: of 0.02, 0.03, 0.05 and 0.1 validation users of cora liked the smallest best.
DEGREE_SHARE = 0.02


def build_blink(
    epsilon: float, dims: int, share: float = DEGREE_SHARE, ends: str = "one"
) -> DegreeLinkMechanism:
    """Build BLINK: a neighbour list by randomized response and a noisy degree.

    One link costs ε over both its ends.

    Parameters
    ----------
    epsilon
        The budget of one link, over both its ends.
    dims
        The number of users.
    share
        The part of ε for degrees, of which a link is in two. It is small, since the answers tell degrees
        better than a tenth of ε does, which is what BLINK gives them.
    ends
        With "one" a pair is answered by the user with the larger number, at the rest of ε; with "both", as
        published, by both its users, at half of the rest each.
    """
    part = _share_for_degrees(share, dims)
    if not (isinstance(ends, str) and ends in ("one", "both")):
        raise InputError(f"ends must be 'one' or 'both' (who answers for a pair), got {short(ends)}")
    rest = epsilon * (1 - part)
    return verified(
        DegreeLinkMechanism(
            "blink",
            Claim(epsilon),
            int(dims),
            kary(rest if ends == "one" else rest / 2, 2),
            degree_channel=counting(epsilon * part / 2, int(dims)),
            ends="one" if ends == "one" else "both",
        )
    )


def build_dprr(epsilon: float, dims: int, share: float = 0.1) -> SampledLinkMechanism:
    """Build DPRR: neighbours by randomized response, of which about as many are named as there are links.

    Users answer for smaller numbers, and report with noise how many links these are.

    Parameters
    ----------
    epsilon
        The budget of one link.
    dims
        The number of users.
    share
        The part of ε for the number. A link is in one number: that of the user with the larger number.
    """
    part = _share_for_degrees(share, dims)
    return verified(
        SampledLinkMechanism(
            "dprr",
            Claim(epsilon),
            int(dims),
            kary(epsilon * (1 - part), 2),
            degree_channel=counting(epsilon * part, int(dims)),
        )
    )


def _share_for_degrees(share: Any, dims: Any) -> float:
    """Return the part of a link's ε that degrees get; refuse an invalid share or number of users."""
    check_dims(dims, what="users")
    check_whole(dims, "dims", least=2, why="users whose degrees can be asked for")
    return check_number(share, "share", above=0, below=1)
