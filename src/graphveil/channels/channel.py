"""Channel: a table of integers with what its outputs decode to, and its canonical bytes."""

from __future__ import annotations

import hashlib
import json
import struct
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import mul
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.exact import (
    TOTAL,
    Claim,
    Counts,
    Loss,
    Worst,
    hockey_stick,
    loss_at_delta,
    worst_ratio,
)
from graphveil.channels.sampling import BLOCK, AliasTable, RandomBits, SystemBits, WordArray, code_type
from graphveil.errors import ClaimError, InputError

ARRAYS = {"i": "<i8", "f": "<f8"}


def canonical(thing: Any) -> bytes:
    """The canonical bytes of numbers, words, true and false, null, arrays, and of lists and dictionaries of them.

    >>> canonical({"b": [1, True], "a": 0.5})
    b'{"a":"f3fe0000000000000","b":[1,true]}'
    """
    return json.dumps(_plain(thing), sort_keys=True, separators=(",", ":")).encode("ascii")


def digest(thing: Any) -> str:
    """The SHA-256 of the canonical bytes: 64 hexadecimal digits."""
    return hashlib.sha256(canonical(thing)).hexdigest()


def _plain(thing: Any) -> Any:
    if isinstance(thing, np.ndarray):
        kind = ARRAYS[thing.dtype.kind]
        data = np.ascontiguousarray(thing, dtype=kind).tobytes()
        return {"sha256": hashlib.sha256(data).hexdigest(), "shape": list(thing.shape), "type": kind}
    if isinstance(thing, (float, np.floating)):
        return "f" + struct.pack(">d", float(thing)).hex()
    if isinstance(thing, np.integer):
        return int(thing)
    if isinstance(thing, dict):
        return {str(key): _plain(value) for key, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [_plain(value) for value in thing]
    return thing


Values = NDArray[np.float64]
Codes = NDArray[np.unsignedinteger]


class FiniteChannel(ABC):
    """A finite channel: k input symbols, l output symbols, a row of counts out of 2^62 for each input.

    ``inputs`` are the public values that the input symbols stand for, ascending; a value between two of them is
    rounded to one of them at random, which keeps its mean. ``outputs`` are the decoded values of the output symbols.
    A channel is frozen: two channels are equal if their tables, values and claims are.
    """

    name: str
    inputs: Values
    outputs: Values
    claim: Claim

    @property
    def total(self) -> int:
        """The sum of a row."""
        return TOTAL

    @property
    def input_count(self) -> int:
        """k, the number of input symbols."""
        return len(self.inputs)

    @property
    def output_count(self) -> int:
        """l, the number of output symbols."""
        return len(self.outputs)

    @property
    def code_type(self) -> np.dtype[np.unsignedinteger]:
        """The smallest unsigned integer type that holds an output symbol."""
        return code_type(self.output_count)

    @abstractmethod
    def row(self, symbol: int) -> list[int]:
        """The counts of one input symbol; they sum to 2^62."""

    @cached_property
    def loss(self) -> Loss:
        """The exact privacy loss (at the claimed δ, if there is one)."""
        return self.worst.loss

    @property
    @abstractmethod
    def worst(self) -> Worst:
        """The output and the two inputs that reveal most."""

    def delta_at(self, epsilon: float) -> Fraction:
        """The exact δ at this ε: the hockey-stick divergence of the two worst rows."""
        return self._divergence_at(epsilon) if self.worst.loss.exceeds(epsilon) else Fraction(0)

    @abstractmethod
    def _divergence_at(self, epsilon: float) -> Fraction:
        """The divergence at an ε below that of the worst ratio."""

    @abstractmethod
    def blind(self) -> FiniteChannel:
        """The control: all rows equal to their mean, so that ε is exactly 0."""

    @abstractmethod
    def _respond(self, symbols: NDArray[np.integer], random_bits: RandomBits) -> Codes:
        """One code a symbol, at most a block of them."""

    @abstractmethod
    def described(self) -> dict[str, Any]:
        """Everything that decides what the channel draws and what that decodes to, as `canonical` takes it."""

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of what the channel is, in canonical bytes: its kind, its claim, its table and its values."""
        return digest({"claim": [self.claim.epsilon, self.claim.delta], **self.described()})

    @property
    def epsilon(self) -> float:
        """The exact ε, rounded up to a float (at the claimed δ, if there is one)."""
        return self.loss.epsilon

    @cached_property
    def delta(self) -> float:
        """The exact δ at the claimed ε, rounded up to a float."""
        exact = self.delta_at(self.claim.epsilon)
        value = float(exact)
        return float(np.nextafter(value, 1.0)) if Fraction(value) < exact else value

    @property
    def holds(self) -> bool:
        """Whether the claim holds; decided in exact arithmetic."""
        if self.claim.delta > 0:
            return self.delta_at(self.claim.epsilon) <= Fraction(self.claim.delta)
        return not self.loss.exceeds(self.claim.epsilon)

    def respond(self, symbols: NDArray[np.integer], random_bits: RandomBits | None = None) -> Codes:
        """Draw one output symbol for every input symbol, from the operating system's words unless told otherwise."""
        symbols = np.asarray(symbols)
        if symbols.dtype.kind not in "iu" or symbols.ndim != 1:
            raise InputError(f"symbols must be a list of integers, got {symbols.dtype} {symbols.shape}")
        if symbols.size and not 0 <= int(symbols.min()) <= int(symbols.max()) < self.input_count:
            raise InputError(f"symbols must lie in 0..{self.input_count - 1}: encode values first")
        source = SystemBits() if random_bits is None else random_bits
        codes = np.empty(symbols.size, dtype=self.code_type)
        for start in range(0, symbols.size, BLOCK):
            block = slice(start, min(start + BLOCK, symbols.size))
            codes[block] = self._respond(symbols[block], source)
        return codes

    def decode(self, codes: Codes) -> Values:
        """The decoded values of output symbols."""
        return self.outputs.take(codes)

    def moments(self, value: float) -> tuple[float, float]:
        """Mean and variance of the decoded report of any value in the public range, rounding at random included."""
        if not self.inputs[0] <= value <= self.inputs[-1]:
            raise InputError(f"value must lie in [{self.inputs[0]:g}, {self.inputs[-1]:g}], got {value!r}")
        upper = min(max(int(np.searchsorted(self.inputs, value)), 1), self.input_count - 1)
        gap = self.inputs[upper] - self.inputs[upper - 1]
        share = Fraction(float((value - self.inputs[upper - 1]) / gap))
        below, above = self._exact_moments(upper - 1), self._exact_moments(upper)
        mean = (1 - share) * below[0] + share * above[0]
        square = (1 - share) * below[1] + share * above[1]
        return float(mean), float(square - mean**2)

    @property
    def probabilities(self) -> Values:
        """The probability of each output (column) for each input symbol (row)."""
        rows = [self.row(symbol) for symbol in range(self.input_count)]
        return np.array(rows, dtype=np.float64) / float(self.total)

    @cached_property
    def root_mean_square(self) -> float:
        """The root mean square of a decoded report when all inputs are equally likely: a public scale."""
        blind = self.blind()
        shares = np.array([count / blind.total for count in blind.row(0)])
        return float(np.sqrt(shares @ self.outputs**2))

    @cached_property
    def means(self) -> Values:
        """The exact mean of the decoded report for each input symbol, rounded to floats."""
        return np.array([float(self._exact_mean(symbol)) for symbol in range(self.input_count)])

    @cached_property
    def variances(self) -> Values:
        """The exact variance of the decoded report for each input symbol, rounded to floats."""
        moments = (self._exact_moments(symbol) for symbol in range(self.input_count))
        return np.array([float(square - mean**2) for mean, square in moments])

    @cached_property
    def _exact_outputs(self) -> tuple[list[int], int]:
        """The decoded values as integers over one common power of two."""
        pairs = [value.as_integer_ratio() for value in self.outputs.tolist()]
        common = max(bottom for _, bottom in pairs)
        return [top * (common // bottom) for top, bottom in pairs], common

    def _exact_mean(self, symbol: int) -> Fraction:
        values, common = self._exact_outputs
        return Fraction(sum(map(mul, self.row(symbol), values)), common * self.total)

    def _exact_moments(self, symbol: int) -> tuple[Fraction, Fraction]:
        values, common = self._exact_outputs
        first = second = 0
        for count, value in zip(self.row(symbol), values, strict=True):
            weighted = count * value
            first, second = first + weighted, second + weighted * value
        return Fraction(first, common * self.total), Fraction(second, common * common * self.total)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FiniteChannel) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        claim = f"epsilon={self.claim.epsilon:g}" + (
            f", delta={self.claim.delta:g}" if self.claim.delta else ""
        )
        return f"{type(self).__name__}({self.name}, {claim}, {self.input_count} -> {self.output_count})"


@dataclass(frozen=True, eq=False, repr=False)
class Channel(FiniteChannel):
    """A channel with its whole table: row t holds how many of 2^62 equally likely draws give each output.

    >>> half = TOTAL // 2
    >>> coin = Channel("coin", np.array([[half, half], [half, half]]), np.array([0, 1]), np.array([0, 1]), Claim(0.0))
    >>> coin.epsilon, coin.holds
    (0.0, True)
    """

    name: str
    table: Counts
    inputs: Values
    outputs: Values
    claim: Claim

    def __post_init__(self) -> None:
        for field, kind in (("table", np.int64), ("inputs", np.float64), ("outputs", np.float64)):
            object.__setattr__(self, field, frozen(np.array(getattr(self, field), dtype=kind)))
        if self.table.shape != (len(self.inputs), len(self.outputs)) or self.table.size == 0:
            raise InputError(
                f"table must have a row an input and a column an output ({len(self.inputs)} x {len(self.outputs)}), "
                f"got {self.table.shape}"
            )
        if self.table.min() < 0:
            raise InputError(f"table must hold counts of at least 0, got {int(self.table.min())}")
        # Counts up to 2^62 could wrap around unnoticed in one sum: their halves are added up apart.
        totals = [(int(high) << 31) + int(low) for high, low in zip(*_half_sums(self.table), strict=True)]
        for symbol, total in enumerate(totals):
            if total != TOTAL:
                raise InputError(f"row {symbol} of the table must sum to 2^62, it is off by {total - TOTAL}")
        if not np.isfinite(self.inputs).all() or (np.diff(self.inputs) <= 0).any():
            raise InputError("inputs must be finite and strictly ascending")
        if not np.isfinite(self.outputs).all():
            raise InputError("outputs must be finite")

    def row(self, symbol: int) -> list[int]:
        counts: list[int] = self.table[symbol].tolist()
        return counts

    @cached_property
    def worst(self) -> Worst:
        return worst_ratio(self.table)

    @cached_property
    def loss(self) -> Loss:
        if self.claim.delta > 0:
            return loss_at_delta(self.table, self.claim.delta, self.claim.epsilon)
        return self.worst.loss

    def _divergence_at(self, epsilon: float) -> Fraction:
        return hockey_stick(self.table, epsilon)[0]

    def worst_pair_at(self, epsilon: float) -> tuple[int, int]:
        """The two inputs with the largest hockey-stick divergence at this ε."""
        return hockey_stick(self.table, epsilon)[1]

    def blind(self) -> Channel:
        size = self.input_count
        columns = [sum(column) for column in zip(*self.table.tolist(), strict=True)]
        counts = [column // size for column in columns]
        missing = TOTAL - sum(counts)
        for output in sorted(range(len(columns)), key=lambda place: -(columns[place] % size))[:missing]:
            counts[output] += 1
        return Channel(f"blind {self.name}", np.array([counts] * size), self.inputs, self.outputs, Claim(0.0))

    def described(self) -> dict[str, Any]:
        return {"kind": "table", "table": self.table, "inputs": self.inputs, "outputs": self.outputs}

    @cached_property
    def _alias(self) -> AliasTable:
        return AliasTable.build(self.table)

    @cached_property
    def _second(self) -> WordArray:
        """For two outputs: the counts of the second one."""
        return self.table[:, 1].astype(np.uint64)

    def _respond(self, symbols: NDArray[np.integer], random_bits: RandomBits) -> Codes:
        drawn = random_bits.take(symbols.size)
        if self.output_count == 2:
            drawn >>= np.uint64(2)
            return (drawn < self._second.take(symbols)).view(np.uint8)
        return self._alias.draw(symbols, drawn)


class SymbolChannel(FiniteChannel):
    """A channel from the symbols 0..size-1 to the same symbols; a blind one is not ``truthful`` and reads none."""

    size: int
    truthful: bool

    @property
    def input_count(self) -> int:
        return self.size

    @property
    def output_count(self) -> int:
        return self.size

    @cached_property
    def inputs(self) -> Values:  # type: ignore[override]
        """The symbols themselves."""
        return frozen(np.arange(self.size, dtype=np.float64))

    @property
    def outputs(self) -> Values:  # type: ignore[override]
        """The symbols themselves."""
        return self.inputs


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in memory that nobody can write to: a channel is shared by all who ask for it."""
    copied = np.frombuffer(np.ascontiguousarray(array).tobytes(), dtype=array.dtype)
    return copied.reshape(array.shape)


def _half_sums(table: Counts) -> tuple[Counts, Counts]:
    return (table >> 31).sum(axis=1), (table & 0x7FFFFFFF).sum(axis=1)


C = TypeVar("C", bound=FiniteChannel)


def verified(channel: C) -> C:
    """The channel itself, if its claim holds; every constructor ends in this."""
    if not channel.holds:
        worst = channel.worst
        raise ClaimError(
            f"{channel.name} claims {channel.claim} but its table has epsilon {channel.epsilon:.12g} "
            f"(output {worst.output}, inputs {worst.likelier} and {worst.rarer}): the constructor is wrong"
        )
    return channel
