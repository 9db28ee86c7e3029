"""What the tests compare with: the same quantities by brute force, in Python integers, fractions and decimals."""

import math
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from graphveil.channels import TOTAL, RandomBits

# 200 digits: far more than the code under test uses to decide.
PRECISE = Context(prec=200)


class GivenWords(RandomBits):
    """Words from a list, in order; asking for more than there are fails the test."""

    def __init__(self, words: Sequence[int]) -> None:
        self.words = [int(word) for word in words]

    def take(self, count: int) -> np.ndarray:
        assert count <= len(self.words), f"{count} words asked for, {len(self.words)} left"
        taken, self.words = self.words[:count], self.words[count:]
        return np.array(taken, dtype=np.uint64)


def precise_exp(exponent: Fraction | float) -> Fraction:
    """e^exponent to about 200 digits."""
    exact = Fraction(exponent)
    return Fraction(PRECISE.exp(PRECISE.divide(Decimal(exact.numerator), Decimal(exact.denominator))))


def precise_log(ratio: Fraction) -> Fraction:
    """ln(ratio) to about 200 digits."""
    return Fraction(PRECISE.ln(Decimal(ratio.numerator))) - Fraction(PRECISE.ln(Decimal(ratio.denominator)))


def largest_ratio(table: Sequence[Sequence[int]]) -> Fraction | None:
    """The largest ratio of two entries of a column; None if it is infinite."""
    worst = Fraction(1)
    for column in zip(*table, strict=True):
        if max(column) > 0 and min(column) == 0:
            return None
        if max(column) > 0:
            worst = max(worst, Fraction(max(column), min(column)))
    return worst


def divergence(row: Sequence[int], other: Sequence[int], power: Fraction, total: int = TOTAL) -> Fraction:
    """Σ max(0, P - e^ε P') of two rows of counts."""
    gaps = (one - power * two for one, two in zip(row, other, strict=True))
    return sum((gap for gap in gaps if gap > 0), Fraction(0)) / total


def largest_divergence(table: Sequence[Sequence[int]], power: Fraction, total: int = TOTAL) -> Fraction:
    """The largest divergence of any two rows."""
    return max(divergence(row, other, power, total) for row in table for other in table)


def is_rounded_up(value: float, exact: Fraction) -> bool:
    """Whether this is the smallest float that is at least the exact number."""
    return Fraction(value) >= exact > Fraction(math.nextafter(value, -math.inf))


def whole_row(weights: Sequence[int], total: int = TOTAL) -> list[int]:
    """Counts in proportion to the weights; what rounding leaves goes to the largest."""
    counts = [total * weight // sum(weights) for weight in weights]
    counts[counts.index(max(counts))] += total - sum(counts)
    return counts


def rows_of(outputs: int, largest: int = 20) -> st.SearchStrategy[list[int]]:
    """Rows of counts with small weights: ties, empty cells and single full cells are common."""
    weights = st.lists(st.integers(0, largest), min_size=outputs, max_size=outputs)
    return weights.filter(any).map(whole_row)


@st.composite
def tables(
    draw: st.DrawFn, max_rows: int = 4, max_outputs: int = 6, min_outputs: int = 1, largest: int = 20
) -> np.ndarray:
    """Whole tables."""
    rows, outputs = draw(st.integers(1, max_rows)), draw(st.integers(min_outputs, max_outputs))
    return np.array(draw(st.lists(rows_of(outputs, largest), min_size=rows, max_size=rows)), dtype=np.int64)
