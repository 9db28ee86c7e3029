"""How values are answered in a personal mechanism, on the client: the channels of all ways of answering as one table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.channel import Channel, FiniteChannel, Values
from graphveil.channels.exact import Claim
from graphveil.channels.words import DrawnWords, Words
from graphveil.mechanisms.encode import binary_symbols, round_at_random
from graphveil.mechanisms.ppm_ways import Way


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
