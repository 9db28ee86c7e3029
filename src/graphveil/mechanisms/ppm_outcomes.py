"""All whole reports of a personal mechanism and how likely each is: what an audit enumerates."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.alias import code_type
from graphveil.channels.channel import Channel, FiniteChannel, Values
from graphveil.errors import InputError
from graphveil.mechanisms.asking import Asking
from graphveil.mechanisms.base import MAX_OUTCOMES
from graphveil.mechanisms.ppm_ways import Way, groups


@dataclass(frozen=True)
class Outcomes:
    """Whole reports that differ in the codes of their answers alone."""

    chosen: tuple[int, ...]
    level_code: int
    way: Way
    answered: tuple[int, ...]
    # How often these dimensions are named, beside others.
    weight: int

    @property
    def shape(self) -> tuple[int, ...]:
        """How many codes each answer can have."""
        return (self.way.channel.output_count,) * self.way.count

    @property
    def size(self) -> int:
        """How many there are."""
        return int(self.way.channel.output_count**self.way.count)


@dataclass(frozen=True)
class WholeReports:
    """Every possible whole report of a personal mechanism, in a fixed order."""

    name: str
    asking: Asking
    level_channel: Channel
    ways: tuple[tuple[Way, ...], ...]

    @property
    def most(self) -> int:
        """The number of values that everybody names."""
        return self.asking.count

    def parts(self) -> Iterator[Outcomes]:
        """All of them, in parts: by dimensions named, τ', how values are answered, and which."""
        levels = range(self.level_channel.output_count)
        ways = {code: self._ways_at(code) for code in levels}
        size = self.asking.choices * sum(
            math.comb(self.most, way.count) * float(way.channel.output_count) ** way.count
            for code in levels
            for way in ways[code]
        )
        if size > MAX_OUTCOMES:
            raise InputError(
                f"{self.name} has too many different reports to enumerate: take fewer dimensions"
            )
        subsets, weights, _ = self.asking.subsets()
        for chosen, weight in zip(subsets, weights, strict=True):
            for code in levels:
                for way in ways[code]:
                    for answered in combinations(chosen, way.count):
                        yield Outcomes(chosen, code, way, answered, weight)

    def _ways_at(self, code: int) -> list[Way]:
        """One way of each group that a report beside this τ' cannot tell apart."""
        ways = tuple(ways[code] for ways in self.ways)
        return [ways[group[0]] for group in groups(ways).values()]

    def counts(self, level: int, values: Values) -> tuple[NDArray[np.object_], int]:
        """How often each occurs for a level (counted from 0) and values of [-1, 1], out of the returned total; exact."""
        counts, total = [], self.level_channel.total
        named, orders = self.level_channel.row(level), self._orders
        for part in self.parts():
            way = self.ways[level][part.level_code]
            if (way.count, way.first) != (part.way.count, part.way.first):
                counts.append(np.zeros(part.size, dtype=object))
                continue
            rows = [_exact_row(way.channel, float(values[place])) for place in part.answered]
            left = (
                total ** (self.most - way.count) * (orders // math.comb(self.most, way.count)) * part.weight
            )
            counts.append(named[part.level_code] * left * reduce(np.multiply.outer, rows).ravel())
        draws = self.asking.subsets()[2] * orders * total ** (self.most + 1)
        return np.concatenate(counts), draws

    @property
    def _orders(self) -> int:
        return math.lcm(*{math.comb(self.most, way.count) for ways in self.ways for way in ways})

    def listed(self, blank: int, alphabet: int) -> tuple[NDArray[np.int32], NDArray[np.unsignedinteger]]:
        """The dimensions that each names, and its codes: those of the values, with blanks, and the level's."""
        dims, codes = [], []
        for part in self.parts():
            block = np.full((part.size, self.most + 1), blank, dtype=code_type(alphabet))
            answered = [part.chosen.index(place) for place in part.answered]
            block[:, answered] = part.way.first + np.indices(part.shape).reshape(part.way.count, -1).T
            block[:, -1] = part.level_code
            codes.append(block)
            dims.append(np.tile(np.array(part.chosen, dtype=np.int32), (part.size, 1)))
        return np.concatenate(dims), np.concatenate(codes)

    def describe(self, index: int) -> str:
        """The one at this place, in words."""
        for part in self.parts():
            if index < part.size:
                codes = part.way.first + np.array(np.unravel_index(index, part.shape))
                parts = [f"randomized level {self.level_channel.outputs[part.level_code]:g}"]
                parts += [
                    f"dimension {place} = code {code}"
                    for place, code in zip(part.answered, codes, strict=True)
                ]
                return ", ".join(parts)
            index -= part.size
        raise InputError("there is no such report")


def _exact_row(channel: FiniteChannel, value: float) -> NDArray[np.object_]:
    """The counts of a value that is one of the inputs."""
    symbol = int(np.abs(channel.inputs - value).argmin())
    if abs(channel.inputs[symbol] - value) > 1e-9:
        raise InputError("reports are enumerated for values on the grid, got one between two symbols")
    return np.array(channel.row(symbol), dtype=object)
