"""How often a guess of a secret can be right, whatever the attacker does: what a budget bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphveil.checks import check_number, check_whole
from graphveil.errors import InputError

# Shares that add up to 1 but for this are a prior.
ROUNDING = 1e-9


def guess_bound(
    epsilon: float, values: int = 2, delta: float = 0.0, prior: Sequence[float] | None = None
) -> float:
    """The largest accuracy of any guess of one of k values from one (ε, δ)-private report.

    Where all are equally likely it is (e^ε + (k-1)δ)/(e^ε + k-1), for two values e^ε/(1+e^ε). A ``prior`` says how likely each of the k is
    instead: then it is the largest δ + (1-δ)·e^ε/(e^ε + m-1)·(π_1 + … + π_m) over m, the π in falling order. With m = 1 that is to name the
    commonest value without a look at the report.

    Let p_i(j) be how often j is guessed where i is true, and t_j the least p_i(j) over i ≠ j. Privacy says p_j(j) ≤ e^ε·t_j + δ, and what is
    guessed adds up to 1: p_j(j) ≤ 1 - S + t_j, S being the sum of all t. So t_j counts up to (1-δ-S)/(e^ε-1), and Σ π_j·p_j(j) is the
    largest where the m commonest values have just that, t = (1-δ)/(e^ε+m-1), and the others nothing: it is linear in between. k-ary randomized
    response among m values reaches it at δ = 0. For equal shares this is the balanced accuracy too (the mean of all values' hit
    rates), however common values are. Reports of others are not covered: they tell about a user what the user has in common with them.

    >>> round(guess_bound(1.0), 4), guess_bound(0.0), round(guess_bound(1.0, 4), 4), guess_bound(1.0, prior=[0.9, 0.1])
    (0.7311, 0.5, 0.4754, 0.9)
    """
    check_number(epsilon, "epsilon", least=0, infinite=True)
    check_number(delta, "delta", least=0, most=1)
    count = check_whole(values, "values", least=2)
    shares = [1 / count] * count if prior is None else _checked_prior(prior, count)
    # e^ε may be too large for a float, e^-ε is not.
    small = math.exp(-epsilon)
    likeliest = sorted(shares, reverse=True)
    told = max(math.fsum(likeliest[:most]) / (1 + (most - 1) * small) for most in range(1, count + 1))
    return min(1.0, delta + (1 - delta) * told)


def _checked_prior(prior: Sequence[float], count: int) -> list[float]:
    shares = [float(share) for share in prior]
    if len(shares) != count or min(shares) < 0 or abs(math.fsum(shares) - 1) > ROUNDING:
        raise InputError(
            f"prior must be {count} shares of at least 0 that add up to 1, got {', '.join(f'{share:g}' for share in shares)}"
        )
    return shares
