"""Builders of personal mechanisms: the budgets of the levels, and the family that answers a value."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from graphveil.channels import (
    condensed,
    duchi,
    esw,
    hybrid,
    laplace,
    onebit,
    piecewise,
    pm_sub,
    square_wave,
    three_output,
)
from graphveil.channels.build import MAX_POINTS
from graphveil.channels.channel import Channel, FiniteChannel
from graphveil.channels.exact import MAX_EPSILON, Claim, Counts
from graphveil.checks import check_number, check_whole, short
from graphveil.errors import InputError
from graphveil.mechanisms.base import verified
from graphveil.mechanisms.features import Asking
from graphveil.mechanisms.limits import (
    MAX_LEVEL_CASES,
    MAX_LEVELS,
    MAX_SAMPLED,
    check_dims,
    check_tables,
    check_two_points,
    sampled_count,
)
from graphveil.mechanisms.personal import PersonalMechanism
from graphveil.mechanisms.personal_losses import Way
from graphveil.mechanisms.rows import PublicRange

# m' = max(1, min(d, ⌊ε·rate⌋)) values are answered at a budget ε (PPGNN).
PERSONAL_RATE = 1 / 2.2
# What can answer a value inside a personal mechanism, and whether it takes a number of input points.
INSIDE: dict[str, tuple[Callable[..., FiniteChannel], bool]] = {
    "onebit": (onebit, False),
    "duchi": (duchi, False),
    "three-output": (three_output, False),
    "laplace": (laplace, True),
    "piecewise": (piecewise, True),
    "square-wave": (square_wave, True),
    "hybrid": (hybrid, True),
    "pm-sub": (pm_sub, True),
    "condensed": (condensed, True),
}
# Input points inside a personal mechanism: the same for all budgets.
INSIDE_POINTS = 65
# Besides two cells a point, a table may have so many in its tails (Laplace).
TAIL_CELLS = 512


def checked_budgets(epsilon: float, levels: Any, budgets: Any) -> tuple[float, ...]:
    """Return ε_1 < … < ε_f: as given, or ε·2^(level-1) by default.

    Parameters
    ----------
    epsilon
        ε_1, the strictest level's budget.
    levels
        f, the number of levels; 4 by default.
    budgets
        The budgets of all levels, rising, the first of them ε; None for the default.
    """
    if budgets is None:
        count = check_whole(4 if levels is None else levels, "--levels", least=2, most=MAX_LEVELS)
        return tuple(epsilon * 2.0**level for level in range(count))
    wrong = InputError(f"--budgets must be a list of numbers, one a level, got {short(budgets)}")
    if not isinstance(budgets, (list, tuple, np.ndarray)) or getattr(budgets, "ndim", 1) != 1:
        raise wrong
    if len(budgets) > MAX_LEVELS:
        raise InputError(f"--budgets must be those of at most {MAX_LEVELS} levels, got {len(budgets)}")
    try:
        numbers = tuple(float(budget) for budget in budgets)
    except (TypeError, ValueError, OverflowError):
        raise wrong from None
    rising = all(one < other for one, other in pairwise(numbers))
    if len(numbers) < 2 or not rising or not all(0 < budget < math.inf for budget in numbers):
        raise InputError(f"--budgets must be two or more positive numbers that rise, got {short(budgets)}")
    if numbers[0] != epsilon:
        raise InputError(f"--budgets must start with epsilon, {epsilon:g}, got {numbers[0]:g}")
    if levels is not None and levels != len(numbers):
        raise InputError(f"--levels must be the number of budgets, {len(numbers)}, got {short(levels)}")
    return numbers


@dataclass(frozen=True)
class Inside:
    """The family ``name`` inside a personal mechanism, with the same input points for all budgets."""

    name: Any
    binary: bool
    points: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.name not in INSIDE:
            raise InputError(f"inner must be one of {', '.join(INSIDE)}, got {short(self.name)}")
        if not self._grid and self.points is not None:
            raise InputError(f"{self.name} has no setting 'points': leave it out")
        if self.points is not None:
            check_whole(self.points, "points", least=2, most=MAX_POINTS)
        if self._grid and self.binary:
            check_two_points(self.points)

    @property
    def _grid(self) -> bool:
        return INSIDE[self.name][1]

    @property
    def _inputs(self) -> int:
        return 2 if self.binary else self.points or INSIDE_POINTS

    def channel(self, epsilon: float) -> FiniteChannel:
        """Return the channel that answers one value."""
        family, grid = INSIDE[self.name]
        return family(epsilon, points=self._inputs) if grid else family(epsilon)

    def check_work(self, mechanism: str, tables: int) -> None:
        """Refuse too many or too large tables for a mechanism, before the first is built."""
        inputs, tails = (self._inputs, TAIL_CELLS) if self._grid else (3, 0)
        advice = "take fewer levels, fewer points, or one number sampled for all"
        check_tables(mechanism, tables, inputs, 2 * inputs + tails, advice)


def _built(
    name: str,
    dims: int,
    range: Any,
    budgets: tuple[float, ...],
    level_channel: Channel,
    ways: tuple[tuple[Way, ...], ...],
    pooled: tuple[Any, float | None],
    binary: bool,
    shares: Any = None,
) -> PersonalMechanism:
    """Build a mechanism with a way of answering for each level (row) and randomized level (column)."""
    # They are drawn one after the other here, also where all are.
    count = check_whole(max(way.count for beside in ways for way in beside), "sampled", most=MAX_SAMPLED)
    asking = Asking.of(int(dims), count, *pooled)
    return PersonalMechanism(
        name,
        Claim(budgets[-1]),
        PublicRange.of(range),
        int(dims),
        budgets,
        level_channel,
        ways,
        unbiased=name == "ppm-printed" and asking.everything,
        binary=binary and ways[0][0].channel.input_count == 2,
        shares=shares,
        favoured=None if asking.even else asking,
    )


def build_ppm(
    epsilon: float,
    dims: int,
    range: Any,
    levels: int | None = None,
    budgets: Any = None,
    gamma: float = 0.1,
    inner: str = "onebit",
    sampled: int | None = None,
    binary: bool = False,
    points: int | None = None,
    shares: Any = None,
    pool: Any = None,
    from_pool: float | None = None,
) -> PersonalMechanism:
    """Build PPM, sealed: the level changes nothing of a report but probabilities.

    The level is answered at γε by everybody, values with what each level has left.

    Parameters
    ----------
    epsilon
        The strictest level's budget.
    dims
        d, the number of values in a row.
    range
        The public range (low, high) of values.
    levels
        The number of levels; 4 by default.
    budgets
        The budgets of all levels; ε·2^(level-1) by default.
    gamma
        γ, the part of ε for the level.
    inner
        The family whose signs answer values.
    sampled
        m', the number of answers, for all levels.
    binary
        Whether values are only ever the two ends of the range.
    points
        The number of input points of the family.
    shares
        Public shares of the levels, where these are known.
    pool, from_pool
        Dimensions that are asked more often, and the expected number of answers from them (`Asking`).
    """
    check_dims(dims, sampled)
    check_number(gamma, "--gamma", above=0, below=1)
    all_budgets = checked_budgets(epsilon, levels, budgets)
    count, family = len(all_budgets), Inside(inner, binary, points)
    level_budget = gamma * epsilon
    level_channel = esw(level_budget, count)
    named = np.clip(level_channel.outputs, 1, count).astype(int)
    asked = [sampled or sampled_count(all_budgets[level - 1], int(dims), PERSONAL_RATE) for level in named]
    # Rounded down, so that the level's and the values' budgets never add up to more than the whole.
    left = [math.nextafter(budget - level_budget, 0.0) for budget in all_budgets]
    sizes = set(asked)
    if count * count * len(sizes) > MAX_LEVEL_CASES:
        raise InputError(
            f"{count} levels that answer {len(sizes)} different numbers of values are too many to verify: take fewer levels, "
            "or give sampled, one number of values for all"
        )
    per_value = {(budget, size): min(MAX_EPSILON, budget / size) for budget in left for size in sizes}
    family.check_work("ppm", len(set(per_value.values())))
    tables = {value: family.channel(value) for value in set(per_value.values())}
    way = {(budget, size): Way(size, tables[value]) for (budget, size), value in per_value.items()}
    ways = tuple(tuple(way[budget, size] for size in asked) for budget in left)
    pooled = pool, from_pool
    return verified(_built("ppm", dims, range, all_budgets, level_channel, ways, pooled, binary, shares))


def build_ppm_printed(
    epsilon: float,
    dims: int,
    range: Any,
    levels: int | None = None,
    budgets: Any = None,
    gamma: float = 0.1,
    inner: str = "onebit",
    sampled: int | None = None,
    binary: bool = False,
    points: int | None = None,
    pool: Any = None,
    from_pool: float | None = None,
) -> PersonalMechanism:
    """Build PPM as printed: everything is answered at the user's own budget, so a report reveals the level.

    The level is answered by ESW at γε_τ, m = max(1, min(d, ⌊(1-γ)ε_τ/2.2⌋)) values by the family ``inner`` at
    (1-γ)ε_τ/m, sent as magnitudes. Values are protected at each level's budget; the level is not.

    Parameters
    ----------
    epsilon
        The strictest level's budget.
    dims
        d, the number of values in a row.
    range
        The public range (low, high) of values.
    levels
        The number of levels; 4 by default.
    budgets
        The budgets of all levels; ε·2^(level-1) by default.
    gamma
        γ, the part of each budget for the level.
    inner
        The family that answers values.
    sampled
        The number of answers, for all levels.
    binary
        Whether values are only ever the two ends of the range.
    points
        The number of input points of the family.
    pool, from_pool
        Dimensions that are asked more often, and the expected number of answers from them (`Asking`).
    """
    check_dims(dims, sampled)
    check_number(gamma, "--gamma", above=0, below=1)
    all_budgets = checked_budgets(epsilon, levels, budgets)
    count, family = len(all_budgets), Inside(inner, binary, points)
    family.check_work("ppm-printed", count)
    waves = [esw(gamma * budget, count) for budget in all_budgets]
    widest = waves[0].outputs
    table: Counts = np.zeros((count, len(widest)), dtype=np.int64)
    ways, first = [], 0
    for level, (wave, budget) in enumerate(zip(waves, all_budgets, strict=True)):
        start = int(wave.outputs[0] - widest[0])
        table[level, start : start + wave.output_count] = wave.row(level)
        left = math.nextafter(budget - gamma * budget, 0.0)
        size = sampled or sampled_count(left, int(dims), PERSONAL_RATE)
        channel = family.channel(left / size)
        ways.append((Way(size, channel, first),) * len(widest))
        first += channel.output_count
    own = Channel(
        "esw at each own budget", table, np.arange(1.0, count + 1), widest, Claim(gamma * all_budgets[-1])
    )
    return _built("ppm-printed", dims, range, all_budgets, own, tuple(ways), (pool, from_pool), binary)
