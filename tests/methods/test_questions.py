import numpy as np
import pytest

from graphveil.errors import PrivacyError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.unit import RunUnit, check_cost
from graphveil.graphs import Users
from graphveil.methods.job import Questions
from graphveil.privacy import Plan


def features(epsilon, **more):
    return Plan(mechanism="multibit", epsilon=epsilon, dims=4, range=(0, 1), **more)


def personal(budgets):
    return Plan(mechanism="ppm", epsilon=budgets[0], dims=4, range=(0, 1), options={"budgets": budgets})


NORM = Plan(mechanism="piecewise", epsilon=0.5, of="norm", dims=1, range=(0, 2))
LABELS = Plan(mechanism="krr", epsilon=2.0, classes=3)
LINKS = Plan(mechanism="link-rr", epsilon=4.0, dims=10)


def test_claims_add_up_by_subject():
    asked = Questions((features(1.0), features(0.25, round=2)), NORM, LABELS, LINKS)
    assert {subject: claim.epsilon for subject, claim in asked.claims.items()} == {
        "features": 1.75,
        "label": 2.0,
        "links": 4.0,
    }
    assert asked.cost.epsilon == 7.75


def test_nothing_asked_costs_nothing():
    assert Questions().claims == {} and Questions().cost.epsilon == 0.0
    assert Questions().level_budgets is None


def test_what_a_level_costs_adds_up_over_rounds():
    asked = Questions((personal([0.5, 1.0, 2.0]), personal([0.25, 0.5, 1.0])))
    assert asked.level_budgets == pytest.approx((0.75, 1.5, 3.0))


def test_every_plan_has_one_mechanism():
    asked = Questions((features(1.0),))
    assert asked.mechanisms[0] is asked.features[0].build()


def group(users, epsilon=2.0, classes=2):
    return Plan(
        mechanism="krr",
        of="class",
        epsilon=epsilon,
        classes=classes,
        dims=4,
        range=(0, 1),
        users=users,
        model={"kind": "linear", "weights": [[0] * 4] * 3, "bias": [0] * 3},
        lists=[list(range(classes))] * len(users),
    )


def test_groups_of_different_users_cost_the_most_that_one_of_them_spends():
    asked = Questions((features(2.0, users=(0, 1)),), classes=(group((2, 3)), group((4, 5), classes=3)))
    assert {subject: claim.epsilon for subject, claim in asked.claims.items()} == {"features": 2.0}
    assert asked.cost.epsilon == 2.0
    ledger = asked.open_ledger(Users(np.zeros((6, 4)), np.zeros(6, dtype=np.int64)))
    assert ledger.budget.tolist() == [2.0] * 6


def test_groups_that_overlap_cost_both():
    assert Questions(classes=(group((2, 3)), group((3, 4), classes=3))).cost.epsilon == 4.0
    assert Questions((features(2.0),), classes=(group((2, 3)),)).claims["features"].epsilon == 4.0


def test_groups_that_overlap_are_refused_before_anybody_is_asked():
    spec = Experiment.of("base", "town", epsilon=2.0)
    check_cost(RunUnit(spec), Questions(classes=(group((2, 3)), group((4, 5), classes=3))))
    with pytest.raises(
        PrivacyError, match="asks for epsilon 4 about features, more than the 2 that it was given"
    ):
        check_cost(RunUnit(spec), Questions(classes=(group((2, 3)), group((3, 4), classes=3))))


def test_a_label_is_paid_besides_by_those_who_are_asked_for_both():
    labels = LABELS.model_copy(update={"users": (3, 9)})
    assert Questions(labels=labels, classes=(group((2, 3)),)).cost.epsilon == 4.0
    assert Questions(labels=labels, classes=(group((2, 4)),)).cost.epsilon == 2.0
