"""PrivUnitG: its closed form against independent computations, unbiased, its error, its control."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import kstest, norm

from graphveil.channels.exact import TOTAL
from graphveil.channels.sampling import SeededBits
from graphveil.errors import ClaimError, InputError, MessageError
from graphveil.mechanisms import Enumerable, Reports, mechanism
from graphveil.mechanisms.privunit import CODE_STEP, MIDDLE, SphericalCap, best_cap, error_factor, privunit
from graphveil.mechanisms.rows import PublicBall
from tests.channels.reference import GivenWords
from tests.mechanisms.support import check_drawn_mean, same_answers
from tests.together import together

EPSILONS = [1e-8, 1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 100.0]


def unit(epsilon=2.0, dims=5, radius=2.0):
    return privunit(epsilon, dims, PublicBall(radius))


# Privacy


@pytest.mark.parametrize("dims", [1, 3, 1433])
@settings(max_examples=8, deadline=None)
@given(st.floats(-8, 2))
@example(-8.0)
@example(0.0)
@example(2.0)
def test_epsilon_is_that_of_the_densities_as_scipy_has_them(dims, exponent):
    """p/(1-q) inside the cap against (1-p)/q outside, in logarithms, at every epsilon from 1e-8 to 100."""
    found = unit(10**exponent, dims)
    inside = found.cap.count / TOTAL
    threshold = found.cap.threshold
    from_scipy = (
        math.log(inside) - math.log1p(-inside) + float(norm.logcdf(threshold)) - float(norm.logsf(threshold))
    )
    assert found.epsilon == pytest.approx(from_scipy, rel=1e-12, abs=1e-14)


@settings(deadline=None)
@given(st.floats(1e-8, 100), st.integers(1, 10_000))
def test_the_claim_is_kept_and_used_up(epsilon, dims):
    found = unit(epsilon, dims)
    assert found.holds
    assert epsilon * (1 - (1e-9 if epsilon >= 0.01 else 1e-6)) <= found.epsilon <= epsilon


def hit_more_often(found, counts):
    return replace(found, cap=SphericalCap(found.cap.threshold, found.cap.count + counts))


def test_the_cap_is_hit_as_often_as_the_budget_allows_and_no_count_more():
    """p is as large as ε(1-2^-40) allows."""
    found, aim = unit(1.0), 1 - Fraction(1, 2**40)
    assert not found.loss.exceeds(aim)
    assert hit_more_often(found, 1).loss.exceeds(aim)
    for counts in (2**28, 2**58):
        greedy = hit_more_often(found, counts)
        assert (greedy.holds, greedy.delta) == (False, 1.0)
        assert greedy.epsilon > 1.0


@pytest.mark.statistical
def test_reports_fall_into_the_cap_as_often_as_claimed():
    """A row on the sphere, 100,000 users: binomial z-tests at u and -u; false alarm 1e-6, seed fixed.

    The row and its opposite differ in the cap's probability by the whole of e^ε, up to the share of the other cap.
    """
    found, users = unit(2.0, 3, 1.0), 100_000
    row = np.array([0.6, 0.0, 0.8])
    codes = found.randomize(np.tile(row, (users, 1)), SeededBits(5)).codes.reshape(users, 3)
    along = (codes.astype(float) - MIDDLE) * CODE_STEP @ row
    inside = found.cap.count / TOTAL
    threshold, tail = found.cap.threshold, norm.sf(found.cap.threshold)
    for seen, expected in (
        ((along >= threshold).mean(), inside),
        ((along <= -threshold).mean(), (1 - inside) * tail / (1 - tail)),
    ):
        assert abs(seen - expected) < norm.isf(1e-6 / 4) * math.sqrt(expected * (1 - expected) / users) + 1e-3


# The best cap


@pytest.mark.parametrize("dims", [1, 2, 100, 5000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 10.0])
def test_no_cap_has_a_smaller_error(epsilon, dims):
    """Against a search over p and g at once, with the moments integrated from the two truncated normals."""

    def error(point):
        threshold, logit = point
        inside = 1 / (1 + math.exp(-logit))
        tail = norm.sf(threshold)
        mean = norm.pdf(threshold) * (inside / tail - (1 - inside) / (1 - tail))
        spent = logit + math.log((1 - tail) / tail)
        penalty = 1e6 * max(0.0, spent - epsilon) ** 2 if mean > 0 else 1e12
        square = inside * (1 + threshold * norm.pdf(threshold) / tail) + (1 - inside) * (
            1 - threshold * norm.pdf(threshold) / (1 - tail)
        )
        return math.log((square + dims - 1) / max(mean, 1e-9) ** 2) + penalty

    cap = best_cap(epsilon, dims)
    ours = error((cap.threshold, math.log(cap.count / (TOTAL - cap.count))))
    starts = [(cap.threshold + shift, epsilon / 3) for shift in (0.0, 0.5)]
    theirs = min(
        minimize(error, start, method="Nelder-Mead", options={"maxiter": 2000}).fun for start in starts
    )
    assert ours <= theirs + 1e-4


@given(st.floats(1e-6, 100), st.integers(1, 10_000), st.floats(0, 15.9))
def test_the_error_is_convex_in_the_threshold(epsilon, dims, threshold):
    left, middle, right = (error_factor(threshold + step, epsilon, dims) for step in (0, 0.05, 0.1))
    assert left + right >= 2 * middle * (1 - 1e-12)


# Estimates


ROWS = {
    "on the sphere": [2.0, 0.0, 0.0, 0.0, 0.0],
    "inside": [0.5, -0.3, 0.0, 1.0, 0.2],
    "the centre": [0.0] * 5,
}


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.5, 3.0, 20.0])
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_estimates_are_unbiased_and_have_the_stated_error(row, epsilon):
    """50,000 users with the same row: z-tests of five means and of the squared error; false alarm 1e-6, seed fixed."""
    found, users = unit(epsilon), 50_000
    estimates = check_drawn_mean(found, row, users, 7, alarm=5 / 6 * 1e-6)
    errors = ((estimates - row) ** 2).sum(axis=1)
    expected = found.squared_error(float(np.linalg.norm(row)))
    assert abs(errors.mean() - expected) < norm.isf(1e-6 / 12) * errors.std() / math.sqrt(users)


@pytest.mark.statistical
def test_a_ball_around_a_range_is_unbiased_too():
    """50,000 users, z-tests of three means; false alarm 1e-6, seed fixed."""
    found = mechanism("privunit", epsilon=2.0, dims=3, range=(2, 6))
    check_drawn_mean(found, [2.0, 3.5, 6.0], 50_000, 9)


@pytest.mark.statistical
def test_what_lies_across_the_row_is_plain_noise():
    """Kolmogorov and Smirnov on a coordinate that the row does not touch; false alarm 1e-6, seed fixed."""
    found = unit(5.0, 3, 1.0)
    codes = found.randomize(np.tile([0.0, 1.0, 0.0], (20_000, 1)), SeededBits(4)).codes.reshape(-1, 3)
    assert kstest((codes[:, 0].astype(float) - MIDDLE) * CODE_STEP, norm.cdf).pvalue > 1e-6


@pytest.mark.statistical
def test_a_large_budget_finds_nearly_every_row():
    """3,000 users of whom 0.5% leave their cap: 2% would be eleven standard deviations; false alarm below 1e-6."""
    found = unit(100.0, 3, 1.0)
    rows = np.array([[1.0, 0, 0], [0, -1, 0], [0, 0, 1]] * 1000)
    estimates = found.randomize(rows, SeededBits(1)).estimate().dense()
    assert ((estimates * rows).sum(axis=1) > 0.5).mean() > 0.98


@pytest.mark.parametrize("dims", [1, 1433])
@together("epsilon", EPSILONS)
def test_the_grid_takes_less_than_a_thousandth_of_the_error(epsilon, dims):
    found = unit(epsilon, dims, 1.0)
    step = 1.0 / found.cap.gain * CODE_STEP
    assert dims * step**2 / 12 < 1e-3 * found.squared_error(1.0)


def steps_of(found, value, first, second, third=2**63):
    """How many steps of the grid from its middle a user of one value answers, by the first three words."""
    random_bits = GivenWords([first, second, third, 1, 2])
    code = int(found.randomize([[value]], random_bits).codes[0])
    assert random_bits.words == []
    return code - MIDDLE


def test_words_give_the_sign_the_side_of_the_cap_and_the_place_there():
    """The third word, in the middle, gives the median of the cap."""
    found = unit(2.0, 1, 1.0)
    median = float(norm.isf(norm.sf(found.cap.threshold) / 2))
    assert steps_of(found, 1.0, 0, 0) == round(median / CODE_STEP)
    share = int(0.75 * 2**53) << 11  # a row half way out is rounded to +r with probability 3/4
    assert [math.copysign(1, steps_of(found, 0.5, first, 0)) for first in (share - 1, share)] == [1, -1]
    edge = found.cap.count << 2
    along = [steps_of(found, 1.0, 0, second) * CODE_STEP for second in (edge - 1, edge)]
    assert along[0] >= found.cap.threshold > along[1]
    farthest = steps_of(unit(100.0, 1, 1.0), 1.0, 0, 0, 0) * CODE_STEP
    assert 15 < farthest < 20


@pytest.mark.parametrize(
    ("along", "code"), [(100.0, 2 * MIDDLE - 1), (-100.0, 0), (31.9, MIDDLE + round(31.9 / CODE_STEP))]
)
def test_what_lies_beyond_the_grid_is_clamped_to_it(monkeypatch, along, code):
    monkeypatch.setattr("graphveil.mechanisms.privunit.draw_sides", lambda *_: np.array([along]))
    assert unit(2.0, 1, 1.0).randomize([[1.0]], GivenWords([0, 0, 1, 2])).codes.tolist() == [code]


# Rows


@together(
    ("row", "like"),
    [
        ([30.0, 40.0], [3.0, 4.0]),
        *([[1.0, odd], [1.0, 0.0]] for odd in (np.nan, None, "a")),
        ([1.0, np.inf], [1.0, 1e200]),
        ([1.0, -np.inf], [1.0, -1e200]),
        ([1.0, 10**400], [1.0, 1e200]),
    ],
)
def test_a_row_outside_the_ball_is_answered_like_its_nearest_point_and_no_number_like_the_centre(row, like):
    assert same_answers(unit(2.0, 2, 5.0), [row] * 20, [like] * 20)


def test_a_row_of_nothing_is_answered_like_the_centre_and_rows_outside_the_ball_are_altered():
    found = mechanism("privunit", epsilon=2.0, dims=2, range=(2, 6))
    assert same_answers(found, [[None, np.nan]] * 20, [[4.0, 4.0]] * 20)
    rows = np.array([[3.0, 4.0], [4.0, 4.0], [np.nan, 0.0], [0.0, -np.inf], [0.0, 0.0]])
    for build in (np.asarray, sp.csr_array):
        assert unit(2.0, 2, 5.0).altered(build(rows)) == 3


def test_reports_in_several_blocks_are_those_of_one_user_after_the_other():
    found = unit(2.0, 1 << 18, 1.0)
    rows = np.zeros((3, 1 << 18))
    rows[np.arange(3), np.arange(3)] = [1.0, -0.5, 0.0]
    random_bits = SeededBits(3)
    one_by_one = [found.randomize(rows[user : user + 1], random_bits) for user in range(3)]
    assert found.randomize(rows, SeededBits(3)) == Reports.join(one_by_one)


@pytest.mark.statistical
def test_the_control_is_flat_along_every_axis():
    """Kolmogorov and Smirnov on 20,000 sums along the direction that it uses, and on one axis; false alarm 1e-6."""
    control = unit(3.0, 4, 2.0).blind()
    codes = control.randomize(np.ones((20_000, 4)), SeededBits(6)).codes.reshape(-1, 4)
    noise = (codes.astype(float) - MIDDLE) * CODE_STEP
    assert kstest(noise.sum(axis=1) / 2, norm.cdf).pvalue > 5e-7
    assert kstest(noise[:, 0], norm.cdf).pvalue > 5e-7


def test_the_shape_is_not_that_of_tables_and_the_control_keeps_it():
    found = unit(3.0, 7)
    control = found.blind()
    assert (control.epsilon, control.holds, control.largest) == (0.0, True, found.largest)
    assert not isinstance(found, Enumerable)
    assert not found.shape.names_dimensions
    assert control.shape.dimensions == 7
    reports = found.randomize(np.zeros((3, 7)))
    assert (reports.codes.dtype, reports.codes.size, reports.dims) == (np.uint16, 21, None)
    assert len(reports.to_bytes()) == 68 + 3 * 7 * 2


def test_extremes_and_the_largest_estimate_are_ends():
    assert [row.tolist() for row in privunit(1.0, 2, PublicBall(3.0, 0.5)).extremes()] == [
        [3.5, 0.5],
        [-2.5, 0.5],
    ]
    found = unit(2.0, 5, 2.0)
    assert found.largest == pytest.approx(32 * 2.0 / found.cap.gain)
    cap = best_cap(2.0, 40)
    assert 40 / cap.gain**2 + cap.threshold / cap.gain == pytest.approx(
        error_factor(cap.threshold, 2.0, 40), rel=1e-9
    )


@pytest.mark.statistical
def test_spread_is_the_root_mean_square_of_an_entry():
    """100,000 entries: 2% is nine standard deviations; false alarm below 1e-6, seed fixed."""
    found = unit(2.0, 50, 2.0)
    values = found.randomize(np.zeros((2000, 50)), SeededBits(1)).estimate().values
    assert np.sqrt((values**2).mean()) == pytest.approx(found.spread, rel=0.02)


def test_a_cap_that_spends_too_much_is_not_built(monkeypatch):
    greedy = best_cap(1.1, 5)
    monkeypatch.setattr("graphveil.mechanisms.privunit.best_cap", lambda epsilon, dims: greedy)
    with pytest.raises(ClaimError, match="privunit claims .* but a whole report has epsilon 1.1"):
        unit(1.0)


def test_what_is_out_of_reach_is_refused():
    with pytest.raises(InputError, match=r"distance must lie in \[0, 2\]"):
        unit().squared_error(2.1)
    with pytest.raises(InputError, match="privunit needs radius or range"):
        mechanism("privunit", epsilon=1.0, dims=4)
    for epsilon in (9e-9, 101.0):
        with pytest.raises(InputError, match="epsilon of privunit must lie in 1e-08..100"):
            unit(epsilon)


@pytest.mark.parametrize(
    ("settings", "radius", "centre"),
    [
        ({"radius": 3}, 3.0, 0.0),
        ({"range": (0, 1)}, 1.0, 0.5),
        ({"range": (-2, 2)}, 4.0, 0.0),
        ({"range": (0, 1), "radius": 1.5}, 1.5, 0.0),
    ],
)
def test_the_ball_comes_from_the_radius_or_else_from_the_range(settings, radius, centre):
    found = mechanism("privunit", epsilon=1.0, dims=4, **settings)
    assert (found.ball.radius, found.ball.centre) == (radius, centre)


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "dims"), [(0.5, 1), (4.0, 2), (30.0, 3), (1.0, 500)])
def test_honest_reports_are_never_too_long(epsilon, dims):
    """Of 4,000 reports each, one is too long in fewer than one of 2^49 cases."""
    built = privunit(epsilon, dims, PublicBall(1.0))
    rows = np.zeros((4000, dims))
    rows[:2000, 0] = 1.0
    reports = built.randomize(rows, SeededBits(0))
    reports.check()
    steps = (reports.codes.reshape(-1, dims).astype(float) - (1 << 15)) * 2.0**-10
    assert np.linalg.norm(steps, axis=1).max() < built.longest


def test_a_report_that_is_too_long_is_refused_by_its_own_length():
    built = privunit(1.0, 16, PublicBall(1.0))
    reports = built.randomize(np.zeros((2, 16)), SeededBits(0))
    codes = reports.codes.copy()
    # The longest along one number, and a step more.
    codes[16:] = 1 << 15
    codes[16] += int(built.longest * 2**10)
    replace(reports, codes=codes).check()
    codes[16] += 1
    with pytest.raises(MessageError, match="is longer than .* deviations"):
        replace(reports, codes=codes).check()
