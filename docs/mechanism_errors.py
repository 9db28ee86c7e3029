"""The computed table of mechanisms.md: how far estimates of one sparse row are from it.

Every number is an exact expectation, of the integer tables or of a closed form; nothing is drawn.
"""

from __future__ import annotations

import math

from graphveil.experiments.table import Table
from graphveil.mechanisms import FeatureMechanism, ItemMechanism, Mechanism, PrivUnitMechanism, mechanism

# A row like Cora's: 1433 words, of which a paper has 18.
DIMS, ONES = 1433, 18
# A public bound on the words of a paper that is not tight.
LOOSE = 30
EPSILONS = (0.5, 1, 2, 4, 6, 8, 10)

COLUMNS = {
    "multibit": ("multibit", {"range": (0, 1)}),
    "piecewise": ("piecewise", {"range": (0, 1)}),
    "privunit, range": ("privunit", {"range": (0, 1)}),
    "item, L = 18": ("item", {"length": ONES}),
    "item, L = 30": ("item", {"length": LOOSE}),
    "privunit, r = √18": ("privunit", {"radius": math.sqrt(ONES)}),
    "privunit, r = √30": ("privunit", {"radius": math.sqrt(LOOSE)}),
}


def squared_error(found: Mechanism, ones: int) -> float:
    """E‖estimate - row‖² for a row of so many ones and zeros elsewhere."""
    if isinstance(found, FeatureMechanism):
        return _of_features(found, ones)
    if isinstance(found, ItemMechanism):
        return _of_item(found, ones)
    if isinstance(found, PrivUnitMechanism):
        zeros, centre = found.size - ones, found.ball.centre
        return found.squared_error(math.sqrt(ones * (1 - centre) ** 2 + zeros * centre**2))
    raise TypeError(f"no closed form is known for {found!r}")


def _of_features(found: FeatureMechanism, ones: int) -> float:
    """A value is asked with probability m/d: E(estimate - value)² = m/d·E(scale·answer)² - value², in half widths."""
    share = found.sampled / found.size
    total = 0.0
    for value, count in ((1.0, ones), (-1.0, found.size - ones)):
        mean, variance = found.channels[0].moments(value)
        total += count * (share * found.scale**2 * (variance + mean**2) - value**2)
    return total * found.public.half_width**2


def _of_item(found: ItemMechanism, ones: int) -> float:
    """Item j is answered with probability P_j = q + (p-q)x_j/L: the variances are entry²·P_j(1-P_j)."""
    other, surplus = found.channel.other / found.channel.total, found.channel.surplus / found.channel.total
    held = other + surplus / found.length
    spread = ones * held * (1 - held) + (found.size - ones) * other * (1 - other)
    return found.entry**2 * spread


def three_digits(value: float) -> str:
    """A number rounded to three digits, with separators.

    >>> three_digits(163277.1)
    '163,000'
    """
    return f"{round(value, 2 - math.floor(math.log10(value))):,.0f}"


def error_table() -> str:
    """The table in Markdown; the smallest error of every line is bold."""
    rows = []
    for epsilon in EPSILONS:
        errors = [
            squared_error(mechanism(name, epsilon=epsilon, dims=DIMS, **settings), ONES)
            for name, settings in COLUMNS.values()
        ]
        cells = [
            f"**{three_digits(error)}**" if error == min(errors) else three_digits(error) for error in errors
        ]
        rows.append([f"{epsilon:g}", *cells])
    head = ("ε", *COLUMNS)
    return Table(head, rows, head).markdown()
