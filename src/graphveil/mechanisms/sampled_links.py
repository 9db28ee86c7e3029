"""Lists of neighbours of which as many are named as there are links: randomized response, then sampling by a noisy number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.exact import TOTAL
from graphveil.channels.sampling import Words, code_type
from graphveil.mechanisms.base import Estimate
from graphveil.mechanisms.degree_links import DegreeLinkMechanism
from graphveil.mechanisms.exact_sampling import happened_in_rows
from graphveil.mechanisms.links import AskedPairs, NeighbourLists
from graphveil.mechanisms.reports import Reports, row_pointers

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
    words_by_reports: ClassVar[bool] = True

    @property
    def degrees_of_a_link(self) -> int:
        return 1

    @property
    def as_many_as_links(self) -> bool:
        return True

    def kept(self, degrees: NDArray[np.int64], users: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """θ of each of some users who reported these numbers; all users from 0 on, unless their own numbers are given."""
        asked = np.minimum(np.arange(len(degrees)) if users is None else users, self.size)
        return self._all_named_counts(asked, degrees)[:, 0] / self.channel.other

    def named_counts(self, asked: int, degree: int) -> tuple[int, int]:
        """Of 2^62: how often a pair that is no link is named, and a link, by a user with so many pairs and this noisy number."""
        wrong = self.channel.other
        right = TOTAL - wrong
        if 2 * degree >= asked:
            return wrong, right
        expected = degree * (right - wrong) + asked * wrong
        by_mistake = min(-(-wrong * degree * TOTAL // expected), wrong)
        return by_mistake, by_mistake * right // wrong

    def _all_named_counts(self, asked: NDArray[np.int64], degrees: NDArray[np.int64]) -> NDArray[np.int64]:
        """The named counts of each of some users; those with the same numbers share the computation."""
        width = int(degrees.max(initial=0)) + 1
        alike, which = np.unique(asked * width + degrees, return_inverse=True)
        counts = [self.named_counts(*divmod(code, width)) for code in alike.tolist()]
        return np.array(counts, dtype=np.int64).reshape(-1, 2)[which]

    @cached_property
    def usual_noise(self) -> int:
        """Noise below minus this is rare."""
        tails = np.array(self.counted.tails)
        return int(np.count_nonzero(tails > RARE))

    def _held_degrees(
        self, lists: NeighbourLists, links: tuple[NDArray[np.int64], NDArray[np.int64]]
    ) -> NDArray[np.int64]:
        """How many neighbours with smaller numbers each user has."""
        rows, others = links
        return np.bincount(rows[others < lists.owners[rows]], minlength=len(lists.owners))

    def degree_of(self, owner: int, neighbours: list[int]) -> int:
        return min(sum(other < owner for other in neighbours), self.size - 1)

    def _named_beside(
        self, degrees: NDArray[np.int64], pairs: AskedPairs, words: Words
    ) -> tuple[NDArray[np.int64], NDArray[np.unsignedinteger]]:
        asked = np.diff(pairs.starts)
        counts = self._all_named_counts(asked, degrees)
        rows, others = happened_in_rows(asked, counts[:, 0], words)
        places = pairs.starts[rows] + others
        named = self._named_links(degrees, pairs, counts[:, 1], words)
        if self.channel.truthful:
            places = np.union1d(np.setdiff1d(places, pairs.held, assume_unique=True), named)
        rows, others = pairs.named(places)
        return np.bincount(rows, minlength=pairs.users), others.astype(code_type(self.shape.alphabet))

    def _named_links(
        self, degrees: NDArray[np.int64], pairs: AskedPairs, counts: NDArray[np.int64], words: Words
    ) -> NDArray[np.int64]:
        """Which links are named, each by a word of its own; as many words are drawn as the noisy numbers say."""
        starts = row_pointers(np.minimum(np.diff(pairs.starts), degrees + self.usual_noise))
        drawn = words.take(int(starts[-1]))
        if not self.channel.truthful:
            return pairs.held[:0]
        rows = np.searchsorted(pairs.starts, pairs.held, side="right") - 1
        ranks = np.arange(len(rows)) - np.searchsorted(rows, rows)
        own = starts[rows] + ranks
        beyond = own >= starts[rows + 1]
        taken = np.empty(len(rows), dtype=np.uint64)
        taken[~beyond] = drawn[own[~beyond]]
        taken[beyond] = words.take(int(beyond.sum()))
        return pairs.held[taken >> np.uint64(2) < counts[rows].astype(np.uint64)]

    def estimate(self, reports: Reports) -> Estimate:
        pointers, named = self.neighbours(reports)
        shape, values = (reports.users, self.size), np.ones(named.size)
        return Estimate(shape, pointers, named.astype(np.int32), values, 0.0, self.unbiased)

    def counts_of(self, answers: list[int], degree: int | None) -> tuple[NDArray[np.object_], int]:
        """How often each whole report comes of a user with these answers and this number, out of the total."""
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
