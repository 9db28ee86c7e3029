"""How an exact ε is shown beside its claim: the claim itself where it is as near as tables are built, else all of its digits."""

from __future__ import annotations

from fractions import Fraction
from typing import Self

from graphveil.number_format import rounded_up

# Tables aim at ε(1 - 2^-40), and a rounding may add as much again.
NEAR = Fraction(1, 2**39)
ROUNDED = "exact, rounded up"


class ExactText(str):
    """An exact ε as it is shown, with its digits for whoever asks."""

    digits: str

    def __new__(cls, shown: str, digits: str) -> Self:
        text = super().__new__(cls, shown)
        text.digits = digits
        return text


def exact_epsilon(exact: float, claim: float) -> ExactText:
    """An exact ε, rounded up to its claim where it is at most that and at most 2^-39 of it below; else in digits.

    >>> exact_epsilon(0.9999999999990905, 1.0), exact_epsilon(0.9999999999990905, 1.0).digits
    ('1 (exact, rounded up)', '0.999999999999091')
    >>> exact_epsilon(0.99, 1.0), exact_epsilon(1.0000000000000002, 1.0)
    ('0.99', '1.00000000000001')
    """
    digits = rounded_up(exact)
    return ExactText(f"{plain(claim)} ({ROUNDED})" if meets(exact, claim) else digits, digits)


def exact_words(exact: float, claim: float) -> str:
    """The same within a sentence.

    >>> exact_words(0.9999999999990905, 1.0), exact_words(0.99, 1.0)
    ('1, rounded up', '0.99')
    """
    return f"{plain(claim)}, rounded up" if meets(exact, claim) else rounded_up(exact)


def meets(exact: float, claim: float) -> bool:
    """Whether an exact ε is its claim for a reader: never above it, and as near below as tables are built."""
    if not 0 < exact <= claim < float("inf"):
        return False
    return Fraction(claim) - Fraction(exact) <= NEAR * Fraction(claim)


def plain(claim: float) -> str:
    """A claim with all of its digits and no more.

    >>> plain(1.0), plain(0.5), plain(0.12345678)
    ('1', '0.5', '0.12345678')
    """
    short = f"{claim:g}"
    return short if float(short) == claim else repr(claim)
