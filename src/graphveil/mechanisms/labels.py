"""One symbol a user: a label by k-ary response, a level by the extended square wave, one item of a sparse binary row."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.channel import FiniteChannel
from graphveil.channels.exact import MAX_EPSILON, TOTAL, Claim, Loss, check_epsilon
from graphveil.channels.kary import KaryChannel, kary
from graphveil.channels.sampling import DrawnBits, RandomBits, SystemBits
from graphveil.channels.square_wave import esw
from graphveil.checks import check_whole
from graphveil.errors import InputError
from graphveil.mechanisms.base import (
    Answer,
    Enumerable,
    Estimate,
    ReportShape,
    RowMechanism,
    Subject,
    verified,
)
from graphveil.mechanisms.limits import check_dims
from graphveil.mechanisms.reports import Reports, even_pointers, row_pointers
from graphveil.mechanisms.rows import PublicRange, Rows, listed


class SingleAnswerMechanism(Enumerable):
    """A mechanism whose report is one code: the answer of ``channel`` to one symbol."""

    channel: FiniteChannel
    # What an answer adds to the estimate of the symbol that it names, and what every estimate starts from.
    entry: float = 1.0
    offset: float = 0.0

    @property
    def answers(self) -> tuple[Answer, ...]:
        return (Answer(self.channel, 1),)

    @abstractmethod
    def encode(
        self, private: Any, random_bits: RandomBits
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
        """Return the symbol of each user, and whether they hold one; None where everybody does."""

    def randomize(self, private: Any, random_bits: RandomBits | None = None) -> Reports:
        source = SystemBits() if random_bits is None else random_bits
        symbols, fits = self.encode(private, source)
        if fits is None:
            codes = self.channel.respond(symbols, source)
        else:
            drawn = source.take(symbols.size)
            codes = self.channel.respond(symbols, DrawnBits(drawn.copy()))
            # A user who holds none of the symbols answers at random, from the same words.
            at_random = self._blind_channel.respond(symbols, DrawnBits(drawn))
            codes = np.where(fits, codes, at_random)
        return Reports(self, even_pointers(codes.size, 1), None, codes)

    @cached_property
    def _blind_channel(self) -> FiniteChannel:
        return self.channel.blind()

    def estimate(self, reports: Reports) -> Estimate:
        """Estimate the indicators of the first symbols, as many as there are dimensions."""
        shape = (reports.users, self.shape.dimensions)
        named = reports.codes < shape[1]
        values = np.full(int(named.sum()), self.entry)
        pointers = row_pointers(named.astype(np.int64))
        indices = reports.codes[named].astype(np.int32)
        return Estimate(shape, pointers, indices, values, self.offset, self.unbiased)

    def counts_of(self, symbols: Iterable[int]) -> tuple[NDArray[np.object_], int]:
        """Return how often each code occurs where one of these symbols is answered, and the total; exact."""
        rows = [np.array(self.channel.row(symbol), dtype=object) for symbol in symbols]
        counts: NDArray[np.object_] = np.sum(rows, axis=0)
        return counts, len(rows) * self.channel.total


@dataclass(frozen=True, eq=False, repr=False)
class SymbolMechanism(SingleAnswerMechanism):
    """A mechanism for one of the channel's input symbols, counted from ``first``.

    Users who hold none of them (a label beyond the last class, or no label) send a code of the blinded
    channel: whether somebody answers tells nothing about a symbol.
    """

    name: str
    claim: Claim
    channel: FiniteChannel
    subject: Subject
    first: int = 0
    unbiased: bool = True

    def encode(self, private: Any, random_bits: RandomBits) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        return self._symbols(private)

    def count(self, private: Any) -> int:
        return len(self._symbols(private)[0])

    def altered(self, private: Any) -> int:
        return int((~self._symbols(private)[1]).sum())

    def _symbols(self, private: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the symbol of every user, and whether what the user holds is one."""
        values = listed(private, f"{self.subject}s")
        last = self.first + self.channel.input_count - 1
        with np.errstate(all="ignore"):
            fits = (values >= self.first) & (values <= last) & (values % 1 == 0)
        return np.where(fits, values, self.first).astype(np.int64) - self.first, fits

    def extremes(self) -> list[int]:
        """Return the two symbols that an answer tells apart best."""
        worst = self.channel.worst
        return [self.first + worst.likelier, self.first + worst.rarer]

    def joint_counts(self, private: Any) -> tuple[NDArray[np.object_], int]:
        return self.counts_of([int(private) - self.first])

    def blind(self) -> Self:
        return replace(self, name=f"blind {self.name}", claim=Claim(0.0), channel=self.channel.blind())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, epsilon={self.claim.epsilon:g}, {self.channel!r})"


@dataclass(frozen=True, eq=False, repr=False)
class LabelMechanism(SymbolMechanism):
    """A label by k-ary response; the estimate is of its indicator: (1[answer = j] - q)/(p - q) for each class j.

    So ``entry`` = 1/(p-q) and ``offset`` = -q/(p-q).
    """

    entry: float = 1.0
    offset: float = 0.0

    @cached_property
    def shape(self) -> ReportShape:
        return ReportShape(1, self.channel.output_count, self.channel.output_count)

    @property
    def transition(self) -> NDArray[np.float64]:
        """The probability of reporting class j (column) for the true class i (row)."""
        return self.channel.probabilities


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
    """Return 1/(p-q) and -q/(p-q) of a k-ary response."""
    gap = channel.surplus / TOTAL
    return 1 / gap, -channel.other / TOTAL / gap


def build_krr(epsilon: float, classes: int) -> LabelMechanism:
    """Build the mechanism for a label by k-ary randomized response."""
    channel = kary(epsilon, classes)
    entry_value, offset = indicator_decoding(channel)
    return LabelMechanism("krr", Claim(epsilon), channel, "label", entry=entry_value, offset=offset)


def build_esw(epsilon: float, levels: int) -> LevelMechanism:
    """Build the mechanism for a level 1..f by the extended square wave."""
    return LevelMechanism("esw", Claim(epsilon), esw(epsilon, levels), "level", first=1, unbiased=False)


@dataclass(frozen=True, eq=False, repr=False)
class ItemMechanism(RowMechanism, SingleAnswerMechanism):
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
    entry: float = 1.0
    offset: float = 0.0
    subject: Subject = "features"
    unbiased: bool = True

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
        return self.entry

    @property
    def spread(self) -> float:
        """The root mean square of an entry of an estimate (offset aside): all entries are alike; public."""
        return self.entry

    def encode(self, private: Any, random_bits: RandomBits) -> tuple[NDArray[np.int64], None]:
        """Draw one of L places for every user: the item there, or the place's own blank if there is none."""
        rows = Rows(private, self.size)
        owners, items = rows.nonzero()
        counts = np.bincount(owners, minlength=rows.users)
        # A longer row draws from all its items: each is then drawn more rarely than 1/L, which costs no privacy.
        place = random_bits.below(np.maximum(counts, self.length), rows.users)
        symbols = self.size + place
        has = place < counts
        symbols[has] = items[row_pointers(counts)[:-1][has] + place[has]]
        return symbols, None

    def altered(self, private: Any) -> int:
        """Return the number of rows with more items than the public length, or values besides 0 and 1."""
        rows = Rows(private, self.size)
        long = np.bincount(rows.nonzero()[0], minlength=rows.users) > self.length
        return int((long | rows.outside(PublicRange(0.0, 1.0), binary=True)).sum())

    def extremes(self) -> list[NDArray[np.int64]]:
        """Return no item against as many as fit, and one item against another."""
        full = np.zeros(self.size, dtype=np.int64)
        full[: self.length] = 1
        first, last = np.zeros_like(full), np.zeros_like(full)
        first[0] = last[-1] = 1
        return [np.zeros_like(full), full, first, last]

    def joint_counts(self, private: Any) -> tuple[NDArray[np.object_], int]:
        items = Rows(np.asarray(private)[None, :], self.size).nonzero()[1]
        if items.size > self.length:
            raise InputError(f"only rows of at most {self.length} items are enumerated, got {items.size}")
        return self.counts_of([*items.tolist(), *range(self.size + len(items), self.size + self.length)])

    def blind(self) -> Self:
        return replace(self, name=f"blind {self.name}", claim=Claim(0.0), channel=self.channel.blind())

    def described(self) -> dict[str, Any]:
        return {"dims": self.size, "length": self.length, "entry": self.entry, "offset": self.offset}

    def __repr__(self) -> str:
        return f"ItemMechanism({self.name}, epsilon={self.claim.epsilon:g}, 1 of {self.length} from {self.size} items)"


def amplified(epsilon: float, length: int) -> float:
    """Return ln(1+L(e^ε-1)), the ε of the response that leaves ε for a draw of one of L places.

    >>> amplified(1.0, 1)
    1.0
    """
    return math.log1p(length * math.expm1(epsilon))


def build_item(epsilon: float, dims: int, length: int, range: Any = (0, 1)) -> ItemMechanism:
    """Build the mechanism for one item of a sparse binary row.

    Parameters
    ----------
    epsilon
        The budget of a whole row.
    dims
        d, the number of items.
    length
        L, the public length that rows are padded to.
    range
        (0, 1), the only range that is allowed: rows are binary.
    """
    check_dims(dims)
    if PublicRange.of(range) != PublicRange(0.0, 1.0):
        raise InputError(f"--range must be (0, 1) for item, whose rows are binary, got {range!r}")
    check_whole(length, "length", least=1, most=int(dims), why="the number of items")
    response = amplified(check_epsilon(epsilon), int(length))
    if response > MAX_EPSILON:
        most = math.log1p(math.expm1(MAX_EPSILON) / length)
        raise InputError(f"--epsilon must be at most {most:.4g} for item of length {length}, got {epsilon:g}")
    channel = kary(response, dims + length)
    entry_value, offset = indicator_decoding(channel)
    return verified(
        ItemMechanism(
            "item", Claim(epsilon), int(dims), int(length), channel, length * entry_value, length * offset
        )
    )
