"""One symbol a user: labels by k-ary response, levels by the extended square wave."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.channel import FiniteChannel
from graphveil.channels.exact import TOTAL, Claim
from graphveil.channels.kary import KaryChannel
from graphveil.channels.sampling import DrawnWords, SystemWords, Words
from graphveil.mechanisms.base import Answer, Estimate, Mechanism, ReportShape, Subject
from graphveil.mechanisms.reports import Reports, even_pointers
from graphveil.mechanisms.rows import listed


@dataclass(frozen=True, eq=False, repr=False)
class SymbolMechanism(Mechanism):
    """Every user holds one of the channel's input symbols, counted from ``first``, and sends one code.

    Whoever holds none of them (a label beyond the last class, or no label) sends a code of the blinded channel: whether
    somebody answers tells nothing about a symbol.
    """

    name: str
    claim: Claim
    channel: FiniteChannel
    subject: Subject
    first: int = 0
    unbiased: bool = True

    @property
    def answers(self) -> tuple[Answer, ...]:
        return (Answer(self.channel, 1),)

    def randomize(self, private: Any, words: Words | None = None) -> Reports:
        source = SystemWords() if words is None else words
        symbols, fits = self._symbols(private)
        drawn = source.take(symbols.size)
        codes = self.channel.respond(symbols, DrawnWords(drawn.copy()))
        # Whoever holds none of the symbols answers at random, from the same words.
        at_random = self._blind_channel.respond(symbols, DrawnWords(drawn))
        return Reports(self, even_pointers(symbols.size, 1), None, np.where(fits, codes, at_random))

    @cached_property
    def _blind_channel(self) -> FiniteChannel:
        return self.channel.blind()

    def count(self, private: Any) -> int:
        return len(self._symbols(private)[0])

    def altered(self, private: Any) -> int:
        return int((~self._symbols(private)[1]).sum())

    def _symbols(self, private: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The symbol of every user, and whether what the user holds is one."""
        values = listed(private, f"{self.subject}s")
        last = self.first + self.channel.input_count - 1
        with np.errstate(all="ignore"):
            fits = (values >= self.first) & (values <= last) & (values % 1 == 0)
        return np.where(fits, values, self.first).astype(np.int64) - self.first, fits

    def extremes(self) -> list[int]:
        """The two symbols that an answer tells apart best."""
        worst = self.channel.worst
        return [self.first + worst.likelier, self.first + worst.rarer]

    def joint_counts(self, private: Any) -> tuple[NDArray[np.object_], int]:
        return np.array(self.channel.row(int(private) - self.first), dtype=object), self.channel.total

    def blind(self) -> SymbolMechanism:
        return replace(self, name=f"blind {self.name}", claim=Claim(0.0), channel=self.channel.blind())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, epsilon={self.claim.epsilon:g}, {self.channel!r})"


@dataclass(frozen=True, eq=False, repr=False)
class LabelMechanism(SymbolMechanism):
    """A label by k-ary response; the estimate is of its indicator: (1[answer = j] - q)/(p - q) for each class j.

    ``entry`` = 1/(p-q) is what an answer adds to its class, ``offset`` = -q/(p-q) what every class starts from.
    """

    entry: float = 1.0
    offset: float = 0.0

    @cached_property
    def shape(self) -> ReportShape:
        return ReportShape(1, self.channel.output_count, self.channel.output_count)

    @property
    def transition(self) -> NDArray[np.float64]:
        """The probability of reporting class j (column) for the true class i (row)."""
        rows = [self.channel.row(symbol) for symbol in range(self.channel.input_count)]
        return np.array([[count / self.channel.total for count in row] for row in rows])

    def estimate(self, reports: Reports) -> Estimate:
        shape = (reports.users, self.shape.dimensions)
        values = np.full(reports.codes.size, self.entry)
        return Estimate(
            shape, reports.indptr, reports.codes.astype(np.int32), values, self.offset, self.unbiased
        )


@dataclass(frozen=True, eq=False, repr=False)
class LevelMechanism(SymbolMechanism):
    """A level by the extended square wave; the estimate is the level that the answer names, biased towards the middle."""

    @cached_property
    def shape(self) -> ReportShape:
        return ReportShape(1, self.channel.output_count, 1)

    def estimate(self, reports: Reports) -> Estimate:
        values = self.channel.outputs.take(reports.codes)
        return Estimate((reports.users, 1), reports.indptr, None, values, 0.0, self.unbiased)


def indicator_decoding(channel: KaryChannel) -> tuple[float, float]:
    """1/(p-q) and -q/(p-q) of a k-ary response."""
    gap = channel.surplus / TOTAL
    return 1 / gap, -channel.other / TOTAL / gap
