"""An adversary tries to read privacy levels off refusals and messages."""

import re

import numpy as np
import pytest

import graphveil as gv
from graphveil.errors import BudgetError, InputError

BUDGETS = (0.5, 1.0, 2.0, 4.0)
USERS = 160


@pytest.fixture(scope="module")
def users():
    _, loaded = gv.load("town", seed=0, users=USERS)
    return loaded.with_levels(1 + np.arange(USERS) % 4)


def ask(users, plan, by_level=BUDGETS):
    """Whether users answer, and what they say if they do not."""
    try:
        users.declare(0.0, by_level=by_level, seed=0).report(plan)
    except (BudgetError, InputError) as error:
        return str(error)
    return None


def feature_plan(epsilon, user):
    return gv.Plan(mechanism="multibit", epsilon=epsilon, dims=64, range=(0, 1), users=(user,))


def personal(**fields):
    return gv.Plan(mechanism="ppm", epsilon=0.5, dims=64, range=(0, 1), **fields)


def said_by_each(users, plan):
    """What users say to a plan, each asked alone."""
    return {ask(users, plan.model_copy(update={"users": (user,)})) for user in range(USERS)}


@pytest.mark.parametrize("epsilon", [0.4, 0.5, 0.6, 1.5, 3.0, 4.5])
def test_a_plan_is_refused_by_everybody_or_by_nobody(users, epsilon):
    said = said_by_each(users, feature_plan(epsilon, 0))
    assert len(said) == 1
    assert (said == {None}) == (epsilon <= BUDGETS[0])


def test_what_somebody_has_really_spent_decides_nothing(users):
    asked = users.declare(0.25, by_level=BUDGETS, seed=0)
    asked.report(personal(options={"budgets": BUDGETS}))
    said = set()
    for user in range(USERS):
        asked.report(feature_plan(0.25, user))
        with pytest.raises(BudgetError) as refused:
            asked.report(feature_plan(0.01, user))
        said.add(str(refused.value))
    assert len(said) == 1


def test_a_refusal_names_no_number_that_the_plan_does_not_hold(
    users,
):
    said = ask(users, feature_plan(1.5, 3))
    assert set(re.findall(r"\d+(?:\.\d+)?", said)) <= {"1.5", "1", "0"}


def test_every_user_is_booked_what_the_own_level_spends(users):
    ledger = users.open_ledger(by_level=BUDGETS)
    users.answering(ledger, seed=0).report(personal(options={"budgets": BUDGETS}))
    np.testing.assert_array_equal(ledger.spent, np.array(BUDGETS)[np.arange(USERS) % 4])
    assert (ledger.remaining == 0).all()


def test_a_plan_with_other_levels_or_larger_budgets_than_declared_is_refused_by_everybody(users):
    greedy = {"options": {"budgets": (0.5, 1.0, 2.0, 4.1)}}
    for fields in ({"levels": 2}, {"levels": 6}, greedy):
        said = said_by_each(users, personal(**fields))
        assert len(said) == 1 and None not in said
    assert said_by_each(users, personal(levels=4)) == {None}
    # A question about levels is answered whatever the level.
    assert ask(users, gv.Plan(mechanism="esw", epsilon=0.5, levels=2)) is None
