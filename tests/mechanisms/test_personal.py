"""PPGNN's personalized mechanism: what is sealed, what is estimated, what is claimed for whom."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from graphveil.channels import SeededBits
from graphveil.errors import InputError
from graphveil.mechanisms import PersonalRows, Reports, estimate_level_shares, mechanism
from graphveil.mechanisms.personal import strictest_budget
from tests.mechanisms.support import check_counts_as, exact_mean, ratio_of, same_answers
from tests.together import together

BUDGETS = (0.5, 1.0, 2.0, 4.0)


def sealed(epsilon=0.5, dims=3, name="ppm", **more):
    return mechanism(name, epsilon=epsilon, dims=dims, **{"range": (0, 1), **more})


def held(users=200, dims=3, levels=4, seed=0):
    chance = np.random.default_rng(seed)
    return PersonalRows(chance.integers(1, levels + 1, users), chance.random((users, dims)))


# What is claimed, and what is lost.


@pytest.mark.parametrize(
    ("epsilon", "dims", "more"),
    [
        (0.5, 2, {"levels": 2}),
        (0.5, 3, {}),
        (6.0, 3, {"levels": 2, "gamma": 0.4}),
        (3.0, 2, {"budgets": (3.0, 5.0, 9.0)}),
    ],
)
def test_losses_are_those_of_enumerated_reports(epsilon, dims, more):
    found = sealed(epsilon, dims, **more)
    levels, corners = range(1, len(found.budgets) + 1), list(product((0.0, 1.0), repeat=dims))
    counts = {
        (level, row): found.joint_counts(np.array([*row, level]))[0].tolist()
        for level, row in product(levels, corners)
    }
    for one, other, equal in product(levels, levels, (False, True)):
        ratio = max(
            Fraction(x, y)
            for row, another in product(corners, repeat=2)
            if not equal or row == another
            for x, y in zip(counts[one, row], counts[other, another], strict=True)
        )
        loss = found.pair_loss(one, other, equal)
        assert ratio_of(loss) == ratio
        assert not loss.exceeds(found.budgets[max(one, other) - 1])


def test_a_level_leaks_more_than_its_own_answer_and_rows_get_what_its_budget_leaves():
    found = sealed()
    assert found.budgets == BUDGETS
    assert found.level_channel.epsilon <= 0.05
    assert found.level_loss.epsilon == pytest.approx(3.0758, abs=1e-4)
    assert found.level_loss.epsilon < found.loss.epsilon <= 4.0
    assert found.holds
    found = sealed()
    for level, budget in enumerate(BUDGETS, 1):
        assert found.feature_loss(level).epsilon == pytest.approx(budget - 0.05, rel=1e-9)
    most = sealed(4.0, 50)
    assert (
        max(way.channel.claim.epsilon for ways in most.ways for way in ways) == 20.0
    )  # the most of one value
    assert most.holds


def test_the_claim_of_two_inputs_is_the_larger_budget_and_the_control_hides_rows():
    found, row = sealed(), np.zeros(3)
    assert found.pair_epsilon((1, row), (1, row)) == 0.5
    assert found.pair_epsilon(np.append(row, 3.0), np.append(row, 1.0)) == 2.0
    assert (strictest_budget(found), found.claim.epsilon) == (0.5, 4.0)
    found = sealed(1.0)
    control = found.blind()
    assert (control.loss.terms, control.holds, control.largest) == ((), True, found.largest)
    assert control.level_loss.epsilon == pytest.approx(0.1, rel=1e-9)
    assert control.level_channel == found.level_channel


def test_as_printed_rows_are_protected_and_unbiased_and_the_level_is_not():
    found = sealed(1.0, name="ppm-printed")
    assert found.level_loss.terms is None
    assert not found.holds
    for level, budget in enumerate(found.budgets, 1):
        assert found.feature_loss(level).epsilon == pytest.approx(0.9 * budget, rel=1e-9)
    found = sealed(1.0, 3, "ppm-printed")
    for level in range(1, 5):
        assert exact_mean(found, np.array([0.0, 1.0, 0.0, level])) == pytest.approx([0, 1, 0], abs=1e-9)


@pytest.mark.parametrize("name", ["ppm", "ppm-printed"])
@pytest.mark.parametrize(("epsilon", "dims"), [(0.5, 3), (2.0, 3), (2.0, 40)])
def test_reports_survive_bytes_and_json(name, epsilon, dims):
    found = sealed(epsilon, dims, name)
    reports = found.randomize(held(50, dims), SeededBits(1))
    assert Reports.from_bytes(reports.to_bytes(), found) == reports
    assert Reports.from_json(reports.to_json(), found) == reports
    assert set(reports.lengths.tolist()) == {found.shape.length}


def test_a_report_says_how_many_values_it_answers_by_its_randomized_level_alone():
    found = sealed(2.0, 40)
    assert found.counts_follow_named
    reports = found.randomize(held(500, 40), SeededBits(1))
    codes = reports.codes.reshape(-1, found.shape.length)
    answered = (codes[:, :-1] != found.blank).sum(axis=1)
    expected = np.maximum(1, np.floor(np.array(found.budgets)[found.levels(reports) - 1] / 2.2))
    assert answered.tolist() == expected.tolist()
    assert set(codes[:, :-1].ravel().tolist()) <= {0, 1, found.blank}
    assert (reports.dims.reshape(codes.shape)[:, -1] == 40).all()


def test_answered_values_are_chosen_evenly_among_those_named():
    found = sealed(2.0, 8)
    reports = found.randomize(held(20_000, 8), SeededBits(2))
    asked = np.bincount(reports.estimate().indices, minlength=8)
    assert np.abs(asked / asked.mean() - 1).max() < 6 / np.sqrt(asked.mean())


def test_users_are_reported_and_counted_alike_whatever_holds_them():
    found, private = sealed(2.0, 5), held(30, 5)
    rows = np.round(private.rows)
    for other in (
        PersonalRows(private.levels, csr_array(rows)),
        np.column_stack([rows, private.levels]),
    ):
        assert same_answers(found, (private.levels, rows), other)
    found, private = sealed(), held(7)
    together = np.column_stack([private.rows, private.levels])
    pairs = [(private.levels, rows) for rows in (csr_array(private.rows), private.rows.astype(np.float32))]
    for one in (private, *pairs, together, together.tolist(), together.astype(object)):
        assert (found.count(one), found.altered(one)) == (7, 0)


# What the server estimates.


def test_em_finds_the_shares_of_levels():
    true = np.array([0.5, 0.2, 0.1, 0.2])
    found = sealed(20.0, 50, budgets=(20.0, 25.0, 30.0, 35.0))
    levels = np.random.default_rng(1).choice(4, size=40_000, p=true) + 1
    reports = found.randomize((levels, np.zeros((40_000, 50))), SeededBits(2))
    assert np.abs(found.level_shares(reports) - true).max() < 0.04
    assert np.array_equal(found.level_shares(reports), found.level_shares(reports))
    assert found.levels(reports).min() == 1 and found.levels(reports).max() == 4
    table = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.1, 0.2, 0.7]])
    shares = np.array([0.2, 0.5, 0.3])
    assert estimate_level_shares(1e6 * shares @ table, table) == pytest.approx(shares, abs=1e-6)
    assert estimate_level_shares([0, 0, 0], table).tolist() == [1 / 3] * 3
    with pytest.raises(InputError, match="counts must be"):
        estimate_level_shares([1, 2], table)
    found = sealed(shares=[1, 1, 1, 1])
    assert found.level_shares(found.randomize(held(), SeededBits(1))).tolist() == [0.25] * 4


@pytest.mark.parametrize(
    ("epsilon", "more"), [(0.5, {}), (6.0, {"levels": 2}), (3.0, {"budgets": (3.0, 5.0, 9.0)})]
)
def test_estimates_are_unbiased_and_variances_exact_over_levels_at_their_shares(epsilon, more):
    found = sealed(epsilon, 3, range=(-2, 4), **more)
    shares = np.arange(1.0, len(found.budgets) + 1)
    shares /= shares.sum()
    possible = found.possible_reports()
    decoded = found.estimate(possible, shares).dense()
    named = found.levels(possible)
    for unit in ([-1, 1, -1], [1, 1, -1]):
        row = 1 + 3.0 * np.array(unit)
        joints = [found.joint_counts(np.append(row, level)) for level in range(1, len(shares) + 1)]
        weights = [np.asarray(counts / total, dtype=float) for counts, total in joints]
        mixed = shares @ np.array(weights)
        assert mixed @ decoded == pytest.approx(row, abs=1e-9)
        for level, stated in enumerate(found.variances(shares), 1):
            given = np.where(named == level, mixed, 0) / mixed[named == level].sum()
            assert given @ decoded == pytest.approx(row, abs=1e-9)
            # The worst value is the middle of the range; at its ends the variance is less by the half width squared.
            variance = given @ (decoded - row) ** 2
            assert variance == pytest.approx(np.full(3, stated - 9.0), rel=1e-9)


@pytest.mark.statistical  # z-test at 6 deviations, seed fixed
def test_drawn_estimates_are_unbiased_where_level_and_row_are_independent():
    found, users = sealed(1.0, 4), 200_000
    chance = np.random.default_rng(5)
    levels = chance.choice(4, size=users, p=[0.4, 0.3, 0.2, 0.1]) + 1
    row = np.array([0.0, 0.3, 0.7, 1.0])
    reports = found.randomize((levels, np.tile(row, (users, 1))), SeededBits(6))
    estimates = found.estimate(reports, [0.4, 0.3, 0.2, 0.1]).dense()
    assert (np.abs(estimates.mean(axis=0) - row) < 6 * estimates.std(axis=0) / np.sqrt(users)).all()
    # Shares from EM are off by what so small a budget for levels allows; the mean stays near.
    assert np.abs(reports.estimate().dense().mean(axis=0) - row).max() < 0.1
    worst = found.variances([0.4, 0.3, 0.2, 0.1])
    named = found.levels(reports)
    for level in range(1, 5):
        assert estimates[named == level][:, 1].var() == pytest.approx(worst[level - 1] - 0.04, rel=0.05)


def test_for_a_known_level_the_estimate_is_biased_and_says_so():
    found = sealed(1.0, 3)
    assert max(exact_mean(found, np.array([1.0, 1.0, 1.0, 4.0]))) > 1.2
    assert not found.settled().unbiased


def test_no_estimate_is_larger_than_the_largest():
    found = sealed(1.0, 20)
    for shares in (np.eye(4)[0], np.eye(4)[3], None):
        estimate = found.estimate(found.randomize(held(500, 20), SeededBits(1)), shares)
        assert np.abs(estimate.values).max() <= found.largest * (1 + 1e-12)
    assert 0 < found.spread <= found.largest
    private = PersonalRows(1 + np.arange(20_000) % 4, np.eye(2)[np.arange(20_000) % 2].repeat(10, axis=1))
    drawn = found.settled().estimate(found.randomize(private, SeededBits(2)))
    length = np.sqrt((drawn.values**2).sum() / 20_000)
    assert length == pytest.approx(found.spread * np.sqrt(found.shape.length), rel=0.02)


def test_laplace_inside_works_as_printed_and_is_refused_sealed():
    found = sealed(1.0, 30, "ppm-printed", inner="laplace")
    private = np.tile(np.linspace(0, 1, 30), (40_000, 1))
    reports = found.randomize((np.full(40_000, 4), private), SeededBits(1))
    assert found.feature_loss(4).epsilon == pytest.approx(7.2, rel=1e-9)
    estimates = reports.estimate().dense()
    assert (np.abs(estimates.mean(axis=0) - private[0]) < 6 * estimates.std(axis=0) / 200).all()
    with pytest.raises(InputError, match="laplace answers with other codes .* would betray the level"):
        sealed(1.0, 30, inner="laplace")


def test_three_outputs_inside_are_sealed_where_all_levels_have_three():
    found = sealed(2.0, 3, inner="three-output", budgets=(2.0, 2.1))
    assert found.blank == 3
    assert found.holds
    possible = found.possible_reports()
    weights = [found.joint_counts(np.array([0.0, 0.5, 1.0, level])) for level in (1, 2)]
    mixed = sum(np.asarray(counts / total, dtype=float) for counts, total in weights) / 2
    assert mixed @ found.estimate(possible, [1, 1]).dense() == pytest.approx([0, 0.5, 1], abs=1e-9)
    with pytest.raises(InputError, match="would betray the level"):
        sealed(0.5, 3, inner="three-output")


# Settings and inputs that make no sense.


@together(
    ("more", "words"),
    [
        ({"levels": 1}, "levels must be an integer from 2"),
        ({"levels": "4"}, "levels must be an integer"),
        ({"budgets": [0.5, 0.4]}, "that rise"),
        ({"budgets": [0.5]}, "two or more positive numbers"),
        ({"budgets": [1.0, 2.0]}, "budgets must start with epsilon"),
        ({"budgets": "many"}, "list of numbers"),
        ({"budgets": [0.5, 1.0], "levels": 3}, "levels must be the number of budgets"),
        *(({"gamma": wrong}, "gamma must be a number strictly between 0 and 1") for wrong in (0.0, 1.0)),
        ({"inner": "gaussian"}, "inner must be one of onebit"),
        ({"points": 3}, "onebit has no setting 'points'"),
        ({"shares": [1, 2]}, "shares must be 4 numbers"),
        ({"sampled": 0}, "sampled must be an integer from 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(more, words):
    with pytest.raises(InputError, match=words):
        sealed(**more)


@together(
    ("private", "words"),
    [
        *((wrong, "a pair") for wrong in (np.zeros((2, 3)), (1, 2, 3))),
        (([1, 2], np.zeros((2, 4))), "users x 3 values"),
        (([1, 2, 3], np.zeros((2, 3))), "levels must be 2 integers, one a row, got 3"),
        (([[1, 2]], np.zeros((2, 3))), "levels must be 2 integers, one a row, got 1"),
        ((np.array([[1, 2]]), np.zeros((2, 3))), "levels must be a list, one a user"),
        ((1, np.zeros((1, 3))), "levels must be a list, one a user"),
        ([[0, 0, 0, 1], [0, 0, 1]], "rectangle"),
    ],
)
def test_shapes_that_make_no_sense_are_refused(private, words):
    for attempt in (sealed().randomize, sealed().count):
        with pytest.raises(InputError, match=words):
            attempt(private)


@together(
    ("level", "like"),
    [(0, 1), (-7, 1), (5, 4), (10**400, 4), (np.inf, 4), (-np.inf, 1), (1.5, 1), (3.99, 3)]
    + [(np.nan, 1), (None, 1), ("a", 1)],
)
def test_a_level_that_is_none_is_answered_like_the_one_it_counts_as(level, like):
    found, rows = sealed(2.0, 5), held(40, 5).rows
    odd, usual = (([one] * 20 + [3] * 20, rows) for one in (level, like))
    check_counts_as(found, odd, usual, 20)
    assert found.costs(odd).tolist() == found.costs(usual).tolist()


@together(
    ("binary", "value", "like"),
    [(False, np.nan, 0.5), (False, np.inf, 1), (False, -np.inf, 0), (False, 9, 1), (False, -9, 0)]
    + [(False, None, 0.5), (False, "a", 0.5)]
    + [(True, 0.5, 0), (True, 0.51, 1), (True, np.nan, 0), (True, 7, 1), (True, None, 0)],
)
def test_a_value_outside_is_answered_like_the_one_it_counts_as(binary, value, like):
    """Binary values are told apart at the centre."""
    odd, usual = ([[0.0, one, 1.0, 0.0, 1.0, 3]] * 40 for one in (value, like))
    check_counts_as(sealed(2.0, 5, binary=binary), odd, usual, 40)


def test_the_number_of_values_can_be_set_for_all_levels():
    found = sealed(sampled=2)
    assert found.shape.length == 3
    np.testing.assert_allclose(found.answered_by_level(), 2)
    assert found.holds
    np.testing.assert_allclose(found.clamped_transition().sum(axis=1), 1)
