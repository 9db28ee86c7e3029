"""An adversary who writes plans tries to get answers that nobody is charged for. Beside each attempt stands its honest twin."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import graphveil as gv
from graphveil.channels.sampling import SeededBits
from graphveil.errors import BudgetError, ClaimError, InputError, PrivacyError

ROW = np.array([[0.0, 1.0, 1.0, 0.0]])


def plan(**fields):
    asked = {"mechanism": "multibit", "epsilon": 1.0, "dims": 4, "range": (0, 1)}
    return gv.Plan(**{**asked, **fields})


def test_a_row_is_not_answered_where_the_plan_asks_nobody():
    ledger = gv.Ledger(users=1, epsilon=2000.0)
    with pytest.raises(InputError, match="asks 0 users, and 1 rows"):
        gv.answer(plan(epsilon=20.0, users=()), ROW, ledger)
    assert ledger.spent.tolist() == [0.0]
    assert gv.answer(plan(users=(0,)), ROW, ledger).users == 1


@pytest.mark.parametrize("rows", [0, 2, 500])
def test_every_row_needs_a_user_in_the_books(rows):
    ledger = gv.Ledger(users=1, epsilon=1.0)
    with pytest.raises(InputError, match=f"asks 1 users, and {rows} rows were given"):
        gv.answer(plan(), np.repeat(ROW, rows, axis=0), ledger)
    assert ledger.spent.tolist() == [0.0] and not ledger.charges
    gv.answer(plan(), ROW, ledger)
    assert ledger.spent.tolist() == [1.0]


def test_lists_of_neighbours_must_be_those_of_the_users_who_are_charged():
    lists = gv.mechanisms.NeighbourLists(np.array([2, 3]), np.array([0, 1, 2]), np.array([1, 0]))
    ledger = gv.Ledger(users=4, epsilon=1.0)
    with pytest.raises(InputError, match="must be those of the users asked"):
        gv.answer(gv.Plan(mechanism="link-rr", epsilon=1.0, dims=4, users=(0, 1)), lists, ledger)
    assert not ledger.charges
    gv.answer(gv.Plan(mechanism="link-rr", epsilon=1.0, dims=4, users=(2, 3)), lists, ledger)
    assert ledger.spent.tolist() == [0.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "misfit",
    [
        lambda: (plan(dims=5), ROW),
        lambda: (gv.Plan(mechanism="krr", epsilon=1.0, classes=3), np.array([[1, 2]])),
        lambda: (gv.Plan(mechanism="ppm", epsilon=0.1, dims=4, range=(0, 1)), ([1, 2], ROW)),
        lambda: (plan(users=(7,)), ROW),
    ],
    ids=["columns", "labels", "levels", "users"],
)
def test_a_plan_that_does_not_fit_burns_no_budget(misfit):
    ledger = gv.Ledger(users=1, epsilon=9.0)
    with pytest.raises(InputError):
        gv.answer(*misfit(), ledger)
    assert ledger.spent.tolist() == [0.0] and not ledger.charges


def test_threads_cannot_overdraw_together():
    for _ in range(20):
        ledger = gv.Ledger(users=200, epsilon=1.0)
        asked = plan(epsilon=0.3)

        def attempt(ledger=ledger, asked=asked):
            try:
                ledger.charge(asked)
            except BudgetError:
                return 0
            return 1

        with ThreadPoolExecutor(8) as pool:
            answered = sum(pool.map(lambda _: attempt(), range(8)))
        assert answered == 3
        assert (ledger.spent <= 1.0).all()


def test_answers_too_cheap_to_change_a_float_are_not_free_and_a_whole_budget_can_be_spent():
    budget = 4e8
    cheap = gv.Plan(mechanism="krr", epsilon=1e-8, classes=2)
    assert budget + cheap.epsilon == budget
    ledger = gv.Ledger(users=1, epsilon=budget)
    ledger._booked[:] = budget
    with pytest.raises(BudgetError):
        for _ in range(10_000):
            ledger.charge(cheap)
    ledger, thousandth = gv.Ledger(users=1, epsilon=1.0), gv.Plan(mechanism="krr", epsilon=0.001, classes=2)
    for _ in range(1000):
        ledger.charge(thousandth)
    with pytest.raises(BudgetError):
        ledger.charge(thousandth)


@pytest.mark.parametrize("field", ["epsilon", "dims", "sampled", "round"])
@pytest.mark.parametrize("value", ["1", True])
def test_the_numbers_of_a_plan_are_numbers(field, value):
    with pytest.raises(InputError):
        plan(**{field: value})
    with pytest.raises(InputError):
        gv.Plan.from_json(plan().to_json().replace("}", f', "{field}": {str(value).lower()!r}}}'))


def test_a_plan_cannot_be_changed_past_its_checks_and_is_checked_again_by_whoever_answers():
    honest = plan(users=(0,))
    with pytest.raises(InputError):
        honest.model_copy(update={"users": (0,) * 2000})
    with pytest.raises(InputError):
        gv.Plan.model_construct(**{**honest.model_dump(), "users": (0, 0)})
    assert honest.model_copy(update={"epsilon": 0.5}).claim.epsilon == 0.5
    tampered = plan(users=(0,))
    tampered.__dict__["users"] = (0,) * 2000
    with pytest.raises(InputError):
        gv.answer(tampered, np.repeat(ROW, 2000, axis=0), gv.Ledger(users=1, epsilon=1.0))


def test_a_plan_that_lies_about_its_claim_is_charged_the_true_one_and_shares_no_options():
    class Cheap(gv.Plan):
        @property
        def claim(self):
            return gv.Claim(0.0)

    lying = Cheap(mechanism="multibit", epsilon=3.0, dims=4, range=(0, 1))
    with pytest.raises(BudgetError):
        gv.answer(lying, ROW, gv.Ledger(users=1, epsilon=1.0))
    pool = [0, 1]
    asked = plan(options={"pool": pool, "from_pool": 1.0})
    pool.append(2)
    assert asked.options["pool"] == [0, 1]


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, pickle.dumps], ids=["copy", "deepcopy", "pickle"]
)
def test_there_is_one_ledger_and_one_set_of_declared_users(copied):
    _, users = gv.load("town", seed=0, users=160)
    ledger = users.open_ledger(1.0)
    with pytest.raises(PrivacyError):
        copied(ledger)
    with pytest.raises(PrivacyError, match="a copy would have books of its own"):
        copied(users.answering(ledger))


def test_a_mechanism_that_does_not_keep_its_claim_is_answered_by_nobody():
    asked = gv.Plan(mechanism="ppm-printed", epsilon=1.0, dims=4, range=(0, 1), levels=2)
    ledger = gv.Ledger(users=1, epsilon=9.0)
    for more in ({}, {"unsound": True}, {"random_bits": SeededBits(0)}):
        with pytest.raises(ClaimError, match="ppm-printed does not keep"):
            gv.answer(asked, ([1], ROW), ledger, **more)
    assert not ledger.charges
    assert gv.answer(asked, ([1], ROW), ledger, SeededBits(0), unsound=True).users == 1
    sound = gv.Plan(mechanism="ppm", epsilon=1.0, dims=4, range=(0, 1), levels=2)
    assert gv.answer(sound, ([1], ROW), ledger).users == 1


def test_users_of_a_plan_are_different_numbers_and_a_budget_is_a_number():
    for users in ((2**70,), (-1,), (0, 0), ("0",), (True,)):
        with pytest.raises(InputError):
            plan(users=users)
    for budget in ("9", True, [True], ["1"], None, float("nan"), float("inf"), -1.0):
        with pytest.raises(InputError):
            gv.Ledger(users=1, epsilon=budget)
        with pytest.raises(InputError):
            gv.Ledger(users=1, epsilon=1.0, delta=budget)
