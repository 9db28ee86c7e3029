"""k-ary randomized response, for any number of symbols, without a table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.build import family
from graphveil.channels.channel import Codes, SymbolChannel
from graphveil.channels.exact import TOTAL, Claim, Worst, check_epsilon, exp_below, target
from graphveil.channels.sampling import RandomBits
from graphveil.checks import check_whole
from graphveil.errors import InputError

MAX_SYMBOLS = 1 << 24


@dataclass(frozen=True, eq=False, repr=False)
class KaryChannel(SymbolChannel):
    """Every output has ``other`` counts; what is left of 2^62, the surplus, goes to one's own symbol.

    A draw is one word and one division: the first counts are the surplus, the rest is cut into k equal parts.
    A frequency is estimated from `other` and `surplus`, not from decoded symbols.
    A blind channel gives the surplus (fewer than k counts there) to symbol 0, whoever asks.
    """

    name: str
    size: int
    other: int
    claim: Claim
    truthful: bool = True

    def __post_init__(self) -> None:
        if self.size < 1 or self.other < 1 or self.surplus < 0:
            raise InputError(f"{self.size} symbols of at least {self.other} counts do not make up 2^62")

    @property
    def surplus(self) -> int:
        """The number of counts that one's own symbol has more than another."""
        return TOTAL - self.size * self.other

    @property
    def table(self) -> NDArray[np.int64]:
        """The whole table; for a small k."""
        return np.array([self.row(symbol) for symbol in range(self.size)], dtype=np.int64)

    def row(self, symbol: int) -> list[int]:
        counts = [self.other] * self.size
        counts[symbol if self.truthful else 0] += self.surplus
        return counts

    @property
    def worst(self) -> Worst:
        if not self.truthful:
            return Worst(0, 0, 0, Fraction(1))
        return Worst(0, 0, 1, Fraction(self.other + self.surplus, self.other) if self.other else None)

    def _divergence_at(self, epsilon: float) -> Fraction:
        # Only one's own output is likelier than e^ε times the other row's.
        return (self.other + self.surplus - exp_below(Fraction(epsilon)) * self.other) / TOTAL

    def blind(self) -> KaryChannel:
        return KaryChannel(f"blind {self.name}", self.size, TOTAL // self.size, Claim(0.0), truthful=False)

    def described(self) -> dict[str, Any]:
        return {"kind": "kary", "symbols": self.size, "other": self.other, "truthful": self.truthful}

    def _respond(self, symbols: NDArray[np.integer], random_bits: RandomBits) -> Codes:
        drawn = random_bits.take(symbols.size)
        drawn >>= np.uint64(2)
        surplus = np.uint64(self.surplus)
        own = drawn < surplus
        drawn -= surplus  # wraps around where `own`, which is overwritten below
        drawn //= np.uint64(self.other)
        codes = drawn.astype(self.code_type)
        np.copyto(codes, symbols if self.truthful else 0, where=own, casting="unsafe")
        return codes


@family
def kary(epsilon: float, size: int) -> KaryChannel:
    """k-ary randomized response: the own symbol with probability e^ε/(e^ε+k-1), each other with 1/(e^ε+k-1).

    Source: Kairouz, Bonawitz and Ramage (2016), "Discrete distribution estimation under local privacy"; for k = 2
    Warner (1965).
    Claim: ε. A column holds two different numbers, q (somebody else's symbol) and p (one's own). With q rounded up,
    p = 2^62 - (k-1)q is at most e^ε·q.

    >>> kary(1.0, 7).epsilon <= 1.0
    True
    """
    epsilon = check_epsilon(epsilon)
    size = check_whole(size, "the number of symbols", least=2, most=MAX_SYMBOLS)
    other = math.ceil(TOTAL / (exp_below(target(epsilon)) + size - 1))
    if size * other >= TOTAL:
        raise InputError(
            f"epsilon must be larger than about {size * size / TOTAL:.2g} for {size} symbols, got {epsilon:g}: "
            "2^62 counts cannot resolve less; spend it on fewer values or use fewer symbols"
        )
    return KaryChannel(f"kary({size})", size, other, Claim(epsilon))
