"""How often a guess of a secret can be right, whatever the attacker does: what a budget bounds."""

from __future__ import annotations

import math

from graphveil.checks import check_number, check_whole


def guess_bound(epsilon: float, values: int = 2, delta: float = 0.0) -> float:
    """The largest accuracy of any guess of one of k equally likely values from one (ε, δ)-private report: (e^ε + (k-1)δ)/(e^ε + k-1).

    Let p_i(j) be how often j is guessed where i is true. Privacy says p_j(j) ≤ e^ε·p_i(j) + δ for every i ≠ j. Added up over all
    i ≠ j, with T the mean of the p_j(j): (k-1)T ≤ e^ε(1-T) + (k-1)δ. For two values that is e^ε/(1+e^ε). k-ary randomized
    response reaches it. T is the accuracy where values are equally likely, and the balanced accuracy (the mean of all values' hit
    rates) however common they are. Reports of others are not covered: they tell about a user what the user has in common
    with them.

    >>> round(guess_bound(1.0), 4), guess_bound(0.0), round(guess_bound(1.0, 4), 4)
    (0.7311, 0.5, 0.4754)
    """
    check_number(epsilon, "epsilon", least=0, infinite=True)
    check_number(delta, "delta", least=0, most=1)
    others = check_whole(values, "values", least=2) - 1
    # e^ε may be too large for a float, e^-ε is not.
    small = math.exp(-epsilon)
    return min(1.0, (1 + others * delta * small) / (1 + others * small))
