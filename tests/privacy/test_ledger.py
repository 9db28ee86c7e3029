import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphveil import BudgetError, Claim, InputError, Ledger, Plan, SeededWords, answer


class CountedWords(SeededWords):
    """Counts what is drawn."""

    def __init__(self):
        super().__init__(0)
        self.drawn = 0

    def take(self, count):
        self.drawn += count
        return super().take(count)


def label_plan(epsilon, **more):
    return Plan(mechanism="krr", epsilon=epsilon, classes=3, **more)


def test_charges_add_up_over_plans():
    ledger = Ledger(2, 1.0)
    ledger.charge(label_plan(0.25))
    ledger.charge(Plan(mechanism="onebit", epsilon=0.5, dims=2, range=(0, 1)))
    assert ledger.spent.tolist() == [0.75, 0.75]
    assert ledger.total() == Claim(0.75)
    assert ledger.total("label") == Claim(0.25)
    assert [charge.mechanism for charge in ledger.charges] == ["krr", "onebit"]


def test_only_the_asked_users_are_charged():
    ledger = Ledger(3, 1.0)
    ledger.charge(label_plan(0.5, users=(0, 2)))
    assert ledger.spent.tolist() == [0.5, 0.0, 0.5]


def test_delta_adds_up_and_is_enforced():
    plan = Plan(mechanism="analytic-gaussian", epsilon=0.1, delta=1e-5, dims=2, range=(0, 1))
    ledger = Ledger(1, 1.0, delta=2e-5)
    ledger.charge(plan)
    ledger.charge(plan)
    assert ledger.spent_delta.tolist() == [2e-5]
    with pytest.raises(BudgetError, match="delta 1e-05"):
        ledger.charge(plan)


def test_a_delta_plan_is_refused_where_no_delta_was_declared():
    with pytest.raises(BudgetError):
        Ledger(1, 1.0).charge(Plan(mechanism="gaussian", epsilon=0.5, delta=1e-6, dims=1, range=(0, 1)))


def test_an_overdraft_books_nothing_for_anybody():
    ledger = Ledger(2, [1.0, 0.3])
    with pytest.raises(BudgetError, match="1 of 2 users do not have left"):
        ledger.charge(label_plan(0.5))
    assert ledger.spent.tolist() == [0.0, 0.0]
    assert ledger.charges == ()


def test_an_overdraft_is_raised_before_anything_is_drawn():
    words = CountedWords()
    with pytest.raises(BudgetError):
        answer(label_plan(2.0), [0, 1], Ledger(2, 1.0), words)
    assert words.drawn == 0
    answer(label_plan(1.0), [0, 1], Ledger(2, 1.0), words)
    assert words.drawn == 2


def test_the_error_says_what_was_asked_what_is_left_and_what_to_do():
    ledger = Ledger(4, 1.0)
    ledger.charge(label_plan(0.75))
    with pytest.raises(BudgetError) as error:
        ledger.charge(label_plan(0.5, round=2))
    message = str(error.value)
    assert "krr (round 2) costs epsilon 0.5" in message
    assert "epsilon 0.25" in message
    assert "declare a larger budget" in message


@given(parts=st.integers(1, 60), budget=st.floats(0.1, 50))
def test_equal_parts_of_a_budget_are_never_refused_for_their_rounding(parts, budget):
    ledger = Ledger(1, budget)
    for _ in range(parts):
        ledger.charge(label_plan(min(budget / parts, 20.0)))


@given(parts=st.integers(1, 30), budget=st.floats(0.1, 20))
def test_one_part_too_many_is_refused(parts, budget):
    ledger = Ledger(1, budget)
    for _ in range(parts):
        ledger.charge(label_plan(budget / parts))
    with pytest.raises(BudgetError):
        ledger.charge(label_plan(budget / parts))


def test_answers_are_the_mechanism_s_reports():
    plan = Plan(mechanism="onebit", epsilon=1.0, dims=3, range=(0, 1))
    rows = np.eye(3)
    assert answer(plan, rows, Ledger(3, 1.0), SeededWords(1)) == plan.build().randomize(rows, SeededWords(1))


def test_the_books_cannot_be_changed_from_outside():
    ledger = Ledger(2, 1.0)
    ledger.spent[:] = 9
    ledger.budget[:] = 9
    assert ledger.spent.tolist() == [0.0, 0.0]
    assert ledger.budget.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((-1, 1.0), "users must be an integer"),
        ((2, [1.0, 2.0, 3.0]), "epsilon must be one number or 2"),
        ((2, -1.0), "epsilon must be finite, at least 0"),
        ((2, float("nan")), "epsilon must be finite"),
        ((2, 1.0, 1.0), "delta must be finite, at least 0 and below 1"),
        ((2, "much"), "epsilon must be one number or 2"),
    ],
)
def test_bad_budgets_are_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        Ledger(*arguments)


def test_a_plan_for_an_unknown_user_is_refused():
    with pytest.raises(InputError, match=r"users must lie in 0\.\.1"):
        Ledger(2, 1.0).charge(label_plan(0.1, users=(2,)))


def test_costs_of_ones_own_are_charged_and_no_more_than_the_plan_claims():
    ledger = Ledger(3, epsilon=[1.0, 2.0, 4.0])
    plan = Plan(mechanism="krr", epsilon=4.0, classes=3)
    ledger.charge(plan, [1.0, 2.0, 4.0])
    assert ledger.spent.tolist() == [1.0, 2.0, 4.0]
    assert ledger.total().epsilon == 4.0
    for wrong in ([1.0, 2.0], [1.0, 2.0, 5.0], [-1.0, 0.0, 0.0], [np.nan, 0.0, 0.0]):
        with pytest.raises(InputError, match="costs must be 3 numbers from 0 to 4"):
            ledger.charge(plan, wrong)


def test_norms_are_computed_before_they_are_reported_and_booked_as_such():
    plan = Plan(mechanism="piecewise", epsilon=1.0, dims=1, range=(0, 5), of="norm")
    ledger = Ledger(2, 1.0)
    reports = answer(plan, [[3.0, 4.0], [0.0, 1.0]], ledger, SeededWords(1))
    assert reports == plan.build().randomize([[5.0], [1.0]], SeededWords(1))
    assert [charge.of for charge in ledger.charges] == ["norm"]
    assert ledger.total("features").epsilon == 1.0
