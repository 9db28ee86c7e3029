"""From densities to tables: window tables, rounded tables, and what every constructor goes through."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graphveil.channels import TOTAL, Channel, Claim
from graphveil.channels.build import (
    SizedCache,
    calibrated,
    family,
    fitted,
    input_grid,
    lattice,
    rounded_table,
    window_table,
)
from graphveil.channels.exact import exp_below, target
from graphveil.errors import ClaimError, InputError
from tests.channels.reference import largest_ratio, whole_row


@st.composite
def windows(draw: st.DrawFn) -> tuple[list[int], list[int], list[int], Fraction]:
    """Cells of one width, windows of one length at all places, and a ratio."""
    cells = draw(st.integers(2, 30))
    length = draw(st.integers(1, cells - 1))
    first = list(range(cells - length + 1))
    ratio = exp_below(target(draw(st.floats(1e-8, 20.0))))
    width = draw(st.integers(1, 1 << 50))
    return [width] * cells, first, [start + length for start in first], ratio


@given(windows(), st.integers(1 << 50, TOTAL))
def test_window_rows_sum_to_any_total_and_keep_the_ratio(case, total):
    assert {sum(row) for row in window_table(*case, total).tolist()} == {total}
    table = window_table(*case).tolist()
    assert {sum(row) for row in table} == {TOTAL}
    # A cell has at least 2^62/(30 e^20) counts: a few of them are 1e-7 of it, relatively to e^ε-1 at ε = 1e-8.
    assert (case[3] - 1) * (1 - Fraction(1, 10**6)) <= largest_ratio(table) - 1 <= case[3] - 1


def test_window_table_by_hand():
    # Three cells in the ratio 2 : 1 : 1 of 2^62.
    table = window_table([1, 1, 1], [0, 1, 2], [1, 2, 3], Fraction(2))
    half, quarter = TOTAL // 2, TOTAL // 4
    assert table.tolist() == [[half, quarter, quarter], [quarter, half, quarter], [quarter, quarter, half]]
    # Cells are weighted by their width.
    table = window_table([1, 3], [0, 0], [2, 2], Fraction(5))
    assert np.abs(table - [TOTAL // 4, 3 * TOTAL // 4]).max() <= 5  # a few counts a cell


@st.composite
def probabilities(draw: st.DrawFn) -> np.ndarray:
    """Rows of weights of very different sizes, some of them zero."""
    outputs = draw(st.integers(1, 40))
    sizes = st.one_of(st.just(0.0), st.floats(1e-15, 1.0))
    rows = st.lists(st.lists(sizes, min_size=outputs, max_size=outputs).filter(any), min_size=1, max_size=4)
    return np.array(draw(rows))


@given(probabilities())
@example(np.array([[3.0, 1.0]]))
def test_rounded_counts_are_in_proportion_and_empty_cells_stay_empty(weights):
    table = rounded_table(weights)
    assert (table[weights == 0] == 0).all()
    for row, counts in zip(weights.tolist(), table.tolist(), strict=True):
        assert sum(counts) == TOTAL
        total = sum(map(Fraction, row))
        for weight, count in zip(row, counts, strict=True):
            exact = Fraction(weight) / total * TOTAL
            assert abs(count - exact) <= 2 + exact * Fraction(1, 1 << 50)


def test_input_grid_is_finer_for_a_large_epsilon_or_as_asked_for():
    for epsilon, count in ((1e-8, 65), (4.0, 65), (math.nextafter(4, 5), 513), (20.0, 513)):
        assert len(input_grid(epsilon, None)) == count, epsilon
    for points in (2, 3, 513, np.int64(5)):
        assert np.array_equal(input_grid(1.0, points), np.linspace(-1, 1, points))
    for points in (1, 4097, 2.0, True, "5"):
        with pytest.raises(InputError, match=f"points must be an integer from 2 to 513, got {points!r}"):
            input_grid(1.0, points)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=10).filter(lambda edges: any(map(abs, edges))))
def test_lattice_keeps_proportions_to_2_to_the_minus_56(edges: list[float]) -> None:
    largest = max(edges, key=abs)
    placed = lattice(np.array(edges))
    outermost = max(placed, key=abs)
    assert 1 << 56 <= abs(outermost) <= 1 << 57
    for edge, place in zip(edges, placed, strict=True):
        assert abs(Fraction(edge) / Fraction(largest) - Fraction(place, outermost)) <= Fraction(1, 1 << 55)


@pytest.mark.parametrize(("second", "inputs"), [([5, 5], [-1.0, 0.0, 1.0]), ([6, 4], [-1.0, -1 / 3, 1.0])])
def test_calibrated_divides_the_response_out_and_keeps_the_table(second, inputs):
    table = np.array([whole_row([8, 2]), whole_row(second), whole_row([2, 8])])
    channel = calibrated("test", table, np.array([0.0, 1.0]), Claim(2.0))
    assert channel.table.tolist() == table.tolist()
    assert np.allclose(channel.means, inputs, rtol=0, atol=1e-15)
    assert np.allclose(channel.inputs, inputs, rtol=0, atol=1e-15)


def coin(aim: Fraction, claim: Claim) -> Channel:
    """Randomized response at this ε, whatever it claims."""
    low = math.ceil(TOTAL / (1 + exp_below(aim)))
    table = np.array([[TOTAL - low, low], [low, TOTAL - low]])
    return Channel("coin", table, np.array([0.0, 1.0]), np.array([0.0, 1.0]), claim)


def test_fitted_aims_a_margin_below_the_claim_and_gives_way_until_it_holds():
    aims = []

    def build(aim: Fraction) -> Channel:
        aims.append(aim)
        return coin(aim, Claim(1.0))

    fitted(build, Claim(1.0))
    assert aims == [1 - Fraction(1, 1 << 40)]
    # The builder spends 2^-35 too much.
    channel = fitted(lambda aim: coin(aim + Fraction(1, 1 << 35), Claim(1.0)), Claim(1.0))
    assert channel.holds and 1 - channel.epsilon < 2.0**-34
    with pytest.raises(ClaimError, match="no table keeps"):
        fitted(lambda aim: coin(Fraction(2), Claim(1.0)), Claim(1.0))


@family
def honest_coin(epsilon: float, spent: float = 1.0, marks: object = None) -> Channel:
    """A constructor that may spend too much."""
    if not isinstance(marks, (int, type(None))):
        raise InputError("marks must be a number")
    return coin(Fraction(epsilon) * Fraction(spent), Claim(epsilon))


def test_a_family_builds_once_and_keeps_name_and_text_of_its_constructor():
    assert (honest_coin.__name__, honest_coin.__doc__) == (
        "honest_coin",
        "A constructor that may spend too much.",
    )
    assert honest_coin(1.0, marks=3) is honest_coin(1.0, marks=3)
    assert honest_coin(1.0, marks=1) is not honest_coin(1.0, marks=True)


def test_a_family_refuses_a_false_claim_and_its_constructor_what_cannot_be_cached():
    with pytest.raises(ClaimError, match="the constructor is wrong"):
        honest_coin(1.0, 1.01)
    with pytest.raises(InputError, match="marks must be a number"):
        honest_coin(1.0, marks=[1])


def numbers(count):
    return lambda: [0] * count


def test_a_cache_holds_what_was_used_last_as_far_as_it_fits():
    cache = SizedCache(10)
    first, second = (cache.get(key, numbers(5), len) for key in "ab")
    assert cache.get("a", numbers(5), len) is first
    cache.get("c", numbers(5), len)
    assert cache.get("a", numbers(5), len) is first and cache.size == 10
    assert cache.get("b", numbers(5), len) is not second
    cache = SizedCache(10)
    small = cache.get("small", numbers(1), len)
    assert cache.get("large", numbers(11), len) is not cache.get("large", numbers(11), len)
    assert cache.get("small", numbers(1), len) is small
    cache = SizedCache(10)
    with pytest.raises(ZeroDivisionError):
        cache.get("a", lambda: 1 // 0, int)
    assert cache.get("a", numbers(3), len) == [0, 0, 0]
    cache.clear()
    assert cache.size == 0
