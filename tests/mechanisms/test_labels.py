"""Labels by k-ary response, levels by the extended square wave, and one item of a set."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from graphveil.channels.sampling import SeededBits
from graphveil.errors import ClaimError, InputError
from graphveil.mechanisms import LevelMechanism, mechanism
from graphveil.mechanisms import labels as builders
from graphveil.mechanisms.labels import amplified
from tests.channels.reference import GivenWords
from tests.mechanisms.support import check_counts_as, exact_mean, largest_ratio, loss_ratio, same_answers
from tests.together import together


@settings(max_examples=30, deadline=None)
@given(st.floats(0.01, 15), st.integers(2, 30), st.data())
def test_the_mean_of_a_label_is_its_indicator(epsilon, classes, data):
    label = data.draw(st.integers(0, classes - 1))
    mean = exact_mean(mechanism("krr", epsilon=epsilon, classes=classes), label)
    assert mean == pytest.approx(np.eye(classes)[label].tolist(), abs=1e-9)


def test_a_label_is_kept_with_the_documented_probability():
    found = mechanism("krr", epsilon=2.0, classes=5)
    counts, total = found.joint_counts(3)
    keep = math.exp(2) / (math.exp(2) + 4)
    assert [int(count) / total for count in counts] == pytest.approx(
        [(1 - keep) / 4] * 3 + [keep, (1 - keep) / 4]
    )


def test_a_report_is_one_code():
    reports = mechanism("krr", epsilon=1.0, classes=300).randomize(np.arange(300), SeededBits(0))
    assert (reports.users, reports.codes.dtype, reports.dims) == (300, np.uint16, None)
    reports = item(1.0, 1433, 18).randomize(np.zeros((3, 1433)), SeededBits(0))
    assert (reports.codes.size, reports.codes.dtype, reports.dims) == (3, np.uint16, None)


@pytest.mark.statistical
def test_the_estimate_adds_to_the_answered_class_only():
    """Three labels at ε = 20, each kept but for 4·10^-9; false alarm below 1e-6, seed fixed."""
    found = mechanism("krr", epsilon=20.0, classes=3)
    dense = found.randomize([0, 2, 1], SeededBits(0)).estimate().dense()
    assert dense.argmax(axis=1).tolist() == [0, 2, 1]
    assert dense.sum(axis=1) == pytest.approx([1, 1, 1])


SYMBOLS = [("krr", {"classes": 3}, 0), ("esw", {"levels": 3}, 1)]
# None of 0..2 and none of 1..3.
NO_SYMBOLS = [-1, 7, 0.5, 1.5, np.nan, np.inf, -np.inf, 2**63, 10**400, None, "a", "1", 1j]


@together("none", NO_SYMBOLS)
@pytest.mark.parametrize(("name", "settings", "first"), SYMBOLS)
def test_what_is_no_symbol_is_answered_by_the_control(name, settings, first, none):
    """With the same words: so with the control's distribution, which is that of nobody's symbol."""
    found = mechanism(name, epsilon=4.0, **settings)
    answered = found.randomize([none] * 200, SeededBits(4)).codes
    assert found.altered([none] * 200 + [first] * 50) == 200
    for symbol in range(first, first + 3):
        control = found.blind().randomize(np.full(200, symbol), SeededBits(4)).codes
        assert answered.tolist() == control.tolist()
        assert answered.tolist() != found.randomize(np.full(200, symbol), SeededBits(4)).codes.tolist()


@together("kind", [np.int8, np.uint8, np.uint64, np.float16, np.float32, np.float64, object])
def test_a_symbol_is_one_whatever_holds_it(kind):
    held = np.arange(100)
    check_counts_as(mechanism("krr", epsilon=1.0, classes=300), held.astype(kind), held, 0)


def test_true_and_false_count_as_1_and_0():
    krr = mechanism("krr", epsilon=20.0, classes=3)
    for held in ([True, False], np.array([True, False]), np.array([True, False], dtype=object)):
        assert krr.altered(held) == 0
        assert krr.randomize(held).codes.tolist() == [1, 0]


@together("held", [1, np.zeros((2, 1)), np.array([[0, 1]]), "abc"])
@pytest.mark.parametrize(
    ("name", "settings", "subject"), [(*SYMBOLS[0][:2], "labels"), (*SYMBOLS[1][:2], "levels")]
)
def test_symbols_must_be_a_list(name, settings, subject, held):
    found = mechanism(name, epsilon=1.0, **settings)
    for attempt in (found.randomize, found.count, found.altered):
        with pytest.raises(InputError, match=f"{subject} must be a list, one a user, got"):
            attempt(held)


@pytest.mark.statistical
def test_levels_count_from_one():
    """Three levels at ε = 20, each kept but for 10^-8; false alarm below 1e-6, seed fixed."""
    found = mechanism("esw", epsilon=20.0, levels=5)
    assert isinstance(found, LevelMechanism)
    estimate = found.randomize([1, 5, 3], SeededBits(0)).estimate()
    assert estimate.shape == (3, 1)
    assert estimate.dense().ravel().tolist() == [1, 5, 3]


@pytest.mark.statistical
def test_a_level_may_be_answered_outside_the_scale():
    """500 draws of six outcomes, none rarer than 1/12; false alarm below 1e-6, seed fixed."""
    found = mechanism("esw", epsilon=1.0, levels=4)
    answered = found.randomize(np.full(500, 1), SeededBits(0)).estimate().dense()
    assert set(answered.ravel()) == {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}


def test_levels_are_biased_towards_the_middle_and_their_extremes_are_two_symbols():
    found = mechanism("esw", epsilon=1.0, levels=4)
    assert not found.unbiased
    assert 1 < exact_mean(found, 1)[0] < 2.5
    found = mechanism("esw", epsilon=1.0, levels=4)
    assert set(found.extremes()) <= {1, 2, 3, 4}
    assert len(set(found.extremes())) == 2


# One item of a set: its draw, its amplified response, its privacy over every pair of rows


def item(epsilon=1.0, dims=4, length=2, **settings):
    return mechanism("item", epsilon=epsilon, dims=dims, length=length, **settings)


def sets(dims, length):
    return [np.array(row) for row in product((0, 1), repeat=dims) if sum(row) <= length]


@pytest.mark.parametrize(("dims", "length"), [(1, 1), (4, 1), (4, 2), (4, 4), (5, 3)])
def test_the_mean_over_every_report_is_the_row(dims, length):
    found = item(dims=dims, length=length)
    for row in sets(dims, length):
        assert exact_mean(found, row) == pytest.approx(row.tolist(), abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0])
@together(("dims", "length"), [(2, 1), (4, 2), (4, 4), (5, 3)])
def test_the_largest_ratio_over_all_pairs_of_rows_is_the_loss(epsilon, dims, length):
    found = item(epsilon, dims, length)
    assert largest_ratio(found, sets(dims, length)) == loss_ratio(found)


@settings(max_examples=40, deadline=None)
@given(st.floats(0.01, 8), st.integers(1, 3000), st.data())
def test_the_claim_is_kept_and_used_up(epsilon, dims, data):
    found = item(epsilon, dims, data.draw(st.integers(1, min(dims, 200))))
    assert found.holds
    assert epsilon * (1 - 1e-9) < found.epsilon <= epsilon


def test_the_response_is_larger_than_the_claim_by_what_the_draw_saves():
    found = item(1.0, 100, 10)
    inner = found.channel.worst.ratio
    assert float(inner) == pytest.approx(1 + 10 * (math.e - 1), rel=1e-9)
    assert loss_ratio(found) == 1 + (inner - 1) / 10
    rows = np.array([[0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 0]] * 2)
    # Words 0 and 1 give place 0 and place 1 of two.
    drawn = item().encode(rows, GivenWords([0, 0, 0, 1, 1, 1]))[0]
    assert drawn.tolist() == [1, 2, 4, 3, 5, 5]


@pytest.mark.parametrize(("epsilon", "length"), [(1.0, 1), (0.5, 18), (3.0, 7)])
def test_amplification_is_undone_by_the_draw(epsilon, length):
    assert math.log(1 + (math.exp(amplified(epsilon, length)) - 1) / length) == pytest.approx(epsilon)


@pytest.mark.statistical
def test_a_blank_adds_nothing_to_the_estimate():
    """Two users at ε = 19, each answered truthfully but for 2·10^-8; false alarm below 1e-6, seed fixed."""
    found = item(19.0, 3, 1)
    estimate = found.randomize(np.array([[0, 0, 0], [0, 1, 0]]), SeededBits(0)).estimate()
    assert np.diff(estimate.indptr).tolist() == [0, 1]
    assert estimate.indices.tolist() == [1]


@together("value", [0.5, 2, -1, np.nan, np.inf])
@pytest.mark.parametrize("build", [np.asarray, sp.csr_array])
def test_rows_with_too_many_items_or_other_values_than_zero_and_one_are_altered(value, build):
    rows = [[1, 1, 1, 0], [1, 1, 0, 0], [value, 0, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0], [value, value, 2, 2]]
    assert item().altered(build(np.array(rows))) == 3


@pytest.mark.statistical
def test_a_row_with_too_many_items_draws_each_of_them_alike():
    """Three equal chances of 1/3 in 3,000 draws; 155 is 6 standard deviations, false alarm below 1e-8, seed fixed."""
    rows = np.tile([1, 1, 1, 0], (3000, 1))
    drawn = item().encode(rows, SeededBits(0))[0]
    # Each chance is less than the 1/2 that an item of a row of two has.
    assert np.abs(np.bincount(drawn, minlength=6) - [1000, 1000, 1000, 0, 0, 0]).max() < 155


@together(
    ("value", "like"),
    [(0.5, 1), (2, 1), (5e-324, 1), (np.inf, 1), (10**400, 1)]
    + [(-1, 0), (-np.inf, 0), (np.nan, 0), (None, 0), ("a", 0)],
)
def test_whatever_is_above_zero_is_an_item_and_nothing_else(value, like):
    assert same_answers(item(), [[value, 0, 0, 1]] * 40, [[like, 0, 0, 1]] * 40)


def test_rows_are_enumerated_as_what_they_count_as_where_their_items_fit():
    found = item()
    odd, like = found.joint_counts(np.array([0.5, -1, 0, 0])), found.joint_counts(np.array([1, 0, 0, 0]))
    assert (odd[0].tolist(), odd[1]) == (like[0].tolist(), like[1])
    with pytest.raises(InputError, match="at most 2 items"):
        found.joint_counts(np.array([1, 1, 1, 0]))


def test_a_wrong_length_range_or_budget_is_refused():
    for length in (0, 5, 1.5, True, "2"):
        with pytest.raises(InputError, match="length must be an integer from 1 to 4"):
            item(length=length)
    assert item(range=(0, 1)).fingerprint == item().fingerprint
    with pytest.raises(InputError, match=r"range must be \(0, 1\) for item"):
        item(range=(0, 2))
    with pytest.raises(InputError, match=r"epsilon must be at most 17\.7 for item of length 10, got 18"):
        item(18.0, 20, 10)
    assert item(17.69, 20, 10).holds


def test_a_response_that_spends_too_much_is_not_built(monkeypatch):
    monkeypatch.setattr(builders, "amplified", lambda epsilon, length: amplified(epsilon, length) + 0.01)
    with pytest.raises(ClaimError, match="item claims .* but a whole report has epsilon 1.0"):
        item()


def test_the_largest_entry_is_length_over_the_gap_and_the_control_keeps_its_scale():
    found = item(1.0, 50, 5)
    gap = Fraction(found.channel.surplus, found.channel.total)
    assert found.largest == pytest.approx(float(5 / gap))
    real, control = ((one.entry, one.offset, one.largest) for one in (found, found.blind()))
    assert real == control
