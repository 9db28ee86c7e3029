"""Norms of features beside classes: who is asked, what it costs, what is predicted, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from graphveil.errors import BudgetError, InputError
from graphveil.graphs import from_arrays
from graphveil.methods import METHODS, Job
from graphveil.methods.base import BaseSettings
from graphveil.methods.method import with_questions
from graphveil.methods.private_targets import ReportedNorms, largest_norm, norm_plan, with_norms
from graphveil.privacy import Nobody

METHOD = METHODS.find("base")


def data(users=200, **options):
    """Features whose length is 1 in one class and 2 in the other, in a public range of -1 to 2."""
    random = np.random.default_rng(0)
    labels = np.arange(users) % 2
    rows = np.zeros((users, 4))
    rows[np.arange(users), random.integers(0, 4, users)] = 1.0 + labels
    pairs = random.integers(0, users // 2, (3 * users, 2)) * 2 + random.integers(0, 2, (3 * users, 1))
    return from_arrays(pairs, rows, labels, seed=0, **{"range": (-1, 2), **options})


def asked(**options):
    """A job whose users have just the budget for it."""
    return booked(**options)[0]


def booked(epsilon=1.0, blind=False, people=200, **options):
    """The same, and their books."""
    graph, users = data(people)
    settings = BaseSettings.of({"epochs": 5, "dropout": 0.0, **options.pop("settings", {})})
    job = Job.of(graph, Nobody(), settings, 3, epsilon=epsilon, **{"norm_epsilon": 2.0, **options})
    ledger = METHOD.questions(job).open_ledger(users)
    return replace(job, users=users.answering(ledger, seed=3, blind=blind)), ledger


def test_the_bound_is_what_the_public_range_allows():
    assert largest_norm(data()[0]) == 4.0
    assert largest_norm(data(range=(-3, 2))[0]) == 6.0
    plan = norm_plan(asked())
    assert (plan.of, plan.range, plan.dims, plan.mechanism) == ("norm", (0.0, 4.0), 1, "piecewise")
    assert norm_plan(asked(norm_bound=2.5)).range == (0.0, 2.5)
    assert METHOD.questions(asked(norm_epsilon=None)).norms is None
    graph, _ = from_arrays([[0, 1]], None, [0, 1] * 4, users=8)
    with pytest.raises(InputError, match="mine has no features"):
        largest_norm(graph)


def test_training_and_validation_users_spend_both_and_test_users_the_features_alone():
    job, ledger = booked()
    METHOD.run(job)
    known = job.graph.train | job.graph.validation
    np.testing.assert_allclose(ledger.spent, 1.0 + 2.0 * known)
    assert METHOD.questions(job).claims["features"].epsilon == ledger.total("features").epsilon == 3.0
    job = asked()
    with pytest.raises(BudgetError):
        METHOD.run(replace(job, users=data()[1].declare(1.0, seed=3)))


def test_reports_are_decoded_without_a_bias_and_only_for_those_that_were_asked():
    graph, users = data(users=4000)
    job = Job.of(graph, Nobody(), BaseSettings.of({}), 0, epsilon=1.0, norm_epsilon=4.0)
    job = with_questions(METHOD, replace(job, users=users.declare(4.0, seed=0)))
    norms = with_norms(job).norms
    known = graph.train | graph.validation
    assert np.array_equal(np.isnan(norms.values), ~known)
    # 1,500 reports a class: six standard errors, a false alarm in 10^8.
    for label in (0, 1):
        reported = norms.values[known & (graph.labels == label)]
        assert abs(reported.mean() - 1 - label) < 6 * reported.std() / np.sqrt(len(reported))
    trained = norms.values[graph.train]
    assert (norms.centre, norms.spread) == (trained.mean(), trained.std())


def told(values, **options):
    """Reports of four validation users."""
    return ReportedNorms(np.array(values), **{"bound": 4.0, "centre": 2.0, "spread": 0.5, **options})


EVERYBODY = np.ones(4, dtype=bool)


def test_reports_are_learned_in_units_of_their_spread_and_become_norms_within_the_bound():
    assert told([1.0, 3.0]).standard.tolist() == [-2.0, 2.0]
    outputs = np.array([-1.0, 1.0, -1.0, 1.0])
    norms = told(2.0 + 0.5 * outputs)
    # The slope is 1, and of it 1/4 is owed to chance: var(y) / Σ o² = 1 / 4.
    np.testing.assert_allclose(norms.predicted(outputs + 7.0, EVERYBODY), 2.0 + 0.5 * 0.75 * outputs)
    # Outputs that are three times too far apart are brought back, those too near together are left as they are.
    np.testing.assert_allclose(norms.predicted(3 * outputs, EVERYBODY), 2.0 + 0.5 * 0.75 * outputs)
    wide = told(2.0 + 50.0 * outputs, spread=50.0, centre=2.0)
    assert wide.predicted(outputs, EVERYBODY).tolist() == [0.0, 4.0, 0.0, 4.0]


@pytest.mark.parametrize("outputs", [[1.0, -1.0, 1.0, -1.0], [-1.0, -1.0, 1.0, 1.0], [3.0, 3.0, 3.0, 3.0]])
def test_outputs_that_validation_users_do_not_bear_out_become_the_centre(outputs):
    norms = told([1.5, 2.5, 1.5, 2.5])
    assert norms.predicted(np.array(outputs), EVERYBODY).tolist() == [2.0] * 4


# Every value at a budget of 10. One bit of it would be too little: even then only 86% of the classes are found.
NEARLY_RAW = {"mechanism": "piecewise", "mechanism_options": {"sampled": 4}}
LONG = {"epochs": 150}


def test_norms_are_learned_from_good_reports_and_not_by_the_control():
    errors = {}
    for name, blind in (("method", False), ("control", True)):
        job = asked(epsilon=40.0, norm_epsilon=8.0, blind=blind, people=1000, settings=LONG, **NEARLY_RAW)
        outcome = METHOD.run(job)
        assert outcome.scores.shape == (1000, 2) and outcome.norms.shape == (1000,)
        users = data(1000)[1]
        errors[name] = users.evaluate_norms(outcome.norms, job.graph)
        guess = np.full(1000, outcome.constant_norm)
        errors[f"{name}'s guess"] = users.evaluate_norms(guess, job.graph)
    # Norms are 1 or 2, half of each: no constant is nearer than 0.5 to them on average, but for the split.
    assert errors["method's guess"] > 0.45 and errors["control"] > 0.45
    assert errors["method"] < 0.25


def test_a_tighter_bound_clips_on_the_users_side_and_without_a_budget_nothing_is_predicted():
    outcome = METHOD.run(asked(norm_bound=1.5, settings=LONG))
    assert outcome.norms.max() <= 1.5
    outcome = METHOD.run(asked(norm_epsilon=None))
    assert outcome.norms is None and outcome.constant_norm is None


def test_private_labels_and_norms_go_together():
    job, ledger = booked(label_epsilon=4.0)
    outcome = METHOD.run(replace(job, graph=job.graph.without_labels()))
    assert outcome.scores.shape == (200, 2) and outcome.norms.shape == (200,)
    assert ledger.spent.max() == pytest.approx(7.0)


def test_a_method_that_learns_classes_alone_refuses_before_anybody_is_asked():
    job, ledger = booked()
    with pytest.raises(InputError, match="structure learns classes alone.*take one of base"):
        METHODS.find("structure").run(job)
    assert not ledger.charges
