"""A number of things with integer noise, for two numbers that differ by one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.build import family
from graphveil.channels.channel import Codes, SymbolChannel, frozen
from graphveil.channels.exact import (
    TOTAL,
    Claim,
    Worst,
    check_epsilon,
    exp_below,
    hockey_stick,
    target,
)
from graphveil.channels.sampling import RandomBits
from graphveil.checks import check_whole
from graphveil.errors import InputError

# Numbers that a table of noise is made for: it has a weight for each.
MAX_NUMBERS = 1 << 20
# Digits after the binary point that powers of e^-ε are carried with.
FRACTION_BITS = 128


@dataclass(frozen=True, eq=False, repr=False)
class CountingChannel(SymbolChannel):
    """A number of 0..size-1 plus integer noise, clipped to 0..size-1; ``weights`` are the counts of the noise 0, ±1, ±2, …

    The noise does not depend on the number, so its table is one list: noise of k has the count ``weights[|k|]`` out of 2^62.
    An output between the ends has one count, that of the difference; an end has the counts of all noise that leads there or
    beyond. The loss is that of two numbers that differ by one, and exact: from the integers.

    The noise has the mean 0, and is biased at the ends alone, where it is clipped. A draw is one word, looked up among the sums of counts. A blind channel answers everybody as if the number were 0.
    """

    name: str
    weights: NDArray[np.int64]
    claim: Claim
    truthful: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", frozen(np.array(self.weights, dtype=np.int64)))
        total = 2 * sum(self.weights.tolist()) - int(self.weights[0])
        if self.weights.min() < 1 or total != TOTAL:
            raise InputError(f"counts of noise must be at least 1 and sum to 2^62, they sum to {total}")

    @property
    def size(self) -> int:  # type: ignore[override]
        """The number of numbers."""
        return len(self.weights)

    @cached_property
    def tails(self) -> list[int]:
        """The number of counts of noise d or more, for each d."""
        sums: list[int] = np.cumsum(self.weights[::-1])[::-1].tolist()
        return sums

    @cached_property
    def variance(self) -> float:
        """The variance of the noise, before it is clipped."""
        squares = np.arange(self.input_count, dtype=np.float64) ** 2
        return float(2 * (self.weights / TOTAL) @ squares)

    def row(self, symbol: int) -> list[int]:
        number, last = symbol if self.truthful else 0, self.input_count - 1
        if last == 0:
            return [TOTAL]
        between = self.weights[np.abs(np.arange(1, last) - number)].tolist()
        return [self.tails[number], *between, self.tails[last - number]]

    @cached_property
    def worst(self) -> Worst:
        """The output that tells two numbers that differ by one apart best."""
        weights, tails = self.weights.tolist(), self.tails
        best = Worst(0, 0, 0, Fraction(1))
        if not self.truthful or self.input_count == 1:
            return best
        top, bottom = 1, 1
        for distance in range(self.input_count - 1):
            # Noise of the last weight leads to an end, whatever the number.
            if distance < self.input_count - 2 and weights[distance] * bottom > top * weights[distance + 1]:
                top, bottom = weights[distance], weights[distance + 1]
                best = Worst(1, 1 + distance, 2 + distance, None)
            if tails[distance] * bottom > top * tails[distance + 1]:
                top, bottom = tails[distance], tails[distance + 1]
                best = Worst(0, distance, distance + 1, None)
        return Worst(best.output, best.likelier, best.rarer, Fraction(top, bottom))

    def _divergence_at(self, epsilon: float) -> Fraction:
        pairs = (np.array([self.row(number), self.row(number + 1)]) for number in range(self.input_count - 1))
        return max(hockey_stick(pair, epsilon)[0] for pair in pairs)

    def blind(self) -> CountingChannel:
        return CountingChannel(f"blind {self.name}", self.weights, Claim(0.0), truthful=False)

    def described(self) -> dict[str, Any]:
        return {"kind": "counting", "weights": self.weights, "truthful": self.truthful}

    @cached_property
    def _sums(self) -> NDArray[np.int64]:
        """The sums of the counts of all noise from the lowest to each."""
        return np.cumsum(np.concatenate([self.weights[:0:-1], self.weights]))

    def _respond(self, symbols: NDArray[np.integer], random_bits: RandomBits) -> Codes:
        drawn = (random_bits.take(symbols.size) >> np.uint64(2)).astype(np.int64)
        last = self.input_count - 1
        noise = np.searchsorted(self._sums, drawn, side="right") - last
        numbers = symbols.astype(np.int64) if self.truthful else np.zeros(symbols.size, dtype=np.int64)
        noisy: Codes = np.clip(numbers + noise, 0, last).astype(self.code_type)
        return noisy


@family
def counting(epsilon: float, size: int) -> CountingChannel:
    """A number of 0..size-1 with two-sided geometric noise, clipped: numbers that differ by one are told apart by e^ε.

    Source: Ghosh, Roughgarden and Sundararajan (2009), the truncated geometric mechanism.
    Claim: ε for numbers that differ by one. With r = e^-ε, noise of k has ⌊A·r^|k|⌋ + f counts, f ≥ 3/(1-r), so that
    rounding and one count more for the middle never make a count larger than e^ε times the next: A·r^k + f is below
    e^ε·(A·r^(k+1) + f) by e^ε - 1 times f, which is at least 3e^ε. Noise of ±(size-1), which always leads to an end, also has what
    lies beyond, A·r^(size-1)/(1-r), and f/(e^ε-1) more, so that the tails shrink by no more than e^ε a step. f and what the
    ends have more are (2·size·f + 2f/ε)/2^62 of all mass: less than 10^-9 for ε = 0.001 and 100,000 numbers. The loss falls
    short of ε by 2^-40 of it, which every constructor leaves, and by about 6/(2^62 ε²).

    >>> counting(1.0, 100).epsilon <= 1.0
    True
    """
    epsilon = check_epsilon(epsilon)
    size = check_whole(size, "the number of numbers", least=2, most=MAX_NUMBERS)
    one = 1 << FRACTION_BITS
    growth = exp_below(target(epsilon))
    shrink = math.ceil(one / growth)  # r, rounded up, over 2^128
    kept = Fraction(shrink, one)
    floor = math.ceil(3 / (1 - kept))
    end = math.ceil((floor + 1) * kept / (1 - kept)) + 1
    left = TOTAL - (2 * size - 3) * floor - 2 * end
    power = int(left * (1 - kept) / (1 + kept) * one)
    weights = []
    for _ in range(size - 1):
        weights.append((power >> FRACTION_BITS) + floor)
        power = power * shrink >> FRACTION_BITS
    weights.append(int(Fraction(power, one) / (1 - kept)) + end)
    # What rounding has left goes to the ends, where more is always allowed, and an odd count to the middle.
    missing = TOTAL - 2 * sum(weights) + weights[0]
    weights[-1] += missing // 2
    weights[0] += missing % 2
    return CountingChannel(f"counting({size})", np.array(weights), Claim(epsilon))
