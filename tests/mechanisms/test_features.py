"""Feature mechanisms: unbiased over every whole report, m's rule, shares, ranges, and what a report looks like."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from graphveil.channels import featurerr, onebit, piecewise
from graphveil.channels.exact import Claim
from graphveil.channels.sampling import SeededBits
from graphveil.channels.square_wave import half_width
from graphveil.errors import InputError
from graphveil.mechanisms import FeatureMechanism, PublicRange, Reports, budget_shares, mechanism
from graphveil.mechanisms.rows import Rows
from tests.mechanisms.support import (
    ALL_VALUES,
    BIASED,
    FEATURES,
    SAMPLED,
    check_counts_as,
    check_drawn_mean,
    exact_mean,
    grid_rows,
    same_answers,
    small,
)
from tests.refusals import check_refused
from tests.together import together

UNBIASED = [name for name in FEATURES if name not in BIASED]
# Few enough answers that every whole report of two or three values can be listed.
FEW_CODES = ["multibit", "duchi", "three-output"]


# The mean of an estimate


@together(
    ("name", "settings"),
    [
        *((name, {"dims": 1}) for name in UNBIASED),
        *((name, {"dims": 2, "sampled": 1}) for name in SAMPLED if name not in BIASED),
        *(
            (name, {"epsilon": 3.0, "dims": dims, "sampled": sampled})
            for name in FEW_CODES
            for dims, sampled in [(2, 2), (3, 2), (4, 2), (4, 3)]
        ),
        ("onebit", {"dims": 3}),
        ("featurerr", {"dims": 3, "debiased": True, "bins": 4}),
    ],
)
def test_the_mean_over_every_report_is_the_row(name, settings):
    found = small(name, range=(-3, 5), **settings)
    for row in grid_rows(found):
        assert exact_mean(found, row) == pytest.approx(row.tolist(), abs=1e-9)


@pytest.mark.parametrize("name", [name for name in UNBIASED if "gaussian" not in name])
@settings(max_examples=15, deadline=None)
@given(
    epsilon=st.floats(0.1, 15),
    dims=st.integers(1, 40),
    low=st.floats(-100, 100),
    width=st.floats(0.01, 100),
    place=st.floats(0, 1),
    data=st.data(),
)
def test_the_mean_is_the_value_for_every_budget_range_and_m(name, epsilon, dims, low, width, place, data):
    sampled = data.draw(st.integers(1, dims)) if name in SAMPLED else None
    found = small(name, epsilon=epsilon, dims=dims, range=(low, low + width), sampled=sampled)
    assert isinstance(found, FeatureMechanism)
    unit = 2 * place - 1
    asked = found.sampled / found.size
    mean = (
        found.public.centre
        + asked * found.scale * found.public.half_width * found.channels[0].moments(unit)[0]
    )
    assert mean == pytest.approx(low + place * width, abs=1e-6 * width)


@pytest.mark.statistical
@pytest.mark.parametrize("name", UNBIASED)
def test_the_mean_of_drawn_estimates_is_the_row(name):
    """20,000 users with the same row between grid points; four means, z-tests at 1e-6 in all, seed fixed."""
    check_drawn_mean(small(name, epsilon=4.0, dims=4), [0.0, 0.37, 0.71, 1.0], 20_000, 11)


def test_what_is_printed_is_biased_as_documented():
    found = small("hds", epsilon=2.0, dims=2, sampled=1, range=(-3, 5))
    width, power = half_width(2.0), math.exp(2.0)
    shrink = 0.5 * width * (power - 1) / (width * power + 1)
    assert not found.unbiased
    for row in grid_rows(found):
        assert exact_mean(found, row) == pytest.approx((1 + shrink * (row - 1)).tolist(), abs=1e-9)
    found = small("featurerr", dims=1)
    assert not found.unbiased
    assert exact_mean(found, np.array([1.0]))[0] == pytest.approx(1 - 0.36, abs=0.01)


@together(
    ("name", "asked"),
    [
        ("multibit", {1.0: 1, 2.18: 1, 4.35: 1, 4.36: 2, 10.0: 4, 15.26: 7}),
        ("piecewise", {1.0: 1, 4.99: 1, 5.0: 2, 7.5: 3, 10.0: 4}),
        ("square-wave", {12.5: 5, 15.0: 6}),
        ("hybrid", {10.0: 4}),
        ("onebit", {1.0: 1433}),
    ],
)
def test_how_many_values_are_asked(name, asked):
    for epsilon, expected in asked.items():
        assert mechanism(name, epsilon=epsilon, dims=1433, range=(0, 1)).shape.length == expected, epsilon


@pytest.mark.parametrize("name", [name for name in FEATURES if name != "featurerr"])
@together("sampled", [1, 2, 5])
def test_m_can_be_given(name, sampled):
    found = small(name, epsilon=1.0, dims=5, sampled=sampled)
    assert found.shape.length == sampled
    assert [answer.count for answer in found.answers] == [sampled]
    assert found.answers[0].channel.claim.epsilon == pytest.approx(1.0 / sampled)
    assert found.shape.names_dimensions == (sampled < 5)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(FEATURES), st.floats(0.05, 15), st.integers(1, 30), st.data())
def test_a_whole_report_keeps_its_claim(name, epsilon, dims, data):
    given_m = data.draw(st.integers(1, dims)) if name != "featurerr" else None
    if "gaussian" in name:
        each = epsilon / (given_m or dims)
        assume(0.05 <= each <= (1 if name == "gaussian" else 10))
    found = small(name, epsilon=epsilon, dims=dims, sampled=given_m)
    assert found.holds
    assert found.epsilon <= epsilon
    if found.claim.delta == 0:
        assert found.epsilon >= epsilon * (1 - 1e-9)


# Reports


@together("value", [0.25, -5.0, 7.0, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", FEATURES)
def test_dense_and_sparse_rows_give_the_same_reports(name, value):
    rows = np.random.default_rng(0).choice([0.0, value, 1.0], size=(30, 7), p=[0.7, 0.2, 0.1])
    assert same_answers(small(name, epsilon=2.0, dims=7), rows, sp.csr_array(rows))


@together(
    ("name", "sampled", "kind"),
    [
        ("onebit", None, np.uint8),
        ("laplace", None, np.uint16),
        ("featurerr", None, np.uint8),
        ("multibit", 2, np.uint8),
        ("piecewise", 2, np.uint8),
        ("latent", 2, np.uint16),
    ],
)
def test_values_come_in_the_smallest_type_and_name_dimensions_where_some_are_asked(name, sampled, kind):
    reports = small(name, dims=6, sampled=sampled).randomize(np.zeros((3, 6)), SeededBits(0))
    assert reports.codes.dtype == kind
    assert reports.lengths.tolist() == [sampled or 6] * 3
    if sampled is None:
        assert reports.dims is None
    else:
        assert (reports.dims.size, reports.dims.dtype) == (6, np.int32)


@pytest.mark.parametrize("channels", ["one for all", "one a dimension"])
def test_answers_in_several_blocks_are_those_of_one_user_after_the_other(channels, monkeypatch):
    monkeypatch.setattr(Rows, "blocks", lambda rows: [(user, user + 1) for user in range(rows.users)])
    found = small("featurerr", dims=4, shares=[1, 1, 1, 1 if channels == "one for all" else 2])
    rows = np.array([[0.0, 0.3, 0.6, 1.0], [1.0, 1.0, 0.0, 0.0], [0.5, 0.5, 0.5, 0.5]])
    random_bits = SeededBits(3)
    one_by_one = [found.randomize(rows[user : user + 1], random_bits) for user in range(3)]
    assert found.randomize(rows, SeededBits(3)) == Reports.join(one_by_one)


# Ranges and binary values


def test_a_range_only_shifts_and_scales():
    unit, wide = (small("piecewise", dims=4, sampled=2, range=pair) for pair in ((0, 1), (10, 30)))
    rows = np.array([[0.0, 0.25, 0.5, 1.0]] * 6)
    first = unit.randomize(rows, SeededBits(8))
    second = wide.randomize(10 + 20 * rows, SeededBits(8))
    assert np.array_equal(first.codes, second.codes)
    assert np.allclose(10 + 20 * first.estimate().dense(), second.estimate().dense())


@together(
    ("value", "like"),
    [(-5.0, 2), (7.0, 6), (-np.inf, 2), (np.inf, 6), (10**400, 6), (np.nan, 4), (None, 4), ("a", 4)],
)
@pytest.mark.parametrize("name", FEATURES)
def test_a_value_outside_is_answered_like_the_one_it_counts_as(name, value, like):
    odd, usual = ([[2.0, one, 3.0, 6.0], [2.0, 2.5, 3.0, one]] * 9 for one in (value, like))
    check_counts_as(small(name, dims=4, range=(2, 6)), odd, usual, 18)


@pytest.mark.parametrize("pair", [(0, 1), (-0.1, 0.7), (35.746693457333606, 35.892290775237804)])
def test_binary_values_need_two_symbols_and_no_rounding(pair):
    found = small("piecewise", dims=2, range=pair, binary=True)
    assert found.channels[0].input_count == 2
    rows = np.array([[pair[0], pair[1]]] * 3)
    assert found.randomize(rows, SeededBits(0)).users == 3


@together(
    ("value", "like"),
    [(20.0, 10), (20.001, 30), (19.0, 10), (99.0, 30), (-99.0, 10), (np.inf, 30), (np.nan, 10), (None, 10)],
)
@pytest.mark.parametrize(("name", "sampled"), [("multibit", 1), ("multibit", 3), ("piecewise", 2)])
def test_values_declared_binary_are_told_apart_at_the_centre(name, sampled, value, like):
    found = small(name, dims=3, sampled=sampled, range=(10, 30), binary=True)
    odd, usual = ([[10, one, 30]] * 12 for one in (value, like))
    check_counts_as(found, odd, usual, 12)


@together("name", FEATURES)
def test_the_largest_estimate_is_public_and_never_passed(name):
    found = small(name, epsilon=2.0, dims=5, range=(-1, 3))
    estimate = found.randomize(np.zeros((500, 5)), SeededBits(0)).estimate()
    assert np.abs(estimate.values).max() <= found.largest
    top = max(np.abs(channel.outputs).max() for channel in found.channels)
    assert found.largest == pytest.approx(2 * found.scale * top)


# Shares of a budget


def test_shares_divide_the_budget():
    found = small("featurerr", epsilon=6.0, dims=4, shares=[1, 2, 1, 2])
    assert [channel.claim.epsilon for channel in found.channels] == pytest.approx([1, 2, 1, 2])
    assert found.holds
    assert found.epsilon == pytest.approx(6.0)
    counted = sorted((answer.channel.claim.epsilon, answer.count) for answer in found.answers)
    assert counted == [(1.0, 2), (2.0, 2)]
    equal = small("featurerr", epsilon=6.0, dims=3)
    assert equal.channels == (featurerr(2.0, 10, raw=True),)
    assert equal.answers[0].count == 3
    found = small("analytic-gaussian", epsilon=2.0, dims=4, delta=1e-4)
    assert found.claim == Claim(2.0, 1e-4)
    assert found.holds
    assert 0 < found.answers[0].channel.claim.delta <= 1e-4 / 4
    assert found.delta <= 1e-4


def test_no_share_means_a_blind_answer_and_each_dimension_is_decoded_by_its_own_channel():
    found = small("featurerr", epsilon=2.0, dims=3, shares=[0, 1, 1], debiased=True)
    assert [channel.epsilon for channel in found.channels] == pytest.approx([0, 1, 1])
    assert found.channels[0].epsilon == 0.0
    assert not found.unbiased
    found = small("featurerr", epsilon=3.0, dims=2, shares=[2, 1], bins=3, debiased=True)
    for row in ([0.0, 1.0], [0.5, 0.5], [1.0, 0.0]):
        assert exact_mean(found, np.array(row)) == pytest.approx(row, abs=1e-9)


@pytest.mark.statistical
def test_every_dimension_is_answered_by_its_own_channel():
    """2,000 users: e^-17 and 1/(1+e) of the answers are 0, and 12 standard deviations room; false alarm below 1e-6."""
    found = small("featurerr", epsilon=18.0, dims=2, shares=[17, 1], bins=2)
    codes = found.randomize(np.tile([0.0, 1.0], (2000, 1)), SeededBits(0)).codes.reshape(-1, 2).mean(axis=0)
    assert codes[0] < 0.01
    assert 0.6 < codes[1] < 0.85


def test_budget_shares_weigh_importance_against_sensitivity_and_wrong_ones_are_refused():
    assert budget_shares([3, 1], [0, 1], gamma=1.0).tolist() == [0.75, 0.25]
    assert budget_shares([3, 1], [0, 1], gamma=0.0).tolist() == [1.0, 0.0]
    assert budget_shares([3, 1], [0, 1]).tolist() == [0.8, 0.2]
    for shares in ([1, 2], [1, -1, 1], [0, 0, 0], [1, float("nan"), 1]):
        with pytest.raises(InputError, match="shares must be 3 numbers"):
            small("featurerr", dims=3, shares=shares)
    check_refused(
        budget_shares,
        [
            ([1, 2], [1], 0.5, "same length"),
            ([1, float("inf")], [1, 1], 0.5, "finite numbers"),
            ([1, 1], [1, 1], 1.5, "gamma"),
            ([-1, 1], [0, 0], 1.0, "at least 0"),
            ([0, 0], [0, 0], 0.5, "not all shares may be 0"),
        ],
    )


def test_m_outside_the_dimensions_and_channels_for_some_of_them_are_refused():
    with pytest.raises(InputError, match=r"sampled must lie in 1\.\.2"):
        FeatureMechanism("x", Claim(1.0), PublicRange(0, 1), 2, 3, (onebit(1.0),), 1.0)
    with pytest.raises(InputError, match="one for all dimensions, or one each"):
        FeatureMechanism("x", Claim(2.0), PublicRange(0, 1), 3, 2, (onebit(1.0), piecewise(1.0)), 1.0)


@together("name", FEATURES)
def test_the_control_keeps_length_and_scale(name):
    found = small(name, epsilon=2.0, dims=4)
    real, control = ((one.shape.length, one.scale, one.largest) for one in (found, found.blind()))
    assert real == control


def test_what_is_between_grid_points_or_too_much_is_not_enumerated():
    with pytest.raises(InputError, match="between two symbols"):
        small("piecewise", dims=1).joint_counts(np.array([0.501]))
    with pytest.raises(InputError, match="too many reports"):
        small("onebit", dims=30).joint_counts(np.zeros(30))


def test_outcomes_are_described_in_the_order_of_the_counts():
    found = small("multibit", epsilon=8.0, dims=3, sampled=2)
    assert found.describe_outcome(0) == "dimension 0 = code 0, dimension 1 = code 0"
    counts, total = found.joint_counts(np.array([1.0, 0.0, 0.0]))
    best = int(np.argmax(counts[4:8])) + 4
    assert best == 6 and found.describe_outcome(best) == "dimension 0 = code 1, dimension 2 = code 0"
    assert Fraction(int(counts[best]), total) == pytest.approx((1 / (1 + math.exp(-4))) ** 2 / 3)


@together("name", ALL_VALUES)
def test_the_baselines_answer_everything(name):
    assert small(name, dims=5).shape.length == 5


# Some of the values alone


@pytest.mark.parametrize("shares", [None, [0.5, 0.0, 0.25, 0.25]])
def test_reports_about_some_values_decode_to_their_columns(shares):
    made = mechanism("featurerr", epsilon=4.0, dims=4, range=(0, 1), shares=shares)
    reports = made.randomize(np.random.default_rng(0).random((50, 4)), SeededBits(1))
    part = made.only(reports, np.array([0, 2]))
    np.testing.assert_array_equal(part.estimate().dense(), reports.estimate().dense()[:, [0, 2]])


def test_reports_about_some_values_leave_silent_users_out_and_need_all_values():
    made, who = mechanism("onebit", epsilon=4.0, dims=4, range=(0, 1)), np.array([True, False, True])
    reports = made.randomize(np.ones((3, 4)), SeededBits(1)).answered_by(who)
    np.testing.assert_array_equal(np.diff(made.only(reports, np.array([3])).estimate().indptr), who)
    made = mechanism("multibit", epsilon=1.0, dims=4, range=(0, 1))
    with pytest.raises(InputError, match="asks for some of the values"):
        made.only(made.randomize(np.ones((3, 4)), SeededBits(1)), np.array([0]))
