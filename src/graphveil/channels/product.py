"""A product of binary channels: a value as a string of bits, each answered on its own."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.channel import Channel, Codes, FiniteChannel, Values, frozen
from graphveil.channels.exact import TOTAL_BITS, Claim, Loss, Worst, exp_below
from graphveil.channels.sampling import RandomBits
from graphveil.errors import InputError


@dataclass(frozen=True, eq=False, repr=False)
class ProductChannel(FiniteChannel):
    """L binary channels side by side; symbol and code are L-bit integers, the first bit the highest.

    Every string of bits can be an input, so the losses of the bits add up to the loss of the whole, exactly.
    A row counts draws out of 2^(62L).
    """

    name: str
    bits: tuple[Channel, ...]
    inputs: Values
    outputs: Values
    claim: Claim

    def __post_init__(self) -> None:
        size = 1 << len(self.bits)
        if (
            any(bit.table.shape != (2, 2) for bit in self.bits)
            or len(self.inputs) != size
            or len(self.outputs) != size
        ):
            raise InputError(f"a product of {len(self.bits)} binary channels has {size} inputs and outputs")
        for field in ("inputs", "outputs"):
            object.__setattr__(self, field, frozen(np.array(getattr(self, field), dtype=np.float64)))

    @property
    def total(self) -> int:
        return 1 << TOTAL_BITS * len(self.bits)

    def _places(self) -> list[int]:
        return list(range(len(self.bits) - 1, -1, -1))

    def row(self, symbol: int) -> list[int]:
        counts = [1]
        for bit, place in zip(self.bits, self._places(), strict=True):
            zero, one = bit.row(symbol >> place & 1)
            counts = [count * part for count in counts for part in (zero, one)]
        return counts

    @cached_property
    def worst(self) -> Worst:
        output = likelier = rarer = 0
        ratio: Fraction | None = Fraction(1)
        for bit in self.bits:
            worst = bit.worst
            output = 2 * output + worst.output
            likelier, rarer = 2 * likelier + worst.likelier, 2 * rarer + worst.rarer
            ratio = None if ratio is None or worst.ratio is None else ratio * worst.ratio
        return Worst(output, likelier, rarer, ratio)

    @cached_property
    def loss(self) -> Loss:
        return Loss.total(bit.loss for bit in self.bits)

    def _divergence_at(self, epsilon: float) -> Fraction:
        """Exact but for e^ε, which is rounded down in the 57th digit.

        The two worst inputs differ in every bit (an equal bit reveals nothing); which way round, bit by bit, is tried.
        """
        power = exp_below(Fraction(epsilon)) if epsilon > 0 else Fraction(1)
        # Equal bits may change places: one pair stands for all that differ by that.
        pairs = {
            tuple(
                sorted(
                    (bit.fingerprint, symbol >> place & 1)
                    for bit, place in zip(self.bits, self._places(), strict=True)
                )
            ): symbol
            for symbol in range(self.input_count)
        }
        return max(
            self._divergence(symbol, self.input_count - 1 - symbol, power) for symbol in pairs.values()
        )

    def _divergence(self, likelier: int, rarer: int, power: Fraction) -> Fraction:
        top, bottom = power.numerator, power.denominator
        rows = zip(self.row(likelier), self.row(rarer), strict=True)
        return Fraction(sum(max(0, one * bottom - other * top) for one, other in rows), bottom * self.total)

    def blind(self) -> ProductChannel:
        blinded = tuple(bit.blind() for bit in self.bits)
        return ProductChannel(f"blind {self.name}", blinded, self.inputs, self.outputs, Claim(0.0))

    def described(self) -> dict[str, Any]:
        bits = [bit.fingerprint for bit in self.bits]
        return {"kind": "product", "bits": bits, "inputs": self.inputs, "outputs": self.outputs}

    def _respond(self, symbols: NDArray[np.integer], random_bits: RandomBits) -> Codes:
        codes = np.zeros(symbols.size, dtype=self.code_type)
        for bit, place in zip(self.bits, self._places(), strict=True):
            codes <<= 1
            codes |= bit._respond(symbols >> place & 1, random_bits)
        return codes
