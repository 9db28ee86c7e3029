"""One item of a set: for sparse binary rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.exact import Claim, Loss
from graphveil.channels.kary import KaryChannel
from graphveil.channels.sampling import SystemWords, Words
from graphveil.errors import InputError
from graphveil.mechanisms.base import Answer, Estimate, Mechanism, ReportShape, Subject
from graphveil.mechanisms.reports import Reports, even_pointers, row_pointers
from graphveil.mechanisms.rows import PublicRange, Rows


@dataclass(frozen=True, eq=False, repr=False)
class ItemMechanism(Mechanism):
    """A row as a set of items, padded with L different blanks to a public length L; one of the L is drawn and answered.

    The answer is a k-ary response over the d items and the L blanks, so one code is sent, whatever the row holds. An
    item that a user has is drawn with probability 1/L, so L(1[answer = j]-q)/(p-q) is unbiased for it. A row with more
    than L items draws from all of them: its estimate is too small by L over their number. A value above 0 is an item.

    Source: padding and sampling, and what sampling saves, Wang, Li and Jha (2018), "Locally differentially private
    frequent itemset mining"; the response is `graphveil.channels.kary`.
    Claim: ε, although the response alone has p/q = 1+L(e^ε-1). Blank i fills place i only, so no symbol is drawn with a
    probability above 1/L, and every output has between q and q+(p-q)/L: a ratio of at most 1+(p/q-1)/L = e^ε.
    """

    name: str
    claim: Claim
    size: int
    length: int
    channel: KaryChannel
    entry: float
    offset: float
    subject: Subject = "features"
    unbiased: bool = True

    @property
    def answers(self) -> tuple[Answer, ...]:
        return (Answer(self.channel, 1),)

    @cached_property
    def shape(self) -> ReportShape:
        return ReportShape(1, self.channel.output_count, self.size)

    @property
    def loss(self) -> Loss:
        """The exact loss of the whole: what the draw leaves of the response's ratio."""
        if not self.channel.truthful:
            return Loss(())
        return Loss.of(1 + Fraction(self.channel.surplus, self.length * self.channel.other))

    @property
    def delta(self) -> float:
        return 0.0 if self.holds else 1.0

    @property
    def largest(self) -> float:
        """B, the largest magnitude of an entry of an estimate (offset aside); public."""
        return self.entry

    @property
    def spread(self) -> float:
        """The root mean square of an entry of an estimate (offset aside): all entries are alike; public."""
        return self.entry

    def randomize(self, private: Any, words: Words | None = None) -> Reports:
        source = SystemWords() if words is None else words
        codes = self.channel.respond(self.draw_items(Rows(private, self.size), source), source)
        return Reports(self, even_pointers(codes.size, 1), None, codes)

    def draw_items(self, rows: Rows, words: Words) -> NDArray[np.int64]:
        """For every user one of L places at random: the item there, or the place's own blank where the row has none."""
        owners, items = rows.nonzero()
        counts = np.bincount(owners, minlength=rows.users)
        # A longer row draws from all its items: each is then drawn more rarely than 1/L, which costs no privacy.
        place = words.below(np.maximum(counts, self.length), rows.users)
        symbols = self.size + place
        has = place < counts
        symbols[has] = items[row_pointers(counts)[:-1][has] + place[has]]
        return symbols

    def count(self, private: Any) -> int:
        return Rows(private, self.size).users

    def altered(self, private: Any) -> int:
        """How many rows hold more items than the public length, or values other than 0 and 1."""
        rows = Rows(private, self.size)
        long = np.bincount(rows.nonzero()[0], minlength=rows.users) > self.length
        return int((long | rows.outside(PublicRange(0.0, 1.0), binary=True)).sum())

    def estimate(self, reports: Reports) -> Estimate:
        codes = reports.codes.astype(np.int64)
        real = codes < self.size
        values = np.full(int(real.sum()), self.entry)
        indptr = row_pointers(real.astype(np.int64))
        shape = (reports.users, self.size)
        return Estimate(shape, indptr, codes[real].astype(np.int32), values, self.offset, self.unbiased)

    def extremes(self) -> list[NDArray[np.int64]]:
        """No item against as many as fit, and one item against another."""
        full = np.zeros(self.size, dtype=np.int64)
        full[: self.length] = 1
        first, last = np.zeros_like(full), np.zeros_like(full)
        first[0] = last[-1] = 1
        return [np.zeros_like(full), full, first, last]

    def joint_counts(self, private: Any) -> tuple[NDArray[np.object_], int]:
        items = Rows(np.asarray(private)[None, :], self.size).nonzero()[1]
        if items.size > self.length:
            raise InputError(
                f"reports are enumerated for rows of at most {self.length} items, got {items.size}"
            )
        drawn = [*items.tolist(), *range(self.size + len(items), self.size + self.length)]
        rows = [np.array(self.channel.row(symbol), dtype=object) for symbol in drawn]
        counts: NDArray[np.object_] = np.sum(rows, axis=0)
        return counts, self.length * self.channel.total

    def blind(self) -> ItemMechanism:
        return replace(self, name=f"blind {self.name}", claim=Claim(0.0), channel=self.channel.blind())

    def described(self) -> dict[str, Any]:
        return {"dims": self.size, "length": self.length, "entry": self.entry, "offset": self.offset}

    def __repr__(self) -> str:
        return f"ItemMechanism({self.name}, epsilon={self.claim.epsilon:g}, 1 of {self.length} from {self.size} items)"


def amplified(epsilon: float, length: int) -> float:
    """The ε of the response that leaves ε for the whole when one of L places is drawn: ln(1+L(e^ε-1)).

    >>> amplified(1.0, 1)
    1.0
    """
    return math.log1p(length * math.expm1(epsilon))
