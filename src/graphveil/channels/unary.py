"""A value as a string of bits: LATENT and OME, in their corrected forms."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from graphveil.channels.build import family
from graphveil.channels.channel import Channel, FiniteChannel
from graphveil.channels.exact import MARGIN, MIN_EPSILON, TOTAL, Claim, check_epsilon, exp_below
from graphveil.channels.product import ProductChannel
from graphveil.checks import check_whole
from graphveil.errors import InputError

BITS = 10


def bit_channel(aim: Fraction, keep: Fraction) -> Channel:
    """A bit that is answered 1 with probability ``keep`` if it is 1, and with e^{-ε} times that if it is 0.

    For keep ≤ e^ε/(e^ε+1) the other answer's ratio is the smaller one, (1-e^{-ε}·keep)/(1-keep) ≤ e^ε.
    """
    power = exp_below(aim)
    keep = min(keep, power / (power + 1))
    zero_to_one = math.ceil(keep / power * TOTAL)
    # Rounding moves the other answer, too: it is kept within its ratio as well.
    one_to_one = min(math.floor(zero_to_one * power), TOTAL - math.ceil((TOTAL - zero_to_one) / power))
    table = np.array([[TOTAL - zero_to_one, zero_to_one], [TOTAL - one_to_one, one_to_one]])
    return Channel("bit", table, np.array([0.0, 1.0]), np.array([0.0, 1.0]), Claim(float(aim)))


def _string(name: str, epsilon: float, count: int, keeps: list[Fraction], raw: bool) -> FiniteChannel:
    aim = Fraction(epsilon) * (1 - Fraction(MARGIN)) / count
    bits = tuple(bit_channel(aim, keep) for keep in keeps)
    codes = np.arange(1 << count)
    grid = 2 * codes / (len(codes) - 1) - 1
    # The value is a weighted sum of its bits, and so is its estimate, each bit's response divided out.
    decoded = np.full(len(codes), -1.0)
    for bit, place in zip(bits, range(count - 1, -1, -1), strict=True):
        low, high = (Fraction(bit.row(symbol)[1], TOTAL) for symbol in (0, 1))
        weight = Fraction(2 * (1 << place), len(codes) - 1)
        of_zero, of_one = (
            (Fraction(0), Fraction(1)) if raw else (-low / (high - low), (1 - low) / (high - low))
        )
        decoded += np.where(codes >> place & 1, float(weight * of_one), float(weight * of_zero))
    return ProductChannel(f"{name}({count}{', raw' if raw else ''})", bits, grid, decoded, Claim(epsilon))


def _check(epsilon: float, bits: int) -> float:
    epsilon = check_epsilon(epsilon)
    check_whole(bits, "bits", least=1, most=16)
    if epsilon / bits < MIN_EPSILON:
        raise InputError(f"epsilon must be at least {MIN_EPSILON * bits:g} for {bits} bits, got {epsilon:g}")
    return epsilon


@family
def latent(epsilon: float, bits: int = BITS, raw: bool = False) -> FiniteChannel:
    """LATENT, corrected: every bit of a fixed-point value answered at ε/L, ones kept with probability 1/2.

    P[1 | 1] = 1/2 and P[1 | 0] = e^{-ε/L}/2, the shape of an optimised unary encoding (LATENT's α = 1).
    Unbiased; with ``raw`` the answered bits are read as they are, as in HeteroRR's comparison.

    Source: Arachchige et al. (2019), "Local differential privacy for deep learning". As published the budget does not
    cover two strings that differ in all their bits.
    Claim: ε, the sum over all L bits that are sent, each at most ε/L: 1/2 over e^{-ε/L}/2, while the other answer's
    ratio is 2-e^{-ε/L} < e^{ε/L}.

    Parameters
    ----------
    epsilon
        The claim for one value.
    bits
        L, the number of bits of a value.
    raw
        Whether the answered bits are read as they are.

    Examples
    --------
    >>> latent(1.0).epsilon <= 1.0
    True
    """
    epsilon = _check(epsilon, bits)
    return _string("latent", epsilon, int(bits), [Fraction(1, 2)] * int(bits), raw)


@family
def ome(epsilon: float, bits: int = BITS, raw: bool = False) -> FiniteChannel:
    """OME, corrected: like LATENT, but ones are kept with λ/(1+λ) on even bits and 1/(1+λ³) on odd ones, λ = e^{ε/L}.

    P[1 | 0] is e^{-ε/L} times that. Unbiased; with ``raw`` the answered bits are read as they are.

    Source: Lyu et al. (2020), "Towards differentially private text representations". As published, λ = 100 and a budget
    that does not cover two strings that differ in all their bits; a λ above e^{ε/L} cannot keep it.
    Claim: ε, the sum over all L bits that are sent, each at most ε/L.

    Parameters
    ----------
    epsilon
        The claim for one value.
    bits
        L, the number of bits of a value.
    raw
        Whether the answered bits are read as they are.

    Examples
    --------
    >>> ome(1.0).epsilon <= 1.0
    True
    """
    epsilon = _check(epsilon, bits)
    growth = Fraction(math.exp(epsilon / bits))
    even, odd = growth / (1 + growth), 1 / (1 + growth**3)
    return _string("ome", epsilon, int(bits), [odd if place % 2 else even for place in range(int(bits))], raw)
