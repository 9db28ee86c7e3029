"""Which of d values a user is asked for: any m of them, or some more often than others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.words import Words
from graphveil.checks import check_number, is_whole, short
from graphveil.errors import InputError
from graphveil.mechanisms.encode import choose_dimensions
from graphveil.mechanisms.limits import MAX_SAMPLED

Floats = NDArray[np.float64]
# A chance is a number of 2^53 equally likely cases.
CASES = 1 << 53


@dataclass(frozen=True)
class Asking:
    """``count`` of ``size`` values without replacement, ``from_pool`` of them from ``pool`` in expectation.

    A user draws k of the pool's T values and m - k of the rest, all choices equally likely, k being ``from_pool`` rounded
    down or up at random. So a value of the pool is asked with probability π = from_pool/T, any other with
    (m - from_pool)/(d - T); an estimate is unbiased if an answer counts 1/π. TOGL's round 2 is the case T = k = m*: everybody
    answers the pool, which counts 1, and the rest counts (d - m*)/(m - m*). What is drawn depends on random words alone.

    >>> Asking(10, 2, pool=(3, 7), from_pool=1.0).inclusion[[0, 3]].tolist()
    [0.125, 0.5]
    """

    size: int
    count: int
    pool: tuple[int, ...] = ()
    from_pool: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.count <= self.size:
            raise InputError(
                f"sampled must lie in 1..{self.size}, the number of dimensions, got {self.count}"
            )
        if MAX_SAMPLED < self.count < self.size:
            raise InputError(
                f"sampled must be at most {MAX_SAMPLED}, or all {self.size} values, got {self.count}: ask for fewer"
            )
        inside = len(self.pool)
        if len(set(self.pool)) != inside or not all(0 <= place < self.size for place in self.pool):
            raise InputError(f"pool must hold different dimensions from 0 to {self.size - 1}")
        least, most = max(0, self.count - (self.size - inside)), min(self.count, inside)
        if not least <= self.from_pool <= most:
            raise InputError(
                f"from_pool must lie in {least}..{most} where {self.count} of {self.size} values are asked and the pool "
                f"holds {inside}, got {self.from_pool!r}"
            )

    @classmethod
    def of(cls, size: int, count: int, pool: Any = None, from_pool: Any = None) -> Asking:
        """From what a plan says: without ``from_pool`` everybody answers all of the pool."""
        if pool is None:
            if from_pool is not None:
                raise InputError("from_pool says how many values come from a pool: give the pool too")
            return cls(size, count)
        if not isinstance(pool, (list, tuple, np.ndarray)) or (
            isinstance(pool, np.ndarray) and pool.ndim != 1
        ):
            raise InputError(f"pool must be a list of dimensions, got {short(pool)}")
        if len(pool) > size:
            raise InputError(
                f"pool must hold different dimensions from 0 to {size - 1}, got {len(pool)} of them"
            )
        if not all(map(is_whole, pool)):
            raise InputError(f"pool must be a list of dimensions, got {short(pool)}")
        expected = len(pool) if from_pool is None else from_pool
        return cls(
            size, count, tuple(sorted(int(place) for place in pool)), check_number(expected, "from_pool")
        )

    def described(self) -> dict[str, Any]:
        """What a fingerprint says of a pool; nothing where there is none."""
        return {} if self.even else {"pool": self.pool, "from_pool": self.from_pool}

    @property
    def even(self) -> bool:
        """Whether all values are asked equally often because nothing was said about a pool."""
        return not self.pool

    @cached_property
    def takes(self) -> dict[int, Fraction]:
        """How many values come from the pool, and how likely each number is; exact."""
        low = math.floor(self.from_pool)
        more = Fraction(round((self.from_pool - low) * CASES), CASES)
        return {number: chance for number, chance in ((low, 1 - more), (low + 1, more)) if chance}

    @cached_property
    def inclusion(self) -> Floats:
        """π_j: how likely each value is asked."""
        taken = float(sum(number * chance for number, chance in self.takes.items()))
        rest = self.size - len(self.pool)
        likely = np.full(self.size, (self.count - taken) / rest if rest else 0.0)
        likely[list(self.pool)] = taken / max(1, len(self.pool))
        return likely

    @cached_property
    def factors(self) -> Floats:
        """By what an answer about each value counts more than if all were asked equally often: (m/d)/π_j, 0 if never asked."""
        asked = self.inclusion > 0
        return np.where(asked, self.count / self.size / np.where(asked, self.inclusion, 1.0), 0.0)

    @property
    def everything(self) -> bool:
        """Whether every value can be asked, so that all of them can be estimated."""
        return bool((self.inclusion > 0).all())

    @property
    def mean_square_factor(self) -> float:
        """The mean square of the factor of an answer."""
        return 1.0 if self.even else float((self.inclusion * self.factors**2).sum() / self.count)

    def choose(self, users: int, words: Words) -> NDArray[np.int32]:
        """The dimensions that each user is asked for, in ascending order (users x count)."""
        if self.even:
            return choose_dimensions(users, self.size, self.count, words)
        pool = np.array(self.pool, dtype=np.int32)
        rest = np.setdiff1d(np.arange(self.size, dtype=np.int32), pool)
        chosen = np.empty((users, self.count), dtype=np.int32)
        for taken, who in self._by_take(users, words):
            for places, number, start in ((pool, taken, 0), (rest, self.count - taken, taken)):
                if number:
                    drawn = choose_dimensions(len(who), len(places), number, words)
                    chosen[who, start : start + number] = places[drawn]
        chosen.sort(axis=1)
        return chosen

    def _by_take(self, users: int, words: Words) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Users by how many of their values come from the pool."""
        everyone = np.arange(users)
        if len(self.takes) == 1:
            yield next(iter(self.takes)), everyone
            return
        (low, _), (high, chance) = self.takes.items()
        more = (words.take(users) >> np.uint64(11)) < np.uint64(int(chance * CASES))
        yield low, everyone[~more]
        yield high, everyone[more]

    def allows(self, dims: NDArray[np.int32]) -> bool:
        """Whether every user's dimensions (users x count) can have been drawn."""
        if self.even:
            return True
        taken = np.isin(dims, self.pool).sum(axis=1)
        return bool(np.isin(taken, list(self.takes)).all())

    def subsets(self) -> tuple[list[tuple[int, ...]], list[int], int]:
        """All choices that can be drawn, and how often each is out of the returned total; exact, for small d."""
        inside, pool = len(self.pool), set(self.pool)
        chances = {
            number: chance / (math.comb(inside, number) * math.comb(self.size - inside, self.count - number))
            for number, chance in self.takes.items()
        }
        total = math.lcm(*(chance.denominator for chance in chances.values()))
        choices = [
            (subset, chances[taken])
            for subset in combinations(range(self.size), self.count)
            if (taken := len(pool.intersection(subset))) in chances
        ]
        return [subset for subset, _ in choices], [int(chance * total) for _, chance in choices], total

    @property
    def choices(self) -> int:
        """How many choices can be drawn."""
        rest = self.size - len(self.pool)
        return sum(
            math.comb(len(self.pool), number) * math.comb(rest, self.count - number) for number in self.takes
        )
