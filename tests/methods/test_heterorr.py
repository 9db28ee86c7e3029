"""heterorr: how the budget is divided, from public numbers or a charged round, and what is learned from."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from graphveil.channels.exact import MAX_EPSILON, MIN_EPSILON
from graphveil.errors import InputError
from graphveil.graphs import from_arrays
from graphveil.learn import Topology, signal
from graphveil.mechanisms import mechanism
from graphveil.methods import METHODS
from graphveil.methods.heterorr import (
    LEVELS,
    attribute_shares,
    largest_shares,
    read_attribute_numbers,
    rounded_shares,
    served_shares,
)
from graphveil.methods.scoring import attribute_scores, null_scores
from graphveil.privacy.answering import Replay
from tests.methods.listening import SMALL, asked_nobody, check_settings_refused, heard, opened
from tests.methods.suite import chosen_trials, run_trial
from tests.refusals import not_refused

HETERORR = METHODS.find("heterorr")
FEATURES = SMALL["features"]
FLAT = {"importance": "flat"}
RUN = ["run", "heterorr", "--data", "town", "--epsilon", "4", "--runs", "1", "--no-control"]
RUN += [f"--set=data.{key}={value}" for key, value in SMALL.items()]


def made_ready(given=None, **options):
    return opened("heterorr", given, **options)


def shares(settings=None, **options):
    """The shares of the last question."""
    _, listener = heard(made_ready(settings=settings or {}, **options))
    return np.array(listener.plans[-1].options["shares"])


@pytest.fixture
def numbers(tmp_path):
    """Writes numbers to a file and returns its name."""

    def write(name, values):
        file = tmp_path / f"{name}.txt"
        file.write_text("\n".join(str(value) for value in values))
        return str(file)

    return write


# Rounds and budgets


@pytest.mark.parametrize("share", [0.2, 0.5, 0.7])
def test_both_rounds_are_charged_and_add_up_to_the_budget(share):
    ready = made_ready(settings={"importance_share": share})
    HETERORR.run(ready.job)
    assert [charge.round for charge in ready.ledger.charges] == [1, 2]
    first, second = (charge.claim.epsilon for charge in ready.ledger.charges)
    assert first == pytest.approx(8 * share, rel=1e-12)
    assert first + second == pytest.approx(8.0, rel=1e-12)
    np.testing.assert_allclose(ready.ledger.spent, 8.0)


def test_where_importance_is_public_one_round_has_the_whole_budget():
    ready = made_ready(settings=FLAT)
    HETERORR.run(ready.job)
    (charge,) = ready.ledger.charges
    assert (charge.round, charge.claim.epsilon) == (1, 8.0)
    # Nobody has to be trusted.
    assert ready.privacy().trust == "local"


def test_round_1_asks_for_some_values_and_round_2_for_all():
    _, listener = heard(made_ready())
    first, second = (reports.mechanism for reports in listener.answers)
    assert first.shape.names_dimensions and (second.name, second.shape.length) == ("featurerr", FEATURES)


# How the budget is divided


def test_importance_of_a_file_decides_with_gamma_1_and_sensitivity_with_gamma_0(numbers):
    importance, sensitivity = [3, 1, *[0] * (FEATURES - 2)], [5, *[1] * (FEATURES - 1)]
    found = shares({"importance": numbers("importance", importance), "gamma": 1.0, "keep": "all"})
    np.testing.assert_allclose(found, np.array(importance) / 4, rtol=1e-12)
    found = shares({**FLAT, "sensitivity": numbers("beta", sensitivity), "gamma": 0.0, "keep": "all"})
    expected = np.array([1, *[5] * (FEATURES - 1)])
    np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-12)


def test_flat_numbers_divide_evenly_whatever_is_kept():
    for keep in (1, "auto", "all"):
        np.testing.assert_allclose(shares({**FLAT, "keep": keep}), 1 / FEATURES, rtol=1e-12)


@pytest.mark.parametrize(("keep", "count"), [(1, 1), (5, 5), ("auto", 2), ("all", FEATURES)])
def test_so_many_attributes_have_a_share(numbers, keep, count):
    file = numbers("importance", range(1, FEATURES + 1))
    found = shares({"importance": file, "keep": keep})
    assert found.sum() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_array_equal(np.flatnonzero(found), np.arange(FEATURES)[-count:])


def test_importance_of_a_round_is_how_far_scores_are_above_chance():
    ready = made_ready(settings={"gamma": 1.0, "keep": "all"})
    _, listener = heard(ready)
    topology, reports = Topology(ready.job.graph, ready.job.device), listener.answers[0]
    scores = attribute_scores(ready.job, topology, reports.estimate())
    expected = signal(scores, null_scores(ready.job, topology, reports))
    assert 0 < (expected > 0).sum() < FEATURES
    found = np.array(listener.plans[1].options["shares"])
    np.testing.assert_array_equal(found > 0, expected > 0)
    np.testing.assert_allclose(found, expected / expected.sum(), rtol=0.5)


def test_the_telling_attributes_are_found():
    """Four interests of the town are the telling ones; at ε = 40 a round of 20 shows them."""
    found, users = shares({"keep": 4, "gamma": 1.0}, epsilon=40.0), made_ready().users.raw
    gaps = np.ptp([users.features[users.labels == label].mean(axis=0) for label in (0, 1)], axis=0)
    assert set(np.argsort(-found)[:4]) == set(np.argsort(-gaps)[:4])


def drawn(rows, **more):
    """A graph of 60 users with these rows."""
    pairs = np.random.default_rng(1).integers(0, 60, (200, 2))
    return from_arrays(pairs, rows, np.arange(60) % 2, range=(0, 1), seed=0, **more)


def test_there_are_few_different_shares(numbers):
    rows = np.random.default_rng(0).random((60, 200)) < 0.3
    file = numbers("importance", np.random.default_rng(2).pareto(1.0, 200))
    settings = {"importance": file, "keep": "all"}
    _, listener = heard(made_ready(drawn(rows.astype(np.uint8), binary=True), settings=settings, epsilon=4.0))
    assert len(set(listener.answers[0].mechanism.channels)) <= LEVELS


def test_a_budget_that_one_attribute_cannot_have_goes_to_others():
    assert shares({"keep": 1, "gamma": 1.0, "importance_share": 0.1}, epsilon=60.0).max() * 54 <= 20


def test_binary_values_have_two_bins_and_others_ten_unless_told_otherwise():
    real = drawn(np.random.default_rng(0).random((60, 8)))
    for given, settings, bins in ((None, {}, 2), (None, {"bins": 7}, 7), (real, FLAT, 10)):
        _, listener = heard(made_ready(given, settings=settings, epsilon=4.0))
        assert listener.plans[-1].options["bins"] == bins


@pytest.mark.parametrize("decoding", ["printed", "debiased"])
def test_the_decoding_is_the_mechanism_s(decoding):
    _, listener = heard(made_ready(settings={"decoding": decoding, "keep": "all", "gamma": 0.5}))
    assert listener.answers[1].mechanism.unbiased is (decoding == "debiased")


# What is learned from


@pytest.mark.parametrize(
    ("settings", "same"),
    [({}, False), ({"learn_from": "second"}, True), ({"decoding": "printed"}, True)],
    ids=["both", "second", "printed"],
)
def test_round_1_is_learned_from_where_both_are(settings, same):
    """Round 1 may divide the budget in any case: shares are flat here, whatever was found."""
    ready = made_ready(settings={"gamma": 0.0, **settings})
    outcome, listener = heard(ready)
    other = made_ready(seed=1).job.users.report(listener.plans[0])
    again = HETERORR.run(replace(ready.job, users=Replay([other, listener.answers[1]])))
    assert np.array_equal(again.scores, outcome.scores) is same


@pytest.mark.parametrize("settings", [{}, {"learn_from": "second"}, {"decoding": "printed"}])
def test_blind_answers_are_not_learned_from(numbers, settings):
    file = numbers("importance", [1, 1, *[0] * (FEATURES - 2)])
    ready = made_ready(settings={"importance": file, "keep": 2, **settings})
    outcome, listener = heard(ready)
    (reports,) = listener.answers
    codes = reports.codes.reshape(-1, FEATURES).copy()
    codes[:, 2:] = 1 - codes[:, 2:]
    other = replace(reports, codes=codes.ravel())
    again = HETERORR.run(replace(ready.job, users=Replay([other])))
    np.testing.assert_array_equal(again.scores, outcome.scores)


def test_hops_matter():
    one, other = (HETERORR.run(made_ready(settings={"hops": hops}).job).scores for hops in (0, 4))
    assert not np.allclose(one, other)


# What is refused


def test_what_it_cannot_ask_is_refused_before_anybody_is_asked(numbers):
    few = {which: numbers(which, [1, 2, 3]) for which in ("importance", "sensitivity")}
    lines = "has 3 lines: {} is a file of " + str(FEATURES) + " numbers"
    alone = "heterorr works with featurerr alone: .* take base"
    size = r"featurerr asks for every value.* 240 x 16 numbers, 0\.0 GB"
    wrong = [
        ({"mechanism": "multibit"}, alone),
        ({"mechanism": "laplace"}, alone),
        ({"settings": {"mechanism.bins": 4}}, r"by bins and decoding: leave out mechanism\.bins"),
        ({"max_memory": 1e-6}, size),
        *(({"settings": {which: file}}, lines.format(which)) for which, file in few.items()),
    ]
    failed = not_refused(lambda options: asked_nobody(made_ready(**options)), wrong)
    assert not failed, failed


def test_bad_values_end_with_status_2(capsys):
    wrong = ["gamma=1.1", "gamma=-0.1", "importance=", "importance=no-such-file.txt", "sensitivity=round"]
    wrong += ["importance_share=0", "importance_share=1", "keep=0", "keep=17", "keep=some"]
    wrong += ["bins=1", "bins=2000", "decoding=raw", "learn_from=first", "hops=-1"]
    check_settings_refused(RUN, [(setting, setting.split("=")[0]) for setting in wrong], capsys)


@pytest.mark.parametrize(("name", "settings", "trial"), chosen_trials("heterorr"))
def test_other_settings_pass_the_suite(name, settings, trial):
    run_trial(name, settings, trial)


SKEWED = np.random.default_rng(0).pareto(1.0, 1433)


@pytest.mark.parametrize("gamma", [0.0, 0.3, 0.5, 1.0])
def test_gamma_is_the_part_that_follows_importance(gamma):
    importance, sensitivity = np.array([8.0, 0.0, 0.0]), np.array([10.0, 10.0, 30.0])
    expected = gamma * np.array([1.0, 0.0, 0.0]) + (1 - gamma) * np.array([30.0, 30.0, 10.0]) / 70
    np.testing.assert_allclose(attribute_shares(importance, sensitivity, gamma), expected, rtol=1e-12)
    # Where all numbers are 0 they say nothing.
    zeros, ones = np.zeros(4), np.ones(4)
    for importance, sensitivity in ((zeros, ones), (ones, zeros), (zeros, zeros)):
        np.testing.assert_allclose(attribute_shares(importance, sensitivity, gamma), 0.25, rtol=1e-12)


def test_units_of_importance_and_sensitivity_do_not_matter():
    importance, sensitivity = np.array([1.0, 2.0, 0.0]), np.array([0.0, 1.0, 5.0])
    one, other = (
        attribute_shares(importance * size, sensitivity * unit, 0.4)
        for size, unit in ((1, 1), (1e300, 1e-200))
    )
    np.testing.assert_allclose(other, one, rtol=1e-12)


def test_the_largest_shares_have_all_of_the_budget_and_those_that_are_alike_are_kept_together():
    kept = largest_shares(np.array([0.1, 0.4, 0.2, 0.3]), 2)
    np.testing.assert_allclose(kept, [0, 4 / 7, 0, 3 / 7], rtol=1e-12)
    for count in (1, 3, 5):
        np.testing.assert_allclose(largest_shares(np.full(5, 0.2), count), 0.2, rtol=1e-12)


@pytest.mark.parametrize("count", [1, 10, 1433])
def test_rounded_shares_are_few_and_lose_nothing(count):
    shares = largest_shares(SKEWED / SKEWED.sum(), count)
    rounded = rounded_shares(shares)
    assert len(set(rounded[rounded > 0].tolist())) <= LEVELS
    assert rounded.sum() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_array_equal(rounded > 0, shares > 0)


def test_rounded_shares_keep_the_order_and_are_near_the_given_ones():
    shares = np.sort(SKEWED / SKEWED.sum())
    assert (np.diff(rounded_shares(shares)) >= 0).all()
    step = (shares.max() / shares.min()) ** (1 / LEVELS)
    ratios = rounded_shares(shares) / shares
    assert ratios.max() <= step * (1 + 1e-9) and ratios.min() >= (1 - 1e-9) / step


@pytest.mark.parametrize("epsilon", [1e-4, 1.0, 19.0, 21.0, 200.0, 12 * MAX_EPSILON * (1 - 1e-9)])
def test_every_share_can_be_served(epsilon):
    skewed = np.array([1.0, 1e-3, *np.geomspace(1e-2, 1e-12, 9), 0.0])
    shares = served_shares(skewed / skewed.sum(), epsilon)
    budgets = shares[shares > 0] * epsilon
    assert shares.sum() == pytest.approx(1.0, rel=1e-12)
    assert budgets.min() >= MIN_EPSILON and budgets.max() <= MAX_EPSILON
    mechanism("featurerr", epsilon=epsilon, dims=12, range=(0, 1), shares=rounded_shares(shares).tolist())


def test_shares_that_can_be_served_stay():
    shares = np.array([0.5, 0.3, 0.2, 0.0])
    np.testing.assert_array_equal(served_shares(shares, 10.0), shares)


@pytest.fixture
def written(tmp_path):
    def write(text):
        file = tmp_path / "numbers.csv"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    return write


def test_one_number_a_line_is_read(written):
    texts = ["1\n0\n2.5\n", "1\n0\n2.5", "1\r\n0\r\n2.5\r\n", " 1 \n0\n25e-1\n\n\n"]
    found = {text: read_attribute_numbers(written(text), 3, "importance").tolist() for text in texts}
    assert found == {text: [1.0, 0.0, 2.5] for text in texts}


def test_an_error_names_the_file_the_line_and_what_was_expected(written, tmp_path):
    wrong = [
        ("1\n-1\n2\n", "numbers.csv, line 2 is '-1'"),
        ("1\n2\nnan\n", "numbers.csv, line 3 is 'nan'"),
        ("inf\n2\n3\n", "numbers.csv, line 1 is 'inf'"),
        ("weight\n1\n2\n", "numbers.csv, line 1 is 'weight'"),
        ("1,2\n3\n4\n", "numbers.csv, line 1 is '1,2'"),
        ("1\n\n2\n", "numbers.csv, line 2 is ''"),
        ("1\n2\n", "numbers.csv has 2 lines"),
        ("1\n2\n3\n4\n", "numbers.csv has 4 lines"),
        ("", "numbers.csv has 0 lines"),
        (b"\xff\xfe\x00", "numbers.csv is not UTF-8 text"),
    ]
    expected = "importance is a file of 3 numbers of at least 0, one a line"
    failed = not_refused(
        lambda text: read_attribute_numbers(written(text), 3, "importance"),
        [(text, f"{re.escape(said)}.*{expected}") for text, said in wrong],
    )
    assert not failed, failed
    with pytest.raises(InputError, match=r"gone\.txt cannot be read .*: sensitivity is a file of 2 numbers"):
        read_attribute_numbers(tmp_path / "gone.txt", 2, "sensitivity")
