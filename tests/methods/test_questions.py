import pytest

from graphveil.methods.questions import Questions
from graphveil.privacy import Plan


def features(epsilon, **more):
    return Plan(mechanism="multibit", epsilon=epsilon, dims=4, range=(0, 1), **more)


def personal(budgets):
    return Plan(mechanism="ppm", epsilon=budgets[0], dims=4, range=(0, 1), options={"budgets": budgets})


NORM = Plan(mechanism="piecewise", epsilon=0.5, of="norm", dims=1, range=(0, 2))
LABELS = Plan(mechanism="krr", epsilon=2.0, classes=3)
LINKS = Plan(mechanism="link-rr", epsilon=4.0, dims=10)


def test_claims_add_up_by_subject():
    asked = Questions((features(1.0), features(0.25, round=2)), (NORM,), LABELS, LINKS)
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
