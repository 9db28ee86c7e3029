"""What a method is given and asks: jobs, questions and what they cost, settings, names."""

import re
from dataclasses import replace

import numpy as np
import pytest

from graphveil import mechanism
from graphveil.errors import BudgetError, InputError, PrivacyError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.unit import RunUnit, check_cost, open_unit
from graphveil.graphs import Users, from_arrays
from graphveil.learn import BACKBONES
from graphveil.methods import BACKBONE_NAMES, METHODS, Job, Settings, feature_plan
from graphveil.methods.base import BaseSettings
from graphveil.methods.job import Questions
from graphveil.privacy import Nobody, Plan
from tests.people import class_plan
from tests.refusals import check_refused

ROWS = np.eye(8)


def tiny(features=ROWS, **options):
    edges = np.array([[0, 1], [1, 2], [2, 3], [4, 5], [5, 6], [6, 7]])
    return from_arrays(edges, features, [0, 0, 0, 0, 1, 1, 1, 1], seed=0, **{"range": (0, 1), **options})


def job_of(graph, users, **options):
    return Job.of(graph, users, BaseSettings.of({"epochs": 2}), seed=0, **{"epsilon": 1.0, **options})


def test_a_feature_plan_asks_what_graph_mechanism_and_options_say():
    plan = feature_plan(job_of(*tiny(range=(-1, 3))))
    assert (plan.dims, plan.range, plan.epsilon, plan.mechanism) == (8, (-1.0, 3.0), 1.0, "multibit")
    binary = tiny(binary=True)
    assert feature_plan(job_of(*binary)).binary is True
    # Binary features are asked as such where the mechanism can.
    assert feature_plan(job_of(*binary, mechanism="item", mechanism_options={"length": 3})).binary is None
    job = job_of(*tiny(), mechanism_options={"sampled": 3})
    assert feature_plan(job).sampled == 3
    assert feature_plan(job, sampled=None).build().sampled == 3


def test_what_cannot_be_asked_set_or_named_is_refused():
    find = METHODS.find
    check_refused(
        lambda ask: ask(),
        [
            (
                lambda: feature_plan(job_of(*tiny(), mechanism_options={"dims": 3})),
                "options must not hold 'dims'",
            ),
            (
                lambda: feature_plan(job_of(*tiny(features=None, range=None))),
                "has no features: take another graph",
            ),
            (lambda: plan(False, binary=True), "are not binary"),
            (lambda: plan(binary="yes"), "must be true or false"),
            (lambda: Settings.of({"speed": 1}), "there is no setting 'speed' here: choose from epochs, lr"),
            (
                lambda: Settings.of({"epochs": 0}),
                re.compile("setting epochs: .*greater than or equal to 1, got 0"),
            ),
            (lambda: find("nobody"), "no method is named 'nobody': choose one of"),
            (lambda: METHODS.add("base", find("base")), "registered already"),
            (
                lambda: find("nonprivate").run(job_of(*tiny())),
                "learns from raw features, and these were not given",
            ),
        ],
    )


def test_nobody_answers_before_a_budget_is_declared_or_beyond_it():
    graph, users = tiny()
    with pytest.raises(PrivacyError, match=r"nobody has declared a budget.*users\.declare"):
        METHODS.find("base").run(job_of(graph, Nobody()))
    with pytest.raises(BudgetError):
        METHODS.find("base").run(job_of(graph, users.declare(0.5, seed=0)))
    # Raw features are read where they are handed over by name.
    METHODS.find("nonprivate").run(job_of(graph, Nobody(), raw=users.raw.rows()))


def test_the_books_of_a_method_hold_just_what_it_claims():
    graph, users = tiny()
    ledger = METHODS.find("base").questions(job_of(graph, Nobody(), label_epsilon=0.5)).open_ledger(users)
    labelled = graph.train | graph.validation
    assert labelled.any() and not labelled.all()
    assert ledger.budget.tolist() == [1.5 if asked else 1.0 for asked in labelled]
    assert ledger.charges == ()


class FirstAskedError(Exception):
    """Raised with the first question about features."""


class UntilFeatures:
    """Users who answer until they are asked about features."""

    def __init__(self, users):
        self._users = users

    def report(self, plan):
        if plan.subject == "features":
            raise FirstAskedError(plan)
        return self._users.report(plan)


FORETOLD = [name for name in METHODS.own() if METHODS.find(name).can.first_round_known]


def test_some_methods_foretell_their_first_question_and_backbones_are_named_as_they_are():
    assert {"base", "togl"} <= set(FORETOLD) and "veil" not in FORETOLD
    assert set(BACKBONE_NAMES) == set(BACKBONES)


@pytest.mark.parametrize("name", FORETOLD)
def test_a_first_question_that_is_foretold_is_the_one_that_is_asked(name):
    options = {"data_options": {"users": 200}, "label_epsilon": 1.0}
    ready = open_unit(RunUnit(Experiment.of(name, "town", epsilon=1.0, **options)))
    with pytest.raises(FirstAskedError) as asked:
        ready.method.run(replace(ready.job, users=UntilFeatures(ready.job.users)))
    assert asked.value.args[0] == ready.job.questions.features[0]


def plan(known=True, **options):
    rows = np.eye(40, 4)
    graph, _ = from_arrays([[0, 1]], rows, np.arange(40) % 2, range=(0, 1), binary=known)
    settings = METHODS.find("base").settings.of({})
    job = Job.of(graph, Nobody(), settings, 0, epsilon=0.01, mechanism="piecewise", mechanism_options=options)
    return feature_plan(job)


@pytest.mark.parametrize(
    ("options", "points", "largest"),
    [
        ({}, 2, 200.5),
        *((each, 65, 400) for each in ({"points": 65}, {"binary": False}, {"binary": False, "points": 65})),
    ],
)
def test_binary_graphs_get_two_points_unless_the_continuous_form_is_asked_for(options, points, largest):
    built = plan(**options).build()
    assert built.channels[0].input_count == points
    assert built.largest / built.scale == pytest.approx(largest / 2, rel=1e-3 if points == 2 else 0.01)


def test_points_beside_binary_values_are_refused_as_they_have_no_effect():
    with pytest.raises(InputError, match="binary values have two input points"):
        mechanism("piecewise", epsilon=1.0, dims=4, range=(0, 1), binary=True, points=65)
    assert mechanism("piecewise", epsilon=1.0, dims=4, range=(0, 1), binary=True, points=2).epsilon <= 1.0


def features(epsilon, **more):
    return Plan(mechanism="multibit", epsilon=epsilon, dims=4, range=(0, 1), **more)


def personal(budgets):
    return Plan(mechanism="ppm", epsilon=budgets[0], dims=4, range=(0, 1), options={"budgets": budgets})


NORM = Plan(mechanism="piecewise", epsilon=0.5, of="norm", dims=1, range=(0, 2))
LABELS = Plan(mechanism="krr", epsilon=2.0, classes=3)
LINKS = Plan(mechanism="link-rr", epsilon=4.0, dims=10)


def test_claims_add_up_by_subject_and_levels_over_rounds():
    asked = Questions((features(1.0), features(0.25, round=2)), NORM, LABELS, LINKS)
    assert {subject: claim.epsilon for subject, claim in asked.claims.items()} == {
        "features": 1.75,
        "label": 2.0,
        "links": 4.0,
    }
    assert asked.cost.epsilon == 7.75
    assert Questions().claims == {} and Questions().cost.epsilon == 0.0
    assert Questions().level_budgets is None
    asked = Questions((features(1.0),))
    assert asked.mechanisms[0] is asked.features[0].build()
    asked = Questions((personal([0.5, 1.0, 2.0]), personal([0.25, 0.5, 1.0])))
    assert asked.level_budgets == pytest.approx((0.75, 1.5, 3.0))


def group(users, classes=2):
    return class_plan(users, epsilon=2.0, classes=classes)


def test_groups_of_different_users_cost_the_most_that_one_of_them_spends():
    asked = Questions((features(2.0, users=(0, 1)),), classes=(group((2, 3)), group((4, 5), classes=3)))
    assert {subject: claim.epsilon for subject, claim in asked.claims.items()} == {"features": 2.0}
    assert asked.cost.epsilon == 2.0
    ledger = asked.open_ledger(Users(np.zeros((6, 4)), np.zeros(6, dtype=np.int64)))
    assert ledger.budget.tolist() == [2.0] * 6
    # A label is paid besides by those who are asked for both.
    labels = LABELS.model_copy(update={"users": (3, 9)})
    assert Questions(labels=labels, classes=(group((2, 3)),)).cost.epsilon == 4.0
    assert Questions(labels=labels, classes=(group((2, 4)),)).cost.epsilon == 2.0


def test_groups_that_overlap_cost_both_and_are_refused_before_anybody_is_asked():
    apart, overlapping = (
        Questions(classes=(group((2, 3)), group(others, classes=3))) for others in ((4, 5), (3, 4))
    )
    assert overlapping.cost.epsilon == 4.0
    assert Questions((features(2.0),), classes=(group((2, 3)),)).claims["features"].epsilon == 4.0
    unit = RunUnit(Experiment.of("base", "town", epsilon=2.0))
    check_cost(unit, apart)
    with pytest.raises(
        PrivacyError, match="asks for epsilon 4 about features, more than the 2 that it was given"
    ):
        check_cost(unit, overlapping)
