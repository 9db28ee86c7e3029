"""Encoding: random rounding to the word, bins, and the choice of dimensions."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from graphveil.channels.sampling import SeededBits
from graphveil.mechanisms import rows as encode
from graphveil.mechanisms.rows import binary_symbols, choose_dimensions, round_at_random, upper_bins
from tests.channels.reference import GivenWords
from tests.mechanisms.support import SAMPLED, small
from tests.together import together

EVEN = np.linspace(-1.0, 1.0, 5)
UNEVEN = np.array([-1.0, -0.875, 0.5, 1.0])
# Even enough that the cell is guessed first, uneven enough that the guess is often a cell off.
NEARLY_EVEN = EVEN + np.array([0, 0.125, -0.125, 0.0625, 0])
GRIDS = [np.array([-1.0, 1.0]), NEARLY_EVEN, UNEVEN, np.linspace(-1.0, 1.0, 65)]
LOWEST, HIGHEST = 0, 2**64 - 1


@pytest.mark.parametrize("grid", [EVEN, NEARLY_EVEN, UNEVEN], ids=["even", "nearly even", "uneven"])
def test_a_value_rounds_up_below_its_share_and_down_from_it_on(grid):
    value = grid[1] + 0.25 * (grid[2] - grid[1])
    share = int(0.25 * 2**53) << 11  # the first word whose top 53 bits say this share of all
    random_bits = GivenWords([LOWEST, share - 1, share, HIGHEST])
    assert round_at_random(np.full(4, value), grid, random_bits).tolist() == [2, 2, 1, 1]


@pytest.mark.parametrize("grid", GRIDS, ids=len)
@pytest.mark.parametrize("drawn", [LOWEST, HIGHEST])
def test_a_grid_point_is_itself_whatever_is_drawn(grid, drawn):
    symbols = round_at_random(grid, grid, GivenWords([drawn] * len(grid)))
    assert symbols.tolist() == list(range(len(grid)))


@pytest.mark.parametrize("grid", GRIDS, ids=len)
@given(st.floats(-1, 1), st.integers(LOWEST, HIGHEST))
def test_a_value_becomes_one_of_its_two_neighbours(grid, value, drawn):
    symbol = int(round_at_random(np.array([value]), grid, GivenWords([drawn]))[0])
    below, above = grid[max(symbol - 1, 0)], grid[min(symbol + 1, len(grid) - 1)]
    assert below <= value <= above


@pytest.mark.parametrize("grid", GRIDS, ids=len)
@given(st.data(), st.integers(0, 64))
def test_the_mean_is_kept_exactly(grid, data, part):
    cell = data.draw(st.integers(0, len(grid) - 2))
    value = grid[cell] + (grid[cell + 1] - grid[cell]) * part / 64
    even_words = [i * 2**64 // 64 for i in range(64)]
    symbols = round_at_random(np.full(64, value), grid, GivenWords(even_words))
    assert grid[symbols].mean() == pytest.approx(value, abs=1e-15)


def test_rounding_takes_one_word_a_value_and_keeps_the_shape():
    random_bits = GivenWords([5] * 6)
    assert round_at_random(np.linspace(-1, 1, 6).reshape(2, 3), EVEN, random_bits).shape == (2, 3)
    assert random_bits.words == []


def test_values_declared_binary_count_by_their_sign():
    values = np.array([-1.0, -0.999, -0.0, 0.0, 5e-324, 0.5, 1.0])
    assert binary_symbols(values).tolist() == [0, 0, 0, 0, 1, 1, 1]


def test_bins_hold_their_upper_edges():
    edges = np.array([-1.0, -0.5, -0.25, 0.0, 0.001, 0.5, 0.501, 1.0])
    assert upper_bins(edges, 4).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


@given(st.floats(-1, 1), st.integers(2, 50))
def test_a_bin_lies_around_its_value(value, bins):
    chosen = int(upper_bins(np.array([value]), bins)[0])
    place = (value + 1) / 2 * bins
    assert chosen - 1e-9 <= place <= chosen + 1 + 1e-9


# Which dimensions


@given(st.integers(0, 8), st.integers(1, 12), st.data())
def test_chosen_dimensions_ascend_and_differ(users, dims, data):
    count = data.draw(st.integers(1, dims))
    chosen = choose_dimensions(users, dims, count, SeededBits(data.draw(st.integers(0, 99))))
    assert (chosen.shape, chosen.dtype) == ((users, count), np.int32)
    assert (np.diff(chosen, axis=1) > 0).all()
    assert not chosen.size or 0 <= chosen.min() <= chosen.max() < dims


def test_all_dimensions_are_all_of_them():
    assert choose_dimensions(2, 3, 3, SeededBits(0)).tolist() == [[0, 1, 2], [0, 1, 2]]


@pytest.mark.statistical
@pytest.mark.parametrize("board", [encode.BOARD, 64], ids=["one block", "many blocks"])
@pytest.mark.parametrize("few", [encode.FEW, 0], ids=["compared", "on a board"])
@pytest.mark.parametrize(("dims", "count"), [(5, 1), (5, 2), (5, 3), (6, 4), (4, 3)])
def test_all_subsets_are_equally_likely(monkeypatch, board, few, dims, count):
    """Chi-square over all subsets, 20,000 users; false alarm 1e-6, seed fixed."""
    monkeypatch.setattr(encode, "BOARD", board)
    monkeypatch.setattr(encode, "FEW", few)
    seen = Counter(map(tuple, choose_dimensions(20_000, dims, count, SeededBits(1, dims, count)).tolist()))
    expected = 20_000 / math.comb(dims, count)
    assert set(seen) <= set(combinations(range(dims), count))
    statistic = sum((seen[subset] - expected) ** 2 / expected for subset in combinations(range(dims), count))
    assert statistic < chi2.isf(1e-6, math.comb(dims, count) - 1)


@together("name", SAMPLED)
def test_the_choice_does_not_depend_on_the_values(name):
    found = small(name, dims=9, sampled=3)
    first, *others = (
        found.randomize(np.full((50, 9), value), SeededBits(3)).dims.tolist() for value in (0.0, 0.3, 1.0)
    )
    assert others == [first] * 2
