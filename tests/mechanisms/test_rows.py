"""Rows: dense arrays and sparse matrices behind one face, public ranges and balls, what is refused and what is altered."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from graphveil.errors import InputError
from graphveil.mechanisms.rows import PublicBall, PublicRange, Rows, row_norms
from tests.together import together

UNIT = PublicRange(0.0, 1.0)
MATRIX = np.array([[0.0, 1.0, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0], [1.0, 0.25, 0.0, 1.0]])
SPARSE = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]
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


def test_unsorted_and_duplicate_entries_are_summed():
    assert np.array_equal(Rows(messy(), 4).dense(0, 3), MATRIX)


def test_a_messy_matrix_is_left_as_it_was():
    sparse = messy()
    Rows(sparse, 4).dense(0, 3)
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


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array, sp.coo_array])
@together("kind", [bool, np.int8, np.uint64, np.float32])
def test_any_type_of_number_becomes_floats(build, kind):
    block = Rows(build(np.eye(3).astype(kind)), 3).dense(1, 3)
    assert block.dtype == np.float64
    assert block.tolist() == [[0, 1, 0], [0, 0, 1]]


def test_lists_are_rows_too():
    assert Rows([[0, 1], [1, 1]], 2).dense(0, 2).tolist() == [[0, 1], [1, 1]]


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array])
def test_nonzero_lists_the_ones_in_order(build):
    users, items = Rows(build(np.array([[0, 1, 1], [0, 0, 0], [1, 0, 0]])), 3).nonzero()
    assert (users.tolist(), items.tolist()) == ([0, 0, 2], [1, 2, 0])


def test_nonzero_ignores_stored_zeros():
    sparse = sp.csr_array((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 3))
    assert Rows(sparse, 3).nonzero()[1].tolist() == [1]


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array])
@together(
    ("value", "items"),
    [(0.5, [1]), (2.0, [1]), (np.inf, [1]), (5e-324, [1]), (-1.0, []), (-np.inf, []), (np.nan, [])],
)
def test_nonzero_lists_what_is_above_zero_whatever_it_is(build, value, items):
    assert Rows(build(np.array([[0.0, value]])), 2).nonzero()[1].tolist() == items


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array])
def test_a_number_beyond_double_precision_is_infinite(build):
    huge = np.array([[np.longdouble("1e4000"), 0]])
    if not np.isfinite(huge[0, 0]):
        pytest.skip("long doubles are doubles here")
    rows = Rows(build(huge), 2)
    assert rows.dense(0, 1).tolist() == [[np.inf, 0.0]]
    assert rows.take(np.array([[0, 1]], dtype=np.int32)).tolist() == [[np.inf, 0.0]]
    assert rows.outside(UNIT).sum() == rows.outside_ball(PublicBall(1.0)).sum() == 1


def test_blocks_hold_every_user_once_and_stay_small():
    blocks = Rows(np.zeros((10, 3)), 3).blocks(size=7)
    assert blocks == [(0, 2), (2, 4), (4, 6), (6, 8), (8, 10)]


def test_a_row_longer_than_a_block_is_a_block():
    assert Rows(np.zeros((2, 9)), 9).blocks(size=4) == [(0, 1), (1, 2)]


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array])
def test_no_users_are_fine(build):
    rows = Rows(build(np.zeros((0, 3))), 3)
    assert rows.outside(UNIT).sum() == rows.outside_ball(PublicBall(1.0)).sum() == 0
    assert rows.blocks() == []
    assert rows.take(np.zeros((0, 2), dtype=np.int32)).shape == (0, 2)


# Refusing


@pytest.mark.parametrize("shape", [(3,), (3, 5), (1, 3, 4), (0,)])
def test_a_wrong_shape_is_named(shape):
    with pytest.raises(InputError, match=r"users x 4 values, got the shape \(" + str(shape[0])):
        Rows(np.zeros(shape), 4)


def test_a_wrong_sparse_shape_is_named():
    with pytest.raises(InputError, match=r"users x 4 values, got the shape \(3, 3\)"):
        Rows(sp.eye_array(3), 4)


@pytest.mark.parametrize("build", [sp.coo_array, sp.csr_array])
def test_one_sparse_row_without_users_is_refused(build):
    with pytest.raises(InputError, match="users x 4 values"):
        Rows(build(np.array([1.0, 0, 0, 0])), 4)


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


def test_a_complex_sparse_matrix_is_refused():
    with pytest.raises(InputError, match="rows must hold numbers, got a sparse matrix of complex128"):
        Rows(sp.csr_array(np.array([[1j, 0]])), 2)


@pytest.mark.parametrize("ragged", [[[0, 1], [1]], [[0, 1], None], [0, 1], "ab"])
def test_ragged_lists_are_refused(ragged):
    with pytest.raises(InputError, match="rectangle"):
        Rows(ragged, 2)


# Counting what is altered


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array])
def test_rows_within_the_range_are_not_counted(build):
    assert Rows(build(MATRIX), 4).outside(UNIT).sum() == 0


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array])
def test_rows_are_counted_and_not_values(build):
    rows = np.array([[2.0, 3.0], [0.0, 1.0], [-0.1, 0.0]])
    assert Rows(build(rows), 2).outside(UNIT).sum() == 2


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_rows_with_what_is_not_finite_are_counted(build, value):
    rows = np.zeros((3, 4))
    rows[1, 2] = rows[2, 0] = value
    assert Rows(build(rows), 4).outside(UNIT).sum() == 2
    assert Rows(build(rows), 4).outside_ball(PublicBall(1.0)).sum() == 2


def test_rows_with_what_is_no_number_are_counted():
    rows = Rows([[0.0, 1.0], [None, 0.5], ["a", 0.5], [0.25, 0.5]], 2)
    assert rows.outside(UNIT).sum() == 2
    assert rows.outside_ball(PublicBall(2.0)).sum() == 2


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array])
def test_of_binary_values_all_but_the_two_ends_are_counted(build):
    rows = build(np.array([[0.0, 1.0], [0.5, 0.0], [1.0, 2.0], [0.0, np.nan], [1.0, 1.0]]))
    assert Rows(rows, 2).outside(UNIT, binary=True).sum() == 3


def test_zeros_that_are_not_stored_count_when_they_are_no_end_of_a_binary_range():
    rows = sp.csr_array(np.array([[-1.0, 0.0], [-1.0, 1.0], [0.0, 0.0]]))
    assert Rows(rows, 2).outside(PublicRange(-1.0, 1.0), binary=True).sum() == 2
    assert Rows(rows, 2).outside(PublicRange(-1.0, 1.0)).sum() == 0


def test_rows_are_counted_over_all_blocks():
    rows = np.zeros((5, 1 << 17))
    rows[[0, 3, 4], 7] = 9.0
    assert Rows(rows, 1 << 17).outside(UNIT).sum() == 3


def test_zeros_that_are_not_stored_count_when_the_range_excludes_them():
    rows = np.array([[1.5, 0.0], [1.5, 2.0], [0.0, 0.0]])
    assert Rows(sp.csr_array(rows), 2).outside(PublicRange(1.0, 2.0)).sum() == 2


def test_zeros_that_are_not_stored_count_once_beside_stored_values_outside():
    rows = np.array([[9.0, 0.0], [1.0, 2.0]])
    assert Rows(sp.csr_array(rows), 2).outside(PublicRange(1.0, 2.0)).sum() == 1


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


@pytest.mark.parametrize("pair", [(1, 0), (0, 0), (0, float("nan")), (-float("inf"), 0)])
def test_a_range_must_rise(pair):
    with pytest.raises(InputError, match="LOW < HIGH"):
        PublicRange.of(pair)


@pytest.mark.parametrize("pair", [None, 3, "ab", (1, 2, 3), ("a", "b")])
def test_a_range_must_be_two_numbers(pair):
    with pytest.raises(InputError, match="two numbers LOW, HIGH"):
        PublicRange.of(pair)


@pytest.mark.parametrize("pair", [(1e16, 1e16 + 2), (0, 5e-324), (-1.7e308, 1.7e308), (1e308, 1.7e308)])
def test_a_range_that_floats_cannot_hold_is_refused(pair):
    with pytest.raises(InputError, match="cannot be computed with"):
        PublicRange.of(pair)


def test_a_range_is_its_own_pair():
    assert PublicRange.of(UNIT) is UNIT


@given(finite, st.floats(1e-3, 1e6))
def test_the_ends_of_a_range_map_to_the_ends_exactly(low, width):
    public = PublicRange(low, low + width)
    assert public.to_unit(np.array([public.low, public.high])).tolist() == [-1.0, 1.0]


@given(finite, st.floats(1e-3, 1e6), st.floats(-2, 2))
def test_what_is_mapped_lies_in_the_unit_range_and_comes_back(low, width, place):
    public = PublicRange(low, low + width)
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


def test_the_centre_is_subtracted():
    distance, direction = PublicBall(1.0, centre=0.5).polar(np.array([[1.0, 0.5]]))
    assert (distance.tolist(), direction.tolist()) == ([0.5], [[1.0, 0.0]])


def test_the_centre_itself_has_a_direction():
    distance, direction = PublicBall(1.0, centre=0.5).polar(np.full((1, 4), 0.5))
    assert (distance.tolist(), direction.tolist()) == ([0.0], [[0.5, 0.5, 0.5, 0.5]])


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1e200, 1.7e308])
def test_no_magnitude_overflows_or_underflows(size):
    direction = PublicBall(1.0).polar(np.array([[size, -size]]))[1]
    assert direction[0] == pytest.approx([np.sqrt(0.5), -np.sqrt(0.5)])


@pytest.mark.parametrize(("row", "like"), [([np.nan, 3.0], [0.5, 3.0]), ([np.nan] * 2, [0.5] * 2)])
def test_nan_is_the_centre_of_its_coordinate(row, like):
    ball = PublicBall(1.0, centre=0.5)
    for one, other in zip(ball.polar(np.array([row])), ball.polar(np.array([like])), strict=True):
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize(
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


def test_no_number_is_farther_out_than_infinity():
    direction = PublicBall(1.0).polar(np.array([[np.inf, 1.7e308]]))[1]
    assert direction[0, 0] > direction[0, 1]


def test_the_ball_of_a_range_just_holds_its_corners():
    ball = PublicBall.around(PublicRange(2.0, 6.0), 9)
    assert (ball.radius, ball.centre) == (6.0, 4.0)
    assert ball.polar(np.full((1, 9), 6.0))[0] == pytest.approx([1.0])


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array])
def test_rows_outside_the_ball_are_counted(build):
    rows = build(np.array([[3.0, 4.0], [3.0, 4.1], [0.0, 0.0], [9.0, 0.0]]))
    assert Rows(rows, 2).outside_ball(PublicBall(5.0)).sum() == 2


def test_rounding_to_single_precision_is_not_outside():
    rows = np.random.default_rng(0).normal(size=(200, 7))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    assert (np.linalg.norm(rows.astype(float), axis=1) > 1).any()
    assert Rows(rows, 7).outside_ball(PublicBall(1.0)).sum() == 0


@together("radius", [0.0, -1.0, float("nan"), float("inf"), "1", True, 1e101])
def test_a_radius_must_be_positive(radius):
    with pytest.raises(InputError, match="radius must be a number from 1e-100 to"):
        PublicBall(radius)


def test_a_centre_must_be_a_number():
    with pytest.raises(InputError, match="centre must be a number"):
        PublicBall(1.0, centre=float("nan"))


@pytest.mark.parametrize(
    "held", [MATRIX, sp.csr_array(MATRIX), sp.coo_array(MATRIX), messy(), MATRIX.tolist()]
)
def test_norms_are_one_column_whatever_the_rows_are_held_in(held):
    np.testing.assert_allclose(row_norms(held), [[np.sqrt(1.25)], [0.0], [np.sqrt(2.0625)]])


def test_norms_of_small_integers_do_not_overflow():
    rows = np.full((2, 4), 200, dtype=np.uint8)
    assert row_norms(rows).tolist() == row_norms(sp.csr_array(rows)).tolist() == [[400.0], [400.0]]


def test_norms_need_rows():
    with pytest.raises(InputError, match="users x values"):
        row_norms(np.ones(3))
