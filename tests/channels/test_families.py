"""What every family keeps: its claim, its sums, its moments, its control, and a sampler that draws its table."""

import math
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from graphveil import channels
from graphveil.channels import Channel, FiniteChannel, ProductChannel, SeededBits
from graphveil.channels.exact import Loss
from graphveil.errors import InputError
from tests.channels.families import FAMILIES, Family
from tests.channels.reference import (
    is_rounded_up,
    largest_divergence,
    largest_ratio,
    precise_exp,
    precise_log,
)
from tests.together import together

# Beside the smallest and the largest of a family: where rounding, a mixture or a shape changes. These tables have few input symbols.
FAR_BUDGETS = (1e-4, 9.999e-3, 0.3, 0.61, math.log(2), 1.5, 7.0)
EVERY = list(FAMILIES.values())
ESTIMATING = [family for family in EVERY if family.variance]
UNBIASED = [family for family in EVERY if family.unbiased]

# Those whose whole table is compared entry by entry.
SMALL = [family for family in EVERY if family.name != "kary 300"]

every_family = pytest.mark.parametrize("family", EVERY, ids=lambda family: family.name)
every_small_family = pytest.mark.parametrize("family", SMALL, ids=lambda family: family.name)
# Those that are one table, which is drawn from as it stands.
every_table = pytest.mark.parametrize(
    "family",
    [family for family in EVERY if family.name.split()[0] not in ("kary", "latent", "ome")],
    ids=lambda family: family.name,
)
every_estimating_family = pytest.mark.parametrize("family", ESTIMATING, ids=lambda family: family.name)


def budgets_of(families: list[Family], candidates: tuple[float, ...]) -> pytest.MarkDecorator:
    """One case a family and ε."""
    cases = [
        pytest.param(family, epsilon, id=f"{family.name}-{epsilon:g}")
        for family in families
        for epsilon in family.budgets(candidates)
    ]
    return pytest.mark.parametrize(("family", "epsilon"), cases)


def allowed_waste(epsilon: float) -> float:
    """Relatively: 1e-9 from ε = 0.01 on, 1e-6 below."""
    return 1e-9 if epsilon >= 0.01 else 1e-6


def rows(channel: FiniteChannel) -> list[list[int]]:
    """The whole table, in Python integers."""
    return [channel.row(symbol) for symbol in range(channel.input_count)]


def small(family: Family, epsilon: float = 1.0) -> FiniteChannel:
    """A channel of the family whose whole table is small enough for brute force."""
    return family.build(epsilon, bits=3) if family.name in ("latent", "ome") else family.coarse(epsilon, 5)


# The claim.


def misspent(family: Family, spent: dict[float, float]) -> dict[float, float]:
    """What is spent where it exceeds the claim, or wastes much of it though the family is tight."""
    least = {epsilon: epsilon * (1 - allowed_waste(epsilon)) if family.tight else 0.0 for epsilon in spent}
    return {epsilon: value for epsilon, value in spent.items() if not least[epsilon] <= value <= epsilon}


@every_family
def test_never_exceeds_its_claim_and_wastes_little_of_it(family: Family) -> None:
    spent = {epsilon: family.whole(epsilon).epsilon for epsilon in family.whole_budgets()}
    far = (family.smallest, *family.budgets(FAR_BUDGETS), family.largest)
    spent_far = {epsilon: family.coarse(epsilon, 33).epsilon for epsilon in far}
    assert (misspent(family, spent), misspent(family, spent_far)) == ({}, {})
    assert family.whole(1.0).holds


@every_family
@settings(max_examples=15)
@given(share=st.floats(0, 1), points=st.integers(2, 9))
def test_never_exceeds_any_claim_and_wastes_little_of_it(family: Family, share: float, points: int) -> None:
    logarithm = (1 - share) * math.log(family.smallest) + share * math.log(family.largest)
    epsilon = min(max(math.exp(logarithm), family.smallest), family.largest)
    assert misspent(family, {epsilon: family.coarse(epsilon, points).epsilon}) == {}


@budgets_of([family for family in SMALL if "gaussian" not in family.name], (0.1, 1.0, 3.0))
def test_epsilon_is_that_of_the_integers(family: Family, epsilon: float) -> None:
    channel = small(family, epsilon)
    assert is_rounded_up(channel.epsilon, precise_log(largest_ratio(rows(channel))))


@budgets_of([family for family in EVERY if "gaussian" in family.name], (0.1, 1.0, 3.0))
def test_delta_at_the_claim_and_epsilon_at_its_delta_are_those_of_the_integers(
    family: Family, epsilon: float
) -> None:
    channel = small(family, epsilon)
    below, at, claimed = (
        largest_divergence(rows(channel), precise_exp(value))
        for value in (math.nextafter(channel.epsilon, 0.0), channel.epsilon, epsilon)
    )
    assert is_rounded_up(channel.delta, claimed)
    assert at <= Fraction(channel.claim.delta) < below


@every_small_family
@together("epsilon", [0.0, 0.2, 0.7, 0.95])
def test_delta_at_a_smaller_epsilon_is_that_of_the_integers(family: Family, epsilon: float) -> None:
    channel = small(family)
    exact = largest_divergence(rows(channel), precise_exp(epsilon), channel.total)
    assert 0 <= channel.delta_at(epsilon) - exact <= Fraction(1, 10**50)


@every_small_family
def test_worst_names_the_entries_with_the_largest_ratio(family: Family) -> None:
    channel = small(family)
    worst, table = channel.worst, rows(channel)
    high, low = table[worst.likelier][worst.output], table[worst.rarer][worst.output]
    assert (Fraction(high, low) if low else None) == worst.ratio == largest_ratio(table)


# The table.


@every_family
def test_rows_sum_to_the_total(family: Family) -> None:
    wrong = []
    for epsilon in family.budgets((0.01, 1.0, 10.0)):
        channel = family.coarse(epsilon, 65)
        count = channel.input_count
        chosen = {0, 1, count // 3, count // 2, count - 1}
        wrong += [(epsilon, symbol) for symbol in chosen if sum(channel.row(symbol)) != channel.total]
    assert wrong == []


@every_family
def test_a_table_has_the_shape_that_is_promised(family: Family) -> None:
    """Python integers out of 2^62 a draw, ascending inputs, and codes of the smallest unsigned type."""
    channel = family.whole(1.0)
    draws = len(channel.bits) if isinstance(channel, ProductChannel) else 1
    assert channel.total == 2 ** (62 * draws)
    assert {type(count) for count in channel.row(0)} == {int}
    assert (np.diff(channel.inputs) > 0).all()
    # Those that estimate a value span the public range.
    assert not family.variance or (channel.inputs[0], channel.inputs[-1]) == (-1.0, 1.0)
    code_type = np.uint8 if channel.output_count <= 256 else np.uint16
    assert channel.respond(np.zeros(3, dtype=np.int64), SeededBits(0)).dtype == code_type
    assert np.dtype(channel.code_type) == code_type


# Moments.


def even_points(channel: FiniteChannel) -> list[float]:
    """Some points of the even grid."""
    count = max(channel.input_count, 9)
    half, last = count // 2, count - 1
    chosen = {0, 1, 2, count // 5, count // 3, half - 1, half, 7 * count // 8, last - 1, last}
    return np.linspace(-1, 1, count)[sorted(chosen)].tolist()


def midpoints(channel: FiniteChannel) -> list[float]:
    """Some points half-way between two of the even grid."""
    half = 1 / (max(channel.input_count, 9) - 1)
    return [point + half for point in even_points(channel) if point < 1]


def differences(family: Family, epsilon: float) -> dict[str, tuple[float, float]]:
    """How far inputs are from an even grid and moments from the closed forms, each with what is allowed."""
    channel, mean, variance = family.whole(epsilon), family.mean(epsilon), family.variance(epsilon)
    points, between = even_points(channel), midpoints(channel)
    even = np.linspace(-1, 1, len(channel.inputs))
    return {
        # Cutting the output into cells moves them by less than a hundredth of their distance.
        "inputs": (np.abs(channel.inputs - even).max(), 0.01 * (even[1] - even[0])),
        # 1e-9 of the range, whose width is 2.
        "means": (max(abs(channel.moments(x)[0] - mean(x)) for x in points + between), 2e-9),
        "variances": (max(abs(channel.moments(x)[1] / variance(x) - 1) for x in points), 0.005),
        "variances between": (max(abs(channel.moments(x)[1] / variance(x) - 1) for x in between), 0.005),
    }


@every_estimating_family
def test_inputs_are_even_and_moments_the_closed_forms(family: Family) -> None:
    wrong = {
        (epsilon, name): (difference, allowed)
        for epsilon in family.whole_budgets()
        for name, (difference, allowed) in differences(family, epsilon).items()
        if not difference < allowed
    }
    assert wrong == {}


@pytest.mark.parametrize("family", UNBIASED, ids=lambda family: family.name)
def test_every_input_symbol_stands_for_the_mean_of_its_reports(family: Family) -> None:
    channel = small(family)
    assert np.abs(channel.means - channel.inputs).max() < 2e-9


@every_small_family
def test_means_and_variances_are_those_of_the_integers(family: Family) -> None:
    channel = small(family)
    outputs = [Fraction(value) for value in channel.outputs.tolist()]
    means, variances = [], []
    for row in rows(channel):
        mean = sum(n * v for n, v in zip(row, outputs, strict=True)) / channel.total
        square = sum(n * (v - mean) ** 2 for n, v in zip(row, outputs, strict=True)) / channel.total
        means.append(float(mean))
        variances.append(float(square))
    assert (channel.means.tolist(), channel.variances.tolist()) == (means, variances)


# The control.


@every_family
def test_blind_has_and_claims_epsilon_exactly_zero(family: Family) -> None:
    channel = family.whole(1.0)
    blind = channel.blind()
    assert (blind.loss, blind.epsilon, blind.holds) == (Loss(()), 0.0, True)
    assert (blind.claim.epsilon, blind.claim.delta) == (0.0, 0.0)
    assert np.array_equal(blind.inputs, channel.inputs) and np.array_equal(blind.outputs, channel.outputs)
    assert blind.code_type == channel.code_type
    first, last = (
        blind.respond(np.full(100, symbol), SeededBits(5)) for symbol in (0, blind.input_count - 1)
    )
    assert np.array_equal(first, last)


@every_family
def test_blind_has_equal_rows_with_the_mean_of_the_columns_but_for_rounding(family: Family) -> None:
    """A table is off by less than a count, a product by a count a bit at most, k-ary response by less than its size."""
    strings = family.name.split()[0] in ("latent", "ome")
    channel = small(family) if strings else family.whole(1.0)
    blind, size = channel.blind(), channel.input_count
    columns = [sum(column) for column in zip(*rows(channel), strict=True)]
    slack = channel.size if family.name.startswith("kary") else 1
    allowed = len(channel.bits) * (channel.total >> 62) if strings else slack - Fraction(1, size)
    assert all(
        abs(count - Fraction(column, size)) <= allowed
        for count, column in zip(blind.row(0), columns, strict=True)
    )
    assert len({tuple(row) for row in rows(small(family).blind())}) == 1


@every_family
def test_a_channel_is_what_it_was_built_from(family: Family) -> None:
    # An integer ε is another key of the cache.
    one, other = family.build(1.0), family.build(1)
    assert family.build(1.0) is one and other is not one
    assert one == other and hash(one) == hash(other)
    for different in (family.build(0.5), one.blind(), "channel"):
        assert different != one
    assert repr(one).endswith(f"{one.input_count} -> {one.output_count})")
    assert f"{one.name}, epsilon=1" in repr(one)


@every_family
def test_nothing_of_a_channel_can_be_set(family: Family) -> None:
    channel = family.build(1.0)
    with pytest.raises(FrozenInstanceError):
        channel.claim = None
    for field in ("inputs", "outputs", *(["table"] if isinstance(channel, Channel) else [])):
        with pytest.raises(ValueError, match="read-only"):
            getattr(channel, field)[0] = 0


# Sampling.


@every_table
def test_the_alias_table_has_exactly_the_counts_of_the_table(family: Family) -> None:
    channel = family.whole(1.0)
    assert isinstance(channel, Channel)
    for symbol in (0, channel.input_count // 2, channel.input_count - 1):
        assert channel._alias.shares(symbol, channel.output_count) == channel.row(symbol), symbol


FALSE_ALARM = 1e-6
DRAWS = 200_000


def merged(expected: np.ndarray, seen: np.ndarray, least: float = 25.0) -> tuple[np.ndarray, np.ndarray]:
    """Cells in the order of their expectation, put together until each expects enough."""
    order = np.argsort(expected)
    groups, sums = np.zeros(len(order), dtype=int), 0.0
    for place in range(1, len(order)):
        sums += expected[order[place - 1]]
        full = sums >= least
        groups[place] = groups[place - 1] + full
        sums = 0.0 if full else sums
    expected, seen = (np.bincount(groups, weights=cells[order]) for cells in (expected, seen))
    if len(expected) > 1 and expected[-1] < least:
        expected[-2] += expected[-1]
        seen[-2] += seen[-1]
        expected, seen = expected[:-1], seen[:-1]
    return expected, seen


@pytest.mark.statistical
@every_family
@pytest.mark.parametrize("place", [0.0, 0.7])
def test_the_sampler_draws_the_table(family: Family, place: float) -> None:
    """χ² of 200,000 draws; a right sampler fails with probability 1e-6 (the seed is fixed)."""
    channel = family.whole(1.0)
    symbol = int(place * channel.input_count)
    codes = channel.respond(np.full(DRAWS, symbol), SeededBits(1, symbol))
    shares = np.array([count / channel.total for count in channel.row(symbol)])
    seen = np.bincount(codes, minlength=channel.output_count).astype(float)
    expected, seen = merged(shares * DRAWS, seen)
    statistic = float(((seen - expected) ** 2 / expected).sum())
    assert statistic < chi2.isf(FALSE_ALARM, len(expected) - 1)


@pytest.mark.statistical
@every_family
def test_each_answer_is_drawn_for_its_own_symbol(family: Family) -> None:
    """Mean of reports of mixed inputs within 5.1 standard errors; false alarms below 1e-6 (the seed is fixed)."""
    channel = family.whole(1.0)
    symbols = np.arange(DRAWS) % channel.input_count
    codes = channel.respond(symbols, SeededBits(2))
    last = symbols == channel.input_count - 1
    mean, variance = channel.moments(channel.inputs[-1])
    error = channel.decode(codes[last]).mean() - mean
    assert abs(error) < 5.1 * math.sqrt(variance / last.sum())


@every_family
@together("epsilon", [0, -1.0, math.nan, math.inf, 1e-9, 21.0, True, "1", None, [1.0]])
def test_refuses_an_epsilon(family: Family, epsilon: object) -> None:
    family.build(1.0)  # True and 1 are the same key in a dictionary
    with pytest.raises(InputError, match="epsilon"):
        family.build(epsilon)


@pytest.mark.parametrize("family", [f for f in EVERY if f.gridded], ids=lambda family: family.name)
@together("points", [0, 1, -3, 4097, 2.5, True, "9", [9]])
def test_refuses_points(family: Family, points: object) -> None:
    with pytest.raises(InputError, match="points must be an integer from 2 to 513"):
        family.build(1.0, points=points)


@every_family
def test_refuses_a_symbol_and_moments_out_of_range(family: Family) -> None:
    channel = family.build(1.0)
    for wrong in (-1, channel.input_count):
        with pytest.raises(InputError, match=f"symbols must lie in 0..{channel.input_count - 1}"):
            channel.respond(np.array([0, wrong]), SeededBits(0))
    for value in (channel.inputs[0] - 1e-9, channel.inputs[-1] + 1e-9, math.nan):
        with pytest.raises(InputError, match="value must lie in"):
            channel.moments(value)


def test_every_exported_constructor_is_in_the_table() -> None:
    """But for one that is another's second name, and one whose claim is about numbers that differ by one alone."""
    constructors = {name for name in channels.__all__ if name.islower()} - {"duchi", "counting"}
    built = {getattr(family.build, "func", family.build).__name__ for family in EVERY}
    assert built == constructors
