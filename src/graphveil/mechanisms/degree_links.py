"""Lists of neighbours with noisy degrees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.counting import CountingChannel
from graphveil.channels.exact import Claim, Loss
from graphveil.channels.sampling import SystemWords, Words, code_type
from graphveil.errors import MessageError
from graphveil.mechanisms.base import Answer, ReportShape
from graphveil.mechanisms.links import AskedPairs, Ends, LinkMechanism, NeighbourLists
from graphveil.mechanisms.reports import Reports, row_pointers


@dataclass(frozen=True, eq=False, repr=False)
class DegreeLinkMechanism(LinkMechanism):
    """Every user reports a list of neighbours by randomized response, and besides how many there are, with integer noise.

    With ``answering`` "one" a pair is answered by the user with the larger number alone, as `LinkMechanism` has it; with "both"
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
    answering: Ends = "one"

    @property
    def ends(self) -> Ends:
        return self.answering

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
        """Everybody at most, and a degree, with codes of its own."""
        return ReportShape(self.size + 1, 2 * self.size, self.size, uneven=True)

    @property
    def loss(self) -> Loss:
        """The exact loss of one link over both its ends: it is in one answer or in two, and in two degrees."""
        answered = 2 if self.ends == "both" else 1
        return Loss.total(
            [self.channel.loss.times(answered), self.counted.loss.times(self.degrees_of_a_link)]
        )

    @property
    def degrees_of_a_link(self) -> int:
        """How many of the reported degrees a link is in."""
        return 2

    @property
    def whole_degrees(self) -> bool:
        return self.degrees_of_a_link == 2

    @property
    def degree_variance(self) -> float:
        return self.counted.variance

    def randomize(self, private: Any, words: Words | None = None) -> Reports:
        source = SystemWords() if words is None else words
        lists = self._lists(private)
        links = self._links(lists)
        held = np.minimum(self._held_degrees(lists, links), self.size - 1)
        degrees = self.counted.respond(held, source).astype(np.int64)
        counts, others = self._named_beside(degrees, self._pairs(lists, links), source)
        return self._reports(counts, others, degrees)

    def _reports(
        self, counts: NDArray[np.int64], others: NDArray[np.integer], degrees: NDArray[np.int64]
    ) -> Reports:
        """So many neighbours of each user, and the degree after them."""
        pointers = row_pointers(counts + 1)
        codes = np.empty(pointers[-1], dtype=code_type(self.shape.alphabet))
        last = np.zeros(codes.size, dtype=bool)
        last[pointers[1:] - 1] = True
        codes[last], codes[~last] = self.size + degrees, others
        return Reports(self, pointers, None, codes)

    def _named_beside(
        self, degrees: NDArray[np.int64], pairs: AskedPairs, words: Words
    ) -> tuple[NDArray[np.int64], NDArray[np.unsignedinteger]]:
        """About how many each user answers yes, and about whom, where they have reported these degrees."""
        return self._named(pairs, words)

    def _held_degrees(
        self, lists: NeighbourLists, links: tuple[NDArray[np.int64], NDArray[np.int64]]
    ) -> NDArray[np.int64]:
        """How many neighbours each user has."""
        return np.bincount(links[0], minlength=len(lists.owners))

    def neighbours(self, reports: Reports) -> tuple[NDArray[np.int64], NDArray[np.unsignedinteger]]:
        kept = np.ones(reports.codes.size, dtype=bool)
        kept[reports.indptr[1:] - 1] = False
        return reports.indptr - np.arange(len(reports.indptr)), reports.codes[kept]

    def degrees(self, reports: Reports) -> NDArray[np.int64]:
        """The noisy degree of each reporting user."""
        return reports.codes[reports.indptr[1:] - 1].astype(np.int64) - self.size

    def check_reports(self, reports: Reports) -> None:
        """Every report ends with a degree, and has no other."""
        ends = np.zeros(reports.codes.size, dtype=bool)
        ends[reports.indptr[1:][reports.lengths > 0] - 1] = True
        if (reports.lengths == 0).any() or not np.array_equal(reports.codes >= self.size, ends):
            raise MessageError(
                f"a report of {self.name} must name neighbours below {self.size} and end with one degree, as a code from "
                f"{self.size} on"
            )

    def asked(self, owner: int) -> list[int]:
        if self.ends == "one":
            return super().asked(owner)
        return [other for other in range(self.size) if other != owner]

    def degree_of(self, owner: int, neighbours: list[int]) -> int:
        """The degree that a user with these neighbours reports, before noise."""
        return min(len(neighbours), self.size - 1)

    def joint_counts(self, private: Any) -> tuple[NDArray[np.object_], int]:
        """In the order of `possible_reports`: degree by degree, user 0 being the lowest bit of a list's number."""
        self._check_enumerable()
        answers = np.asarray(private).tolist()
        held = [other for other, bit in enumerate(answers) if bit > 0]
        return self.counts_of(answers, self.degree_of(self.size, held))

    def counts_of(self, answers: list[int], degree: int | None) -> tuple[NDArray[np.object_], int]:
        """How often each whole report comes of a user with these answers and this degree, out of the total."""
        assert degree is not None
        counts, total = super().counts_of(answers, None)
        noisy = np.array(self.counted.row(degree), dtype=object)
        return np.outer(noisy, counts).ravel(), total * self.counted.total

    def possible_reports(self) -> Reports:
        """Every set of neighbours with every degree; user 0 is the lowest bit of a list's number."""
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
