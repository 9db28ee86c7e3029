"""How values are answered and decoded in a personal mechanism: ways of answering, tables, reports, levels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.channel import Channel, FiniteChannel, Values
from graphveil.channels.exact import Claim
from graphveil.channels.sampling import DrawnWords, Words
from graphveil.errors import InputError, MessageError
from graphveil.mechanisms.features import Asking
from graphveil.mechanisms.personal import checked_shares, estimate_level_shares
from graphveil.mechanisms.reports import Reports
from graphveil.mechanisms.rows import binary_symbols, round_at_random

# One dimension's outputs of two channels decode to the same signs if they agree to this, scaled to their largest.
SAME_SIGNS = 1e-9


@dataclass(frozen=True)
class Way:
    """How a user of some level answers beside some randomized level: so many values through a channel.

    The codes of the answers are counted from ``first``.
    """

    count: int
    channel: FiniteChannel
    first: int = 0


def groups(ways: tuple[Way, ...]) -> dict[tuple[int, int], list[int]]:
    """Levels whose answers have the same number and the same codes beside one τ'."""
    levels_of: dict[tuple[int, int], list[int]] = {}
    for level, way in enumerate(ways):
        levels_of.setdefault((way.count, way.first), []).append(level)
    return levels_of


def check_alike(one: FiniteChannel, other: FiniteChannel) -> None:
    """Refuse channels whose codes do not stand for the same signs: a code would tell the levels apart."""
    alike = (
        one.output_count == other.output_count
        and np.array_equal(one.inputs, other.inputs)
        and np.abs(one.outputs / top(one) - other.outputs / top(other)).max() < SAME_SIGNS
    )
    if not alike:
        raise InputError(
            f"{one.name} answers with other codes at epsilon {one.claim.epsilon:g} than at {other.claim.epsilon:g}, which "
            "would betray the level: take onebit inside, or ppm-printed where levels need no protection"
        )


def top(channel: FiniteChannel) -> float:
    """The largest magnitude that an answer decodes to."""
    return float(np.abs(channel.outputs).max())


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """The rows of all channels in one table, so that a user's words do not depend on the levels of others.

    ``ways`` is how each level (counted from 0) answers beside each τ'; ``binary`` says that values are one of two.
    """

    ways: tuple[tuple[Way, ...], ...]
    claim: Claim
    binary: bool

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many values are answered, by level and randomized level."""
        return np.array([[way.count for way in ways] for ways in self.ways])

    @cached_property
    def blank(self) -> int:
        """The code of a dimension that is named and not answered: one more than any answer has."""
        return max(way.first + way.channel.output_count for ways in self.ways for way in ways)

    def respond(
        self, values: Values, levels: NDArray[np.int64], named: NDArray[np.unsignedinteger], words: Words
    ) -> NDArray[np.unsignedinteger]:
        """A code for each value of [-1, 1] (users x values), given everybody's level (from 0) and the code of their τ'."""
        rows = self._encode(values, self._starts[levels, named], words)
        return self._channel.respond(rows.ravel(), words).reshape(values.shape)

    def _encode(self, values: Values, starts: NDArray[np.int64], words: Words) -> NDArray[np.int64]:
        """Values of [-1, 1] as rows of the table: those of the channel that starts there."""
        if self.binary:
            return starts[:, None] + binary_symbols(values)
        # Words are drawn for all values alike: those of a user do not depend on the levels of others.
        chance = words.take(values.size).reshape(values.shape)
        rows = np.empty(values.shape, dtype=np.int64)
        for (channel, _), start in self._blocks.items():
            own = starts == start
            own_words = DrawnWords(chance[own].ravel())
            rows[own] = start + round_at_random(values[own], channel.inputs, own_words)
        return rows

    @cached_property
    def _blocks(self) -> dict[tuple[FiniteChannel, int], int]:
        """Where the rows of each channel start."""
        kinds = list(dict.fromkeys((way.channel, way.first) for ways in self.ways for way in ways))
        sizes = [channel.input_count for channel, _ in kinds]
        return dict(zip(kinds, (int(start) for start in np.cumsum([0, *sizes[:-1]])), strict=True))

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """Where the rows of the channel start that answers, by level and randomized level."""
        return np.array([[self._blocks[way.channel, way.first] for way in ways] for ways in self.ways])

    @cached_property
    def _channel(self) -> Channel:
        size = sum(channel.input_count for channel, _ in self._blocks)
        table = np.zeros((size, self.blank), dtype=np.int64)
        for (channel, first), start in self._blocks.items():
            for symbol in range(channel.input_count):
                table[start + symbol, first : first + channel.output_count] = channel.row(symbol)
        rows, codes = np.arange(float(len(table))), np.arange(float(self.blank))
        return Channel("all answers", table, rows, codes, self.claim)


@dataclass(frozen=True, eq=False)
class ReportForm:
    """Codes of as many values as anybody answers, in the order of the dimensions that are named, then that of τ', at place d.

    ``counts`` is how many values are answered by level (row) beside τ' (column); all others have the code ``blank``.
    """

    name: str
    asking: Asking
    blank: int
    level_codes: int
    counts: NDArray[np.int64]

    @property
    def length(self) -> int:
        """How many codes a report has."""
        return self.asking.count + 1

    def codes(self, reports: Reports) -> NDArray[np.unsignedinteger]:
        """All codes, a row a user."""
        return reports.codes.reshape(-1, self.length)

    def dims(self, reports: Reports) -> NDArray[np.int32]:
        """The dimensions that are named, a row a user."""
        if reports.dims is None:
            size = self.asking.size
            return np.broadcast_to(np.arange(size, dtype=np.int32), (reports.users, size))
        return reports.dims.reshape(-1, self.length)[:, :-1]

    def check(self, reports: Reports) -> None:
        """Refuse reports that nobody can have sent."""
        codes, size = self.codes(reports), self.asking.size
        if reports.dims is not None and (reports.dims.reshape(codes.shape)[:, -1] != size).any():
            raise MessageError(f"a report of {self.name} must end with its level, at place {size}")
        if (codes[:, -1] >= self.level_codes).any():
            raise MessageError(f"codes of levels must be below {self.level_codes}")
        if (codes[:, :-1] > self.blank).any():
            raise MessageError(f"codes of values must be at most {self.blank}, which is a blank")
        if reports.dims is not None and not self.asking.allows(self.dims(reports)):
            raise MessageError(
                f"a report of {self.name} must name as many values of the pool as its plan says"
            )
        answered = (codes[:, :-1] != self.blank).sum(axis=1)
        if not (self.counts.T[codes[:, -1]] == answered[:, None]).any(axis=1).all():
            raise MessageError(f"a report of {self.name} must answer as many values as its level says")


Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RandomizedLevels:
    """Levels 1..f, of which there are ``count``, and the channel that makes τ' of them."""

    channel: Channel
    count: int

    @cached_property
    def rows(self) -> list[list[int]]:
        """How many of the channel's draws give each τ', for each level."""
        return [self.channel.row(level) for level in range(self.count)]

    @cached_property
    def transition(self) -> Floats:
        """The probability of each τ' (column) for each level (row)."""
        return np.array([[count / self.channel.total for count in row] for row in self.rows])

    @cached_property
    def clamped(self) -> NDArray[np.int64]:
        """What each τ' is within 1..f, by its code."""
        return np.clip(self.channel.outputs, 1, self.count).astype(np.int64)

    def clamped_transition(self) -> Floats:
        """The probability of each τ' within 1..f (column) for each level (row)."""
        levels = range(1, self.count + 1)
        return np.stack([self.transition[:, self.clamped == level].sum(axis=1) for level in levels], axis=1)

    def shares(self, codes: NDArray[np.int64]) -> Floats:
        """Which share of users chose each level, estimated from the codes of all τ' by EM."""
        counts = np.bincount(codes, minlength=self.channel.output_count)
        return estimate_level_shares(counts, self.transition)

    def posterior(self, shares: Any) -> Floats:
        """P[τ | τ'] at these shares of the levels: a row a τ', a column a level."""
        prior = checked_shares(shares, self.count)
        joint = prior[:, None] * self.transition
        return np.asarray((joint / np.maximum(joint.sum(axis=0), 1e-300)).T)


@dataclass(frozen=True, eq=False)
class Decoding:
    """From codes to estimates: ``ways`` is how each level answers beside each τ', ``size`` is d, ``blank`` the largest code."""

    ways: tuple[tuple[Way, ...], ...]
    size: int
    levels: RandomizedLevels
    blank: int

    def table(self, shares: Any) -> Floats:
        """What each code (column) beside each τ' (row) adds to an estimate, in half widths; a blank adds 0.

        A sign s decodes to s·(d/m')/E[r(a_τ) | τ'], at these shares of the levels.
        """
        decoded = np.zeros((self.levels.channel.output_count, self.blank + 1))
        for place, weights in enumerate(self.levels.posterior(shares)):
            ways = tuple(ways[place] for ways in self.ways)
            for group in groups(ways).values():
                way, weight = ways[group[0]], weights[group]
                tops = np.array([top(ways[level].channel) for level in group])
                # r(a_τ) of a level is 1 over its magnitude; the signs are the same for all levels of the group.
                response = weight @ (1 / tops) / weight.sum() if weight.sum() > 0 else (1 / tops).mean()
                signs = way.channel.outputs / tops[0]
                codes = slice(way.first, way.first + way.channel.output_count)
                decoded[place, codes] = self.size / way.count * signs / response
        return decoded
