"""Rows: how they are held, public ranges and balls, what is refused and what is altered, and how values become symbols."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.stats import chi2

from graphveil.channels.sampling import SeededBits
from graphveil.errors import InputError
from graphveil.mechanisms import rows as encode
from graphveil.mechanisms.rows import (
    PublicBall,
    PublicRange,
    Rows,
    binary_symbols,
    choose_dimensions,
    round_at_random,
    row_norms,
    upper_bins,
)
from tests.channels.reference import GivenWords
from tests.mechanisms.support import SAMPLED, small
from tests.refusals import check_refused
from tests.together import together

UNIT = PublicRange(0.0, 1.0)
MATRIX = np.array([[0.0, 1.0, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0], [1.0, 0.25, 0.0, 1.0]])
SPARSE = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]
SPARSE_BUILDS = [sp.coo_array, sp.csr_array]
SHAPES = [(3,), (3, 5), (1, 3, 4), (0,)]
BUILDS = pytest.mark.parametrize("build", [np.asarray, sp.csr_array])
finite = st.floats(-1e6, 1e6, allow_subnormal=False)


def messy():
    """MATRIX as CSR with unsorted columns, a duplicate (0.25 + 0.25 = 0.5) and a stored zero."""
    data = np.array([0.25, 1.0, 0.25, 0.0, 1.0, 0.25, 1.0])
    indices = np.array([3, 1, 3, 2, 3, 1, 0])
    return sp.csr_array((data, indices, np.array([0, 4, 4, 7])), shape=MATRIX.shape)


# Reading


@together("kind", SPARSE)
@pytest.mark.parametrize("family", ["array", "matrix"])
def test_every_sparse_format_reads_as_the_dense_rows(kind, family):
    sparse = getattr(sp, f"coo_{family}")(MATRIX).asformat(kind)
    assert np.array_equal(Rows(sparse, 4).dense(0, 3), MATRIX)


def test_unsorted_and_duplicate_entries_are_summed_and_left_as_they_were():
    sparse = messy()
    assert np.array_equal(Rows(sparse, 4).dense(0, 3), MATRIX)
    assert sparse.indices.tolist() == [3, 1, 3, 2, 3, 1, 0]


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array, sp.csc_matrix, lambda _: messy()])
def test_take_gives_every_user_their_own_dimensions(build):
    wanted = np.array([[1, 3], [0, 2], [0, 3]], dtype=np.int32)
    assert Rows(build(MATRIX), 4).take(wanted).tolist() == [[1.0, 0.5], [0.0, 0.0], [1.0, 1.0]]


@given(
    arrays.arrays(
        np.float64, st.tuples(st.integers(0, 6), st.integers(1, 6)), elements=st.sampled_from([0.0, 0.5, 1])
    ),
    st.data(),
)
def test_take_is_the_same_for_dense_and_sparse_rows(dense, data):
    wanted = data.draw(
        arrays.arrays(np.int32, (dense.shape[0], 2), elements=st.integers(0, dense.shape[1] - 1))
    )
    from_sparse = Rows(sp.csr_array(dense), dense.shape[1]).take(wanted)
    assert np.array_equal(from_sparse, np.take_along_axis(dense, wanted.astype(np.int64), axis=1))


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array, sp.coo_array, np.ndarray.tolist])
@together("kind", [bool, np.int8, np.uint64, np.float32])
def test_any_type_of_number_becomes_floats(build, kind):
    block = Rows(build(np.eye(3).astype(kind)), 3).dense(1, 3)
    assert block.dtype == np.float64
    assert block.tolist() == [[0, 1, 0], [0, 0, 1]]


@BUILDS
def test_nonzero_lists_in_order_what_is_above_zero_whatever_it_is(build):
    held = np.array([[0, 1, 1], [0, 0, 0], [0.5, 0, 0], [2, -1, np.inf], [-np.inf, np.nan, 5e-324]])
    users, items = Rows(build(held), 3).nonzero()
    assert (users.tolist(), items.tolist()) == ([0, 0, 2, 3, 3, 4], [1, 2, 0, 0, 2, 2])
    stored = sp.csr_array((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 3))
    assert Rows(stored, 3).nonzero()[1].tolist() == [1]


@BUILDS
def test_a_number_beyond_double_precision_is_infinite(build):
    huge = np.array([[np.longdouble("1e4000"), 0]])
    if not np.isfinite(huge[0, 0]):
        pytest.skip("long doubles are doubles here")
    rows = Rows(build(huge), 2)
    assert rows.dense(0, 1).tolist() == [[np.inf, 0.0]]
    assert rows.take(np.array([[0, 1]], dtype=np.int32)).tolist() == [[np.inf, 0.0]]
    assert rows.outside(UNIT).sum() == rows.outside_ball(PublicBall(1.0)).sum() == 1


def test_blocks_hold_every_user_once_stay_small_and_are_all_counted():
    assert Rows(np.zeros((10, 3)), 3).blocks(size=7) == [(0, 2), (2, 4), (4, 6), (6, 8), (8, 10)]
    assert Rows(np.zeros((2, 9)), 9).blocks(size=4) == [(0, 1), (1, 2)]  # a row is a block at least
    rows = np.zeros((5, 1 << 17))
    rows[[0, 3, 4], 7] = 9.0
    assert Rows(rows, 1 << 17).outside(UNIT).sum() == 3


@BUILDS
def test_no_users_are_fine(build):
    rows = Rows(build(np.zeros((0, 3))), 3)
    assert rows.outside(UNIT).sum() == rows.outside_ball(PublicBall(1.0)).sum() == 0
    assert rows.blocks() == []
    assert rows.take(np.zeros((0, 2), dtype=np.int32)).shape == (0, 2)


def test_what_are_no_rows_is_refused():
    check_refused(
        Rows,
        [
            *((np.zeros(shape), 4, f"users x 4 values, got the shape ({shape[0]}") for shape in SHAPES),
            (sp.eye_array(3), 4, "users x 4 values, got the shape (3, 3)"),
            *((build(np.array([1.0, 0, 0, 0])), 4, "users x 4 values") for build in SPARSE_BUILDS),
            (sp.csr_array(np.array([[1j, 0]])), 2, "must hold numbers, got a sparse matrix of complex128"),
            *((ragged, 2, "rectangle") for ragged in ([[0, 1], [1]], [[0, 1], None], [0, 1], "ab")),
        ],
    )


@together(
    ("data", "expected"),
    [
        ([["a", "b"]], [np.nan, np.nan]),
        (np.array([["1", "2"]]), [np.nan, np.nan]),
        ([["a", 1]], [np.nan, 1.0]),
        (np.array([[None, 1]], dtype=object), [np.nan, 1.0]),
        ([[None, np.float32(0.5)]], [np.nan, 0.5]),
        (np.zeros((1, 2), dtype=complex), [np.nan, np.nan]),
        ([[{}, 10**400]], [np.nan, np.inf]),
        ([[-(10**400), 10**20]], [-np.inf, 1e20]),
    ],
)
def test_what_is_no_number_is_read_as_none_and_numbers_beside_it_stay(data, expected):
    np.testing.assert_array_equal(Rows(data, 2).dense(0, 1), [expected])


# Counting what is altered


@BUILDS
@together(
    ("rows", "span", "binary", "count"),
    [
        (MATRIX, (0, 1), False, 0),
        ([[2.0, 3.0], [0.0, 1.0], [-0.1, 0.0]], (0, 1), False, 2),
        ([[0.0, 1.0], [np.nan, 0.0], [0.0, np.inf], [0.5, -np.inf]], (0, 1), False, 3),
        ([[0.0, 1.0], [0.5, 0.0], [1.0, 2.0], [0.0, np.nan], [1.0, 1.0]], (0, 1), True, 3),
        ([[-1.0, 0.0], [-1.0, 1.0], [0.0, 0.0]], (-1, 1), True, 2),
        ([[-1.0, 0.0], [-1.0, 1.0], [0.0, 0.0]], (-1, 1), False, 0),
        ([[1.5, 0.0], [1.5, 2.0], [0.0, 0.0]], (1, 2), False, 2),
        ([[9.0, 0.0], [1.0, 2.0]], (1, 2), False, 1),
    ],
)
def test_rows_outside_the_range_are_counted_and_not_values(build, rows, span, binary, count):
    """Zeros that are not stored count like those that are."""
    rows = np.array(rows)
    assert Rows(build(rows), rows.shape[1]).outside(PublicRange.of(span), binary).sum() == count


def test_rows_with_what_is_no_number_are_counted():
    rows = Rows([[0.0, 1.0], [None, 0.5], ["a", 0.5], [0.25, 0.5]], 2)
    assert rows.outside(UNIT).sum() == 2
    assert rows.outside_ball(PublicBall(2.0)).sum() == 2


@given(
    arrays.arrays(
        np.float64,
        st.tuples(st.integers(1, 5), st.integers(1, 4)),
        elements=st.sampled_from([-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, np.nan, np.inf]),
    ),
    st.integers(-3, 2),
    st.integers(1, 3),
    st.booleans(),
)
def test_dense_and_sparse_rows_are_counted_alike(dense, low, width, binary):
    public = PublicRange(float(low), float(low + width))
    dims = dense.shape[1]
    counts = [Rows(rows, dims).outside(public, binary).tolist() for rows in (dense, sp.csr_array(dense))]
    assert counts[0] == counts[1]


# Public ranges


def test_a_range_must_rise_and_be_computed_with():
    assert PublicRange.of(UNIT) is UNIT
    nan, inf = float("nan"), float("inf")
    two, held = "two numbers LOW, HIGH", "cannot be computed with"
    check_refused(
        PublicRange.of,
        [
            *((pair, "LOW < HIGH") for pair in ((1, 0), (0, 0), (0, nan), (-inf, 0))),
            *((pair, two) for pair in (None, 3, "ab", (1, 2, 3), ("a", "b"))),
            *(
                (pair, held)
                for pair in ((1e16, 1e16 + 2), (0, 5e-324), (-1.7e308, 1.7e308), (1e308, 1.7e308))
            ),
        ],
    )


@given(finite, st.floats(1e-3, 1e6), st.floats(-2, 2))
def test_what_is_mapped_lies_in_the_unit_range_and_comes_back(low, width, place):
    public = PublicRange(low, low + width)
    assert public.to_unit(np.array([public.low, public.high])).tolist() == [-1.0, 1.0]
    value = public.centre + place * public.half_width
    unit = float(public.to_unit(np.array([value]))[0])
    assert -1 <= unit <= 1
    wanted = min(max(value, public.low), public.high)
    assert public.centre + unit * public.half_width == pytest.approx(
        wanted, rel=1e-9, abs=1e-9 * (abs(low) + width)
    )


@together(
    ("value", "unit"),
    [(np.nan, 0.0), (np.inf, 1.0), (-np.inf, -1.0), (1.7e308, 1.0), (-1.7e308, -1.0), (4.0, 0.0), (5.0, 0.5)],
)
def test_what_lies_outside_is_mapped_to_the_nearer_end_and_nan_to_the_middle(value, unit):
    assert PublicRange(2.0, 6.0).to_unit(np.array([value])).tolist() == [unit]


# Public balls


def test_distance_and_direction_of_a_row():
    distance, direction = PublicBall(10.0).polar(np.array([[3.0, 4.0], [0.0, -20.0]]))
    assert distance.tolist() == [0.5, 2.0]
    assert direction.tolist() == [pytest.approx([0.6, 0.8]), [0.0, -1.0]]
    # The centre is subtracted, and has a direction itself.
    distance, direction = PublicBall(1.0, centre=0.5).polar(np.array([[1.0, *[0.5] * 3], [0.5] * 4]))
    assert distance.tolist() == [0.5, 0.0]
    assert direction.tolist() == [[1.0, 0.0, 0.0, 0.0], [0.5] * 4]
    # No magnitude overflows or underflows.
    for size in (5e-324, 1e-200, 1e200, 1.7e308):
        direction = PublicBall(1.0).polar(np.array([[size, -size]]))[1]
        assert direction[0] == pytest.approx([np.sqrt(0.5), -np.sqrt(0.5)])
    # NaN is the centre of its coordinate.
    for row, like in (([np.nan, 3.0], [0.5, 3.0]), ([np.nan] * 2, [0.5] * 2)):
        found, usual = (PublicBall(1.0, centre=0.5).polar(np.array([held])) for held in (row, like))
        assert [part.tolist() for part in found] == [part.tolist() for part in usual]


@together(
    ("row", "direction"),
    [
        ([np.inf, 0.0], [1.0, 0.0]),
        ([0.0, -np.inf], [0.0, -1.0]),
        ([np.inf, 1e200], [1.0, 0.0]),
        ([np.inf, np.nan], [1.0, 0.0]),
        ([np.inf, -np.inf], [np.sqrt(0.5), -np.sqrt(0.5)]),
    ],
)
def test_infinity_is_far_out_in_its_own_direction(row, direction):
    distance, found = PublicBall(1e100).polar(np.array([row]))
    assert distance[0] > 1e200
    assert found[0] == pytest.approx(direction, abs=1e-15)
    # No number is farther out.
    largest = PublicBall(1.0).polar(np.array([[np.inf, 1.7e308]]))[1]
    assert largest[0, 0] > largest[0, 1]


def test_the_ball_of_a_range_just_holds_its_corners_and_what_single_precision_rounds():
    ball = PublicBall.around(PublicRange(2.0, 6.0), 9)
    assert (ball.radius, ball.centre) == (6.0, 4.0)
    assert ball.polar(np.full((1, 9), 6.0))[0] == pytest.approx([1.0])
    rows = np.random.default_rng(0).normal(size=(200, 7))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    assert (np.linalg.norm(rows.astype(float), axis=1) > 1).any()
    assert Rows(rows, 7).outside_ball(PublicBall(1.0)).sum() == 0


@BUILDS
def test_rows_outside_the_ball_are_counted(build):
    rows = [[3.0, 4.0], [3.0, 4.1], [0.0, 0.0], [9.0, 0.0], [0.0, np.nan], [np.inf, 0.0], [0.0, -np.inf]]
    assert Rows(build(np.array(rows)), 2).outside_ball(PublicBall(5.0)).sum() == 5


def test_a_radius_must_be_positive_and_a_centre_a_number():
    for radius in (0.0, -1.0, float("nan"), float("inf"), "1", True, 1e101):
        with pytest.raises(InputError, match="radius must be a number from 1e-100 to"):
            PublicBall(radius)
    with pytest.raises(InputError, match="centre must be a number"):
        PublicBall(1.0, centre=float("nan"))


def test_norms_are_one_column_whatever_the_rows_are_held_in():
    for held in (MATRIX, sp.csr_array(MATRIX), sp.coo_array(MATRIX), messy(), MATRIX.tolist()):
        np.testing.assert_allclose(row_norms(held), [[np.sqrt(1.25)], [0.0], [np.sqrt(2.0625)]])
    rows = np.full((2, 4), 200, dtype=np.uint8)
    assert row_norms(rows).tolist() == row_norms(sp.csr_array(rows)).tolist() == [[400.0], [400.0]]
    with pytest.raises(InputError, match="users x values"):
        row_norms(np.ones(3))


# Encoding: random rounding to the word, bins, and the choice of dimensions


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


def test_binary_values_count_by_their_sign_and_bins_hold_their_upper_edges():
    values = np.array([-1.0, -0.999, -0.0, 0.0, 5e-324, 0.5, 1.0])
    assert binary_symbols(values).tolist() == [0, 0, 0, 0, 1, 1, 1]
    edges = np.array([-1.0, -0.5, -0.25, 0.0, 0.001, 0.5, 0.501, 1.0])
    assert upper_bins(edges, 4).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


@given(st.floats(-1, 1), st.integers(2, 50))
def test_a_bin_lies_around_its_value(value, bins):
    chosen = int(upper_bins(np.array([value]), bins)[0])
    place = (value + 1) / 2 * bins
    assert chosen - 1e-9 <= place <= chosen + 1 + 1e-9


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
