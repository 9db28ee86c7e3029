"""Sketches of rows: the hash, lengths, odd values, what is refused, and what privunit makes of them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import norm

from graphveil.channels.sampling import SeededBits
from graphveil.errors import InputError
from graphveil.mechanisms import mechanism
from graphveil.mechanisms.privunit import Sketch
from graphveil.mechanisms.rows import PublicRange
from tests.mechanisms.support import same_answers
from tests.together import together

UNIT = PublicRange(0.0, 1.0)
# The first outputs of SplitMix64 that starts at 0, as its authors' program prints them.
OUTPUTS = [
    0xE220A8397B1DCDAF,
    0x6E789E6AA1B965F4,
    0x06C45D188009454F,
    0xF88BB8A8724C81EC,
    0x1B39896A51A8749B,
]
# 2^64 over the golden ratio, by which SplitMix64 steps.
GOLDEN = 0x9E3779B97F4A7C15


def sketch(inputs=5, size=4, seed=0, public=UNIT, centre=0.0):
    return Sketch(inputs, size, seed, public, centre)


def by_hand(inputs, size, seed):
    """Places and signs, with Python's integers."""
    places, signs = [], []
    for value in range(inputs):
        state = (seed + (value + 1) * GOLDEN) % 2**64
        state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        state = (state ^ state >> 27) * 0x94D049BB133111EB % 2**64
        state ^= state >> 31
        places.append((state >> 32) * size >> 32)
        signs.append(-1 if state & 1 else 1)
    return places, signs


def test_places_and_signs_are_those_of_printed_outputs():
    found = sketch()
    # The two highest bits of E2…, 6E…, 06…, F8… and 1B…; the lowest bits of …AF, …F4, …4F, …EC and …9B.
    assert found.places.tolist() == [3, 1, 0, 3, 0]
    assert found.signs.tolist() == [-1, 1, -1, 1, -1]
    assert [int(each) for each in sketch()._hashes] == OUTPUTS


@settings(deadline=None)
@given(st.integers(2, 60), st.integers(1, 59), st.integers(0, 2**53 - 1))
def test_places_and_signs_follow_the_formula(inputs, size, seed):
    size = min(size, inputs - 1)
    places, signs = by_hand(inputs, size, seed)
    found = sketch(inputs, size, seed)
    assert (found.places.tolist(), found.signs.tolist()) == (places, signs)


@pytest.mark.parametrize(
    ("centre", "row", "sums"),
    [
        (0.0, [0.5, 1.0, 0.25, 1.0, 0.0], [-0.25, 1.0, 0.0, 0.5]),
        (0.5, [0.5, 1.0, 0.25, 1.0, 0.5], [0.25, 0.5, 0.0, 0.5]),
    ],
)
def test_a_row_becomes_signed_sums_of_differences_to_the_centre_over_their_length(centre, row, sums):
    # Values 0 and 3 fall on 3 (-, +), 1 on 1 (+), 2 and 4 on 0 (-, -); nothing falls on 2.
    expected = np.array(sums) / np.linalg.norm(sums)
    np.testing.assert_allclose(sketch(centre=centre).of(np.array([row])), [expected], rtol=1e-15)


@pytest.mark.parametrize("centre", [0.0, 0.5, 1.0])
def test_where_inputs_are_as_many_as_numbers_values_keep_their_places(centre):
    row = np.array([[0.1, 0.9, 0.3]])
    moved = row - centre
    found = sketch(3, 3, seed=7, centre=centre).of(row)
    np.testing.assert_allclose(found, moved / np.linalg.norm(moved), rtol=1e-15)


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 1000))
def test_every_row_has_length_one_or_is_zero(inputs, size, seed):
    rows = np.random.default_rng(seed).random((20, inputs)).round(1)
    rows[0] = 0.0
    lengths = np.linalg.norm(sketch(inputs, min(size, inputs), seed).of(rows), axis=1)
    zero = lengths == 0
    assert zero[0]
    np.testing.assert_allclose(lengths[~zero], 1.0, rtol=1e-14)


def test_values_that_cancel_leave_zero_and_rows_are_not_changed():
    # Values 0 and 3 fall on one number with opposite signs.
    assert sketch().of(np.array([[0.7, 0, 0, 0.7, 0]])).tolist() == [[0.0] * 4]
    rows = np.array([[0.5, math.nan, 2.0, 0.0, 1.0]])
    before = rows.copy()
    sketch().of(rows)
    np.testing.assert_array_equal(rows, before)


@together(
    ("odd", "counts_as"),
    [(math.nan, 0.25), *((high, 1.0) for high in (math.inf, 1e308, 1.5))]
    + [(low, 0.0) for low in (-math.inf, -1e308, -0.1)],
)
def test_what_lies_outside_counts_as_an_end_and_what_is_no_number_as_the_centre(odd, counts_as):
    rows = np.array([[odd, 0.5, 0.75, 0.1, 0.2], [counts_as, 0.5, 0.75, 0.1, 0.2]])
    first, second = sketch(centre=0.25).of(rows)
    assert first.tolist() == second.tolist()


@pytest.mark.parametrize("public", [(0.0, 1.7e308), (-8e307, 8e307), (0.0, 1e-300), (5e-324, 1e-320)])
def test_nothing_overflows_however_wide_the_range_is(public):
    low, high = public
    try:
        wide = PublicRange(low, high)
    except InputError:
        pytest.skip("no range that is computed with")
    found = sketch(64, 2, public=wide, centre=low).of(np.stack([np.full(64, high), np.full(64, low)]))
    places, signs = by_hand(64, 2, 0)
    sums = np.bincount(places, signs, minlength=2)
    np.testing.assert_allclose(found[0], sums / np.linalg.norm(sums), rtol=1e-12)
    assert found[1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("size", [3, 11, 12])
def test_lifted_weights_give_the_sums_of_the_sketch_but_for_the_length(size):
    random = np.random.default_rng(size)
    rows, weights = random.random((6, 12)), random.normal(size=(4, size))
    found = sketch(12, size, seed=5, centre=0.5)
    of_sketches = found.of(rows) @ weights.T
    of_rows = (rows - 0.5) @ found.lifted(weights).T
    ratios = of_sketches / of_rows
    np.testing.assert_allclose(ratios, np.broadcast_to(ratios[:, :1], ratios.shape), rtol=1e-9)
    assert (ratios > 0).all()


@together(
    ("options", "words"),
    [
        ({"inputs": 3}, "a sketch must have at most 3 numbers, got dims = 4"),
        *(({"inputs": wrong}, "inputs must be") for wrong in (0, 2.5)),
        ({"inputs": (1 << 20) + 1}, "inputs must be an integer from 1 to 1048576"),
        *(({"inputs": 5, "hash_seed": wrong}, "hash_seed must be") for wrong in (-1, 1 << 53, 0.5)),
        *(({"inputs": 5, "centre": wrong}, "centre must be") for wrong in (2.0, -0.1, math.nan)),
        ({"inputs": 5, "radius": 1.0}, "a sketch needs the public range, and its radius is 1"),
        ({"inputs": 5, "range": None}, "a sketch needs the public range"),
        *((alone, "give inputs too, or leave them out") for alone in ({"hash_seed": 1}, {"centre": 0.5})),
    ],
)
def test_bad_options_are_refused_with_what_was_expected(options, words):
    with pytest.raises(InputError, match=words):
        mechanism("privunit", epsilon=1.0, dims=4, **{"range": (0, 1), **options})


def test_the_centre_is_zero_where_the_range_has_it_and_else_the_low_end():
    centres = [
        mechanism("privunit", epsilon=1.0, dims=2, range=ends, inputs=3).sketch.centre
        for ends in ((0, 1), (-1, 1), (2, 3), (-3, -2))
    ]
    assert centres == [0.0, 0.0, 2.0, -3.0]


def hashed(epsilon=2.0, **more):
    return mechanism("privunit", **{"epsilon": epsilon, "dims": 4, "inputs": 5, "range": (0, 1), **more})


def test_what_is_hashed_otherwise_has_another_fingerprint_and_the_same_epsilon():
    for change in ({"hash_seed": 1}, {"centre": 0.5}, {"range": (0, 2)}, {"inputs": 6}):
        assert hashed(**change).fingerprint != hashed().fingerprint, change
    for centre in (0, np.int64(0), np.float32(0), None):
        assert hashed(centre=centre).fingerprint == hashed(centre=0.0).fingerprint, centre
    alone = mechanism("privunit", epsilon=2.0, dims=4, radius=1.0)
    for seed in range(5):
        assert (hashed(hash_seed=seed).epsilon, hashed().cap) == (alone.epsilon, alone.cap)


@pytest.mark.statistical
def test_estimates_are_those_of_the_sketch_on_average():
    """100,000 users with one row: a z-test for each number; false alarm 1e-6 in all, seed fixed."""
    found, users = hashed(4.0, hash_seed=3, centre=0.5), 100_000
    row = np.array([[1.0, 0.0, 0.5, 0.75, 1.0]])
    places, signs = by_hand(5, 4, 3)
    sums = np.bincount(places, np.array(signs) * (row[0] - 0.5), minlength=4)
    expected = sums / np.linalg.norm(sums)
    given_rows = np.repeat(row, users, axis=0)
    estimates = found.estimate(found.randomize(given_rows, SeededBits(11))).dense()
    errors = estimates.std(axis=0) / math.sqrt(users)
    assert (np.abs(estimates.mean(axis=0) - expected) < norm.isf(1e-6 / 8) * errors).all()


def test_a_blind_answer_does_not_look_and_extremes_are_told_apart_as_well_as_any():
    blind, rows = hashed().blind(), np.random.default_rng(0).random((50, 5))
    assert blind.epsilon == 0 and same_answers(blind, rows, rows[::-1])
    # Their sketches are opposite where the centre is the middle.
    found = hashed(centre=0.5)
    first, second = found.sketch.of(np.stack(found.extremes()))
    assert first.tolist() == (-second).tolist()


def test_rows_are_held_and_counted_as_they_are():
    rows = np.array([[0, 1, 0, 0.5, 0], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0.25]])
    explicit = csr_array((rows.ravel(), np.tile(np.arange(5), 3), np.arange(0, 16, 5)), shape=rows.shape)
    assert explicit.nnz == 15
    for held in (csr_array(rows), explicit):
        assert same_answers(hashed(hash_seed=9), rows, held)
    rows = np.array([[0, 1, 0, 0, 0], [0, 2, 0, 0, 0], [0, math.nan, 0, 0, 0]])
    assert hashed().altered(rows) == 2
    with pytest.raises(InputError, match="rows must be users x 5 values"):
        hashed().randomize(np.zeros((2, 4)), SeededBits(0))
    # Rows of 2^17 values go two at a time: nothing depends on where a block ends.
    inputs = 1 << 17
    wide = mechanism("privunit", epsilon=2.0, dims=3, range=(0, 1), inputs=inputs, hash_seed=1)
    rows = csr_array(([1.0, 1.0, 1.0], ([0, 1, 4], [5, 77, inputs - 1])), shape=(5, inputs))
    assert wide.randomize(rows, SeededBits(0)).codes.shape == (15,)
