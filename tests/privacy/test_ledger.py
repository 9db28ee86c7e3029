import copy
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphveil import BudgetError, Claim, InputError, Ledger, Plan
from graphveil.errors import PrivacyError
from graphveil.privacy import ledger as ledger_module
from tests.people import class_plan
from tests.together import together


def label_plan(epsilon, **more):
    return Plan(mechanism="krr", epsilon=epsilon, classes=3, **more)


def feature_plan(epsilon, **more):
    return Plan(mechanism="onebit", epsilon=epsilon, dims=2, range=(0, 1), **more)


def refusal(ledger, plan):
    """In which words a plan is refused; nothing is booked."""
    before = ledger.spent.tolist(), ledger.charges
    with pytest.raises(BudgetError) as error:
        ledger.charge(plan)
    assert (ledger.spent.tolist(), ledger.charges) == before
    return str(error.value)


def test_charges_add_up_over_plans_for_the_asked_users_alone():
    ledger = Ledger(2, 1.0)
    ledger.charge(label_plan(0.25))
    ledger.charge(feature_plan(0.5))
    assert ledger.spent.tolist() == [0.75, 0.75]
    assert ledger.total() == Claim(0.75)
    assert ledger.total("label") == Claim(0.25)
    assert [charge.mechanism for charge in ledger.charges] == ["krr", "onebit"]
    ledger = Ledger(4, 3.0)
    ledger.charge(feature_plan(1.0, users=(0, 2)))
    ledger.charge(label_plan(0.5, users=(1, 2)))
    assert ledger.spent.tolist() == [1.0, 0.5, 1.5, 0.0]
    assert ledger.asked_about(("features",)).tolist() == [True, False, True, False]
    assert ledger.asked_about(("features", "label")).tolist() == [True, True, True, False]
    assert not ledger.asked_about(("links",)).any()
    with pytest.raises(InputError, match=r"users must lie in 0\.\.3"):
        ledger.charge(label_plan(0.1, users=(4,)))


def test_delta_adds_up_and_is_enforced():
    plan = Plan(mechanism="analytic-gaussian", epsilon=0.1, delta=1e-5, dims=2, range=(0, 1))
    ledger = Ledger(1, 1.0, delta=2e-5)
    ledger.charge(plan)
    ledger.charge(plan)
    assert ledger.spent_delta.tolist() == [2e-5]
    assert "delta 1e-05" in refusal(ledger, plan)
    # So it is where no delta was declared.
    refusal(Ledger(1, 1.0), Plan(mechanism="gaussian", epsilon=0.5, delta=1e-6, dims=1, range=(0, 1)))


def test_an_overdraft_books_nothing_and_the_refusal_says_no_number_of_anybody_s():
    ledger = Ledger(2, [1.0, 0.3])
    words = "more than the declared budgets leave to somebody whom it asks"
    assert words in refusal(ledger, label_plan(0.5))
    assert ledger.spent.tolist() == [0.0, 0.0]
    assert ledger.charges == ()
    told = set()
    for spent in (0.75, 0.625):
        ledger = Ledger(4, [1.0, 1.0, 2.0, 1.0])
        ledger.charge(label_plan(spent, users=(1, 3)))
        told.add(refusal(ledger, label_plan(0.5, round=2)))
    (message,) = told
    assert "krr (round 2) costs epsilon 0.5 and delta 0" in message
    assert "declare a larger budget" in message


@given(parts=st.integers(1, 60), budget=st.floats(0.1, 50))
def test_equal_parts_of_a_budget_are_never_refused_for_their_rounding_but_one_too_many_is(parts, budget):
    part, ledger = min(budget / parts, 20.0), Ledger(1, budget)
    for _ in range(parts):
        ledger.charge(label_plan(part))
    if part * parts >= budget * (1 - 1e-9):
        refusal(ledger, label_plan(part))


BOTH = {"users": 2, "epsilon": 1.0}
TWO = BOTH | {"levels": [1, 1]}


@together(
    ("arguments", "words"),
    [
        *((BOTH | {"users": wrong}, "users must be an integer") for wrong in (-1, True)),
        *(
            (BOTH | {"epsilon": wrong}, "epsilon must be one number or 2")
            for wrong in ([1.0, 2.0, 3.0], "much", "1.0", True, [True, False])
        ),
        (BOTH | {"epsilon": -1.0}, "epsilon must be finite, at least 0"),
        (BOTH | {"epsilon": float("nan")}, "epsilon must be finite"),
        (BOTH | {"delta": 1.0}, "delta must be finite, at least 0 and below 1"),
        (BOTH | {"delta": "0"}, "delta must be one number or 2"),
        (BOTH | {"by_level": [1.0]}, "levels must be 2 integers"),
        (BOTH | {"by_level": [1.0], "levels": [1]}, "levels must be 2 integers"),
        (BOTH | {"by_level": [1.0], "levels": [1.0, 1.0]}, "levels must be 2 integers"),
        (BOTH | {"by_level": [1.0], "levels": [1, 2]}, r"levels must lie in 1\.\.1"),
        (BOTH | {"by_level": [1.0, 2.0], "levels": [0, 1]}, r"levels must lie in 1\.\.2"),
        (TWO, "levels have no budgets"),
        *(
            (TWO | {"by_level": wrong}, "by_level must be a list of numbers")
            for wrong in ([], 1.0, ["1"], [True])
        ),
        *((TWO | {"by_level": wrong}, "by_level must be finite, at least 0") for wrong in ([-1.0], [np.inf])),
    ],
)
def test_bad_budgets_and_levels_are_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        Ledger(**arguments)


def test_costs_of_ones_own_are_booked_and_decide_nothing():
    ledger, plan = Ledger(3, 8.0), label_plan(4.0)
    ledger.charge(plan, [1.0, 2.0, 4.0])
    assert ledger.spent.tolist() == [1.0, 2.0, 4.0]
    assert ledger.total().epsilon == 4.0
    for wrong in ([1.0, 2.0], [1.0, 2.0, 5.0], [-1.0, 0.0, 0.0], [np.nan, 0.0, 0.0]):
        with pytest.raises(InputError, match="costs must be 3 numbers in 0..4"):
            ledger.charge(plan, wrong)
    assert len(ledger.charges) == 1
    # A control costs nothing.
    ledger.charge(label_plan(4.0), [0.0, 0.0, 0.0])
    assert ledger.spent.tolist() == [1.0, 2.0, 4.0]
    # Nobody has spent more than a quarter, but a plan of that claim can be asked once.
    ledger = Ledger(2, 4.0)
    ledger.charge(label_plan(4.0), [1.0, 1.0])
    assert ledger.remaining.tolist() == [3.0, 3.0]
    refusal(ledger, label_plan(0.1))


# Budgets by level


PERSONAL = Plan(mechanism="ppm", epsilon=1.0, dims=3, range=(0, 1), options={"budgets": [1.0, 2.0, 4.0]})


def leveled(levels=(1, 3, 2), epsilon=0.0, budgets=(1.0, 2.0, 4.0)):
    return Ledger(len(levels), epsilon, by_level=budgets, levels=levels)


def test_a_personal_plan_is_booked_by_level_and_needs_the_largest_without():
    ledger = leveled()
    ledger.charge(PERSONAL, [1.0, 4.0, 2.0])
    assert ledger.spent.tolist() == [1.0, 4.0, 2.0]
    assert ledger.remaining.tolist() == [0.0] * 3
    assert ledger.total("features") == Claim(4.0)
    # Everybody has the own level's budget besides what all have.
    assert leveled(epsilon=[0.0, 0.5, 1.0]).budget.tolist() == [1.0, 4.5, 3.0]
    with pytest.raises(InputError, match="the plan has budgets for 3 levels, 2 were declared"):
        leveled((1, 2), budgets=(1.0, 9.0)).charge(PERSONAL)
    refusal(Ledger(2, 3.9), PERSONAL)
    ledger = Ledger(2, 4.0)
    ledger.charge(PERSONAL, [1.0, 1.0])
    assert ledger.spent.tolist() == [1.0, 1.0]


@together("levels", [(1, 1, 1), (3, 3, 3), (1, 2, 3)])
def test_levels_do_not_decide_whether_a_plan_is_answered(levels):
    """The personal plan leaves half a budget to each level, so what costs more is refused by all."""
    ledger = leveled(levels, epsilon=0.5)
    ledger.charge(PERSONAL, np.array([1.0, 2.0, 4.0])[np.array(levels) - 1])
    assert "a user of some declared level" in refusal(ledger, label_plan(0.6))
    ledger.charge(label_plan(0.5))


def test_a_level_that_nobody_chose_refuses_for_all_in_the_same_words():
    """Level 1 cannot pay 1.5, and most here could."""
    told = set()
    for levels in ((3, 3, 3), (2, 3, 2), (1, 1, 1), (2, 1, 1)):
        ledger = leveled(levels)
        told.add(refusal(ledger, label_plan(1.5)))
        assert ledger.spent.tolist() == [0.0] * 3 and ledger.charges == ()
        ledger.charge(label_plan(1.0))
    assert len(told) == 1


@pytest.fixture
def hesitant(monkeypatch):
    """A ledger that lets others go ahead between reading its books and writing them."""
    added = ledger_module._added

    def slowly(booked, cost):
        time.sleep(1e-4)
        return added(booked, cost)

    monkeypatch.setattr(ledger_module, "_added", slowly)


@pytest.mark.usefixtures("hesitant")
def test_eight_threads_cannot_overdraw():
    """A budget for 100 answers, and 8 threads that ask 50 times each: 100 are answered, all of them booked."""
    ledger, plan = Ledger(50, 1.0), label_plan(0.01)
    start = Barrier(8)

    def ask(_):
        start.wait()
        answered = 0
        for _ in range(50):
            with suppress(BudgetError):
                ledger.charge(plan)
                answered += 1
        return answered

    with ThreadPoolExecutor(8) as threads:
        answered = sum(threads.map(ask, range(8)))
    assert answered == len(ledger.charges) == 100
    np.testing.assert_allclose(ledger.spent, 1.0)


def test_a_ledger_cannot_be_copied_or_changed_from_outside():
    ledger = Ledger(2, 1.0)
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(PrivacyError, match="there is one ledger"):
            duplicate(ledger)
    ledger.spent[:] = 9
    ledger.budget[:] = 9
    assert ledger.spent.tolist() == [0.0, 0.0]
    assert ledger.budget.tolist() == [1.0, 1.0]


# Plans for different users are alternatives


def test_groups_of_users_cost_the_most_that_one_of_them_spends():
    ledger = Ledger(6, 1.0)
    ledger.charge(class_plan((0, 3)))
    ledger.charge(class_plan((1, 5), classes=3))
    ledger.charge(Plan(mechanism="onebit", epsilon=0.5, dims=2, range=(0, 1), users=(2,)))
    assert ledger.spent.tolist() == [1.0, 1.0, 0.5, 1.0, 0.0, 1.0]
    assert ledger.total() == ledger.total("features") == Claim(1.0)
    assert [(charge.of, charge.subject, charge.users) for charge in ledger.charges] == [
        ("class", "features", 2),
        ("class", "features", 2),
        ("values", "features", 1),
    ]
    overlapping = class_plan((1, 3), classes=3)
    for epsilon in (1.0, 2.0):
        ledger = Ledger(6, epsilon)
        ledger.charge(class_plan((0, 3)))
        assert ledger.spent.tolist() == [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]
        if epsilon == 1.0:
            refusal(ledger, overlapping)
    ledger.charge(overlapping)
    assert ledger.total() == Claim(2.0) == ledger.total("features")
    assert ledger.total("label") == Claim(0.0)


def test_a_user_s_subjects_add_up_and_links_because_both_ends_may_tell_of_one():
    ledger = Ledger(4, 9.0, delta=0.1)
    gaussian = Plan(mechanism="analytic-gaussian", epsilon=0.5, delta=1e-4, dims=1, range=(0, 1), users=(3,))
    for plan in (class_plan((0, 1)), label_plan(2.0, users=(1, 2)), gaussian):
        ledger.charge(plan)
    assert ledger.total() == Claim(3.0, 1e-4)
    assert (ledger.total("features"), ledger.total("label")) == (Claim(1.0, 1e-4), Claim(2.0))
    ledger = Ledger(4, 9.0)
    for users in ((0, 1), (2, 3)):
        ledger.charge(Plan(mechanism="link-rr", epsilon=1.5, dims=4, users=users))
    assert ledger.total("links") == Claim(3.0)
    ledger.charge(class_plan((0,)))
    assert ledger.total() == Claim(4.0)


@given(
    st.lists(
        st.tuples(st.floats(0.01, 3), st.lists(st.integers(0, 5), unique=True, min_size=1)),
        min_size=1,
        max_size=6,
    )
)
def test_the_total_is_the_largest_sum_that_one_user_has(asked):
    ledger = Ledger(6, 99.0)
    for epsilon, users in asked:
        ledger.charge(label_plan(epsilon, users=tuple(users)))
    sums = [sum(epsilon for epsilon, users in asked if user in users) for user in range(6)]
    assert ledger.total().epsilon == pytest.approx(max(sums), rel=1e-12)


# The ledger of a device


def test_a_ledger_of_one_user_is_asked_by_the_own_number():
    ledger = Ledger(1, 2.0, first=17)
    ledger.charge(label_plan(0.5, users=(17,)))
    assert ledger.spent.tolist() == [0.5] and ledger.ever_asked.tolist() == [True]
    assert ledger.asked_about({"label"}).tolist() == [True]
    for stranger in (0, 16, 18):
        with pytest.raises(InputError, match=rf"users must lie in 17..17, the plan asks user {stranger}"):
            ledger.charge(label_plan(0.5, users=(stranger,)))
    assert Ledger(3, 1.0, first=5).asked(label_plan(0.5)).tolist() == [5, 6, 7]


def test_what_was_charged_before_counts_for_every_level():
    ledger = Ledger(1, 2.0, 1e-5)
    ledger.carry_over([1.5], 1e-5)
    assert ledger.left[0].tolist() == [pytest.approx(0.5)]
    refusal(ledger, label_plan(0.6))
    refusal(ledger, Plan(mechanism="gaussian", epsilon=0.1, delta=1e-6, dims=1, range=(0, 1)))
    ledger.charge(label_plan(0.5))
    ledger = Ledger(1, 0.0, by_level=(1.0, 2.0), levels=[1])
    ledger.carry_over([0.2, 1.9], 0.0)
    assert ledger.left[0].tolist() == [pytest.approx(0.1)]
    with pytest.raises(InputError, match="2 costs"):
        ledger.carry_over([0.2], 0.0)
