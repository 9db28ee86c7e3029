"""Alias tables: exactly the counts of a row, and exactly the code of a word."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graphveil.channels import TOTAL
from graphveil.channels.sampling import AliasTable, code_type
from tests.channels.reference import tables, whole_row
from tests.together import together

WORDS = 1 << 64
# Rows in steps of 2^52 can be drawn from all 1024 beginnings of a word.
STEPS = 1 << 10


@st.composite
def ragged_tables(draw: st.DrawFn) -> np.ndarray:
    """Rows cut at arbitrary places: counts of all sizes, zero included."""
    rows, outputs = draw(st.integers(1, 3)), draw(st.integers(1, 40))
    cuts = st.lists(st.integers(0, TOTAL), min_size=outputs - 1, max_size=outputs - 1)
    table = [np.diff([0, *sorted(draw(cuts)), TOTAL]) for _ in range(rows)]
    return np.array(table, dtype=np.int64)


@st.composite
def stepped_tables(draw: st.DrawFn) -> np.ndarray:
    """Rows whose counts are multiples of 2^52."""
    rows, outputs = draw(st.integers(1, 3)), draw(st.integers(1, 9))
    weights = st.lists(st.integers(0, 50), min_size=outputs, max_size=outputs).filter(any)
    table = [whole_row(draw(weights), STEPS) for _ in range(rows)]
    return np.array(table, dtype=np.int64) << 52


def draw(table: np.ndarray, symbol: int, words: list[int]) -> list[int]:
    """The codes of these words for one symbol."""
    built = AliasTable.build(table)
    return built.draw(np.full(len(words), symbol), np.array(words, dtype=np.uint64)).tolist()


def test_code_type_is_the_smallest():
    kinds = {1: "u1", 2: "u1", 256: "u1", 257: "u2", 1 << 16: "u2", (1 << 16) + 1: "u4", 1 << 24: "u4"}
    assert {size: code_type(size) for size in kinds} == kinds


@given(ragged_tables() | tables(max_outputs=30))
@settings(max_examples=100)
@example(np.array([[TOTAL]]))
@example(np.array([[0, 0, TOTAL, 0, 0]]))
@example(np.array([[TOTAL, 0], [0, TOTAL], [1, TOTAL - 1]]))
@example(np.array([[TOTAL // 4] * 4]))
@example(np.array([[1, 1, 1, 1, TOTAL - 4]]))
def test_shares_are_exactly_the_counts(table):
    built = AliasTable.build(table)
    assert [built.shares(row, table.shape[1]) for row in range(len(table))] == table.tolist()


@together("outputs", [127, 128, 129, 130, 255, 256, 257, 258, 512, 513, 514])
@pytest.mark.parametrize("shape", ["even", "steep", "one empty"])
def test_shares_are_exactly_the_counts_around_a_power_of_two(outputs: int, shape: str) -> None:
    weights = {
        "even": [1] * outputs,
        "steep": [place**3 + 1 for place in range(outputs)],
        "one empty": [1] * (outputs - 1) + [0],
    }[shape]
    table = np.array([whole_row(weights), whole_row(weights[::-1])])
    built = AliasTable.build(table)
    assert [built.shares(row, outputs) for row in range(2)] == table.tolist()


@given(stepped_tables(), st.sampled_from(["first", "last"]))
def test_all_words_together_draw_exactly_the_counts(table: np.ndarray, end: str) -> None:
    words = [(step << 54) + (0 if end == "first" else (1 << 54) - 1) for step in range(STEPS)]
    drawn = [np.bincount(draw(table, row, words), minlength=table.shape[1]) for row in range(len(table))]
    assert np.array_equal(np.array(drawn) << 52, table)


@given(ragged_tables())
def test_words_around_every_cut_draw_the_code_on_their_side_and_no_empty_cell(table):
    built = AliasTable.build(table)
    columns = 1 << built.column_bits
    for row in range(len(table)):
        cuts = [int(cut) for cut in built.cuts[row * columns : (row + 1) * columns]]
        words = sorted({word for cut in cuts for word in (cut - 1, cut, cut + 1) if 0 <= word < WORDS})
        expected = []
        for word in words:
            column = word * columns // WORDS
            place = 2 * (row * columns + column)
            expected.append(int(built.codes[place + 1] if word < cuts[column] else built.codes[place]))
        assert draw(table, row, words) == expected
        assert (table[row, expected] > 0).all()


CUT, QUARTER, HALF, LAST = 1 << 61, 1 << 62, 1 << 63, WORDS - 1


@together(
    ("counts", "words", "codes"),
    [
        # Four columns of 2^60 hold up to five outputs: the two empty ones are filled up by 0, then come 1 and 2.
        (
            [2 << 60, 1 << 60, 1 << 60, 0],
            [0, QUARTER - 1, QUARTER, HALF - 1, HALF, 3 * QUARTER - 1, 3 * QUARTER, LAST],
            [0, 0, 0, 0, 1, 1, 2, 2],
        ),
        # Two columns of 2^61 hold three outputs: a quarter of the first is 0 and the rest 2; a quarter of the second is
        # 2 and the rest 1.
        (
            [1 << 59, 3 << 59, 4 << 59],
            [0, CUT - 1, CUT, CUT + 1, HALF - 1, HALF, HALF + CUT - 1, HALF + CUT, LAST],
            [0, 0, 2, 2, 2, 2, 2, 1, 1],
        ),
        # Two columns of 2^61: output 0 has the first 4 of 2^64 words.
        ([1, TOTAL - 1], [0, 3, 4, 5, LAST], [0, 0, 1, 1, 1]),
        ([TOTAL], [0, HALF - 1, HALF, LAST], [0] * 4),
        ([0, 0, TOTAL, 0, 0], [step << 61 for step in range(8)], [2] * 8),
    ],
)
def test_small_tables_by_hand(counts, words, codes):
    assert draw(np.array([counts]), 0, words) == codes


def test_each_symbol_draws_from_its_own_row_and_leaves_the_words_alone():
    table = np.array([[TOTAL, 0, 0], [0, TOTAL, 0], [0, 0, TOTAL]])
    words = np.full(6, WORDS - 1, dtype=np.uint64)
    assert AliasTable.build(table).draw(np.array([2, 0, 1, 1, 0, 2]), words).tolist() == [2, 0, 1, 1, 0, 2]
    assert words.tolist() == [WORDS - 1] * 6


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.uint32, np.int64])
def test_the_type_of_symbols_does_not_matter(kind: type) -> None:
    # 200 rows of up to 256 columns: the place in the table exceeds a byte.
    rows = [whole_row([(row + place) % 7 + 1 for place in range(100)]) for row in range(200)]
    built, words = AliasTable.build(np.array(rows)), np.array([WORDS // 3, WORDS // 2], dtype=np.uint64)
    symbols = np.array([120, 99])
    assert built.draw(symbols.astype(kind), words).tolist() == built.draw(symbols, words).tolist()
