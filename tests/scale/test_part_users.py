"""Users whom workers share: each plan is answered and charged once, and a worker gets the reports of its own users."""

import multiprocessing
import threading

import numpy as np
import pytest

from graphveil.errors import BudgetError, EngineError, PrivacyError, RefusalError
from graphveil.graphs import from_arrays
from graphveil.mechanisms import Reports
from graphveil.privacy import Ledger, Plan, answer
from graphveil.scale.part_users import PartUsers, SharedUsers
from graphveil.scale.workers import ProcessWorkers, _listen
from tests.collectives import parted

PLAN = Plan(mechanism="krr", epsilon=1.0, classes=5)
USERS = 6
EVERYBODY = np.arange(USERS)


class People:
    """Users who hold classes, of whom some are silent; they count how often they are asked."""

    def __init__(self, silent=(), budget=10.0):
        self.ledger, self.silent, self.times = Ledger(USERS, budget), list(silent), 0

    def report(self, plan):
        self.times += 1
        whole = answer(plan, list(range(5)) + [0], self.ledger)
        answered = np.ones(USERS, dtype=bool)
        answered[self.silent] = False
        return without(whole, answered)


def without(reports, answered):
    kept = np.flatnonzero(answered)
    return Reports(
        reports.mechanism,
        np.arange(len(kept) + 1),
        None,
        reports.codes[kept],
        None if answered.all() else answered,
    )


class Failing:
    """Users who fail in a way that nobody has thought of, or on purpose."""

    def __init__(self, error):
        self.error, self.times = error, 0

    def report(self, plan):
        self.times += 1
        raise self.error


def reports(answered, plan=PLAN):
    """What a worker makes of an answer."""
    if isinstance(answered, Exception):
        raise answered
    return Reports(plan.build(), *answered)


def test_a_plan_is_answered_and_charged_once_and_another_besides():
    people = People()
    users = SharedUsers(people)
    first, second = (reports(users.answer((PLAN, EVERYBODY))) for _ in range(2))
    assert people.times == 1
    assert people.ledger.spent.tolist() == [1.0] * USERS
    assert first.codes.tobytes() == second.codes.tobytes()
    users.answer((PLAN, EVERYBODY))
    users.answer((PLAN.model_copy(update={"epsilon": 2.0}), EVERYBODY))
    assert people.ledger.spent.tolist() == [3.0] * USERS


def test_rows_come_in_the_order_of_the_places_without_those_of_the_silent():
    users = SharedUsers(People())
    whole = reports(users.answer((PLAN, EVERYBODY)))
    some = reports(users.answer((PLAN, np.array([4, 0, 5]))))
    assert some.codes.tolist() == [whole.codes[4], whole.codes[0], whole.codes[5]]
    assert some.answered is None and some.asked == 3
    users = SharedUsers(People(silent=[1, 4]))
    whole = reports(users.answer((PLAN, EVERYBODY)))
    some = reports(users.answer((PLAN, np.array([4, 5, 1, 0]))))
    # Of 0, 2, 3 and 5, who answer, 5 is the last and 0 the first.
    assert whole.users == 4
    assert some.codes.tolist() == [whole.codes[3], whole.codes[0]]
    assert some.answered.tolist() == [False, True, False, True]
    plan = Plan(mechanism="multibit", epsilon=1.0, dims=9, sampled=2, range=(0.0, 1.0))
    whole = plan.build().randomize(np.zeros((3, 9)))
    some = whole.of_asked(np.array([2, 0]))
    assert some.dims.tolist() == [*whole.dims[4:6], *whole.dims[0:2]]
    assert some.codes.tolist() == [*whole.codes[4:6], *whole.codes[0:2]]


@pytest.mark.parametrize("error", [RefusalError("cap", "it costs too much"), BudgetError("it is overdrawn")])
def test_an_error_crosses_as_it_is_and_nobody_is_asked_again(error):
    people = Failing(error)
    users = SharedUsers(people)
    for _ in range(2):
        with pytest.raises(type(error)) as raised:
            reports(users.answer((PLAN, EVERYBODY)))
        assert str(raised.value) == str(error)
        assert getattr(raised.value, "reason", None) == getattr(error, "reason", None)
    assert people.times == 1


def test_an_overdraft_is_refused_and_who_may_not_ask_says_so():
    users = SharedUsers(People(budget=1.5))
    with pytest.raises(BudgetError, match="costs epsilon 2"):
        reports(users.answer((PLAN.model_copy(update={"epsilon": 2.0}), EVERYBODY)))
    assert reports(users.answer((PLAN, EVERYBODY))).users == USERS
    with pytest.raises(EngineError, match="nobody answers questions here"):
        ProcessWorkers().run(asks, [None], None)


def test_an_error_that_nobody_thought_of_says_nothing_of_what_users_hold():
    people = Failing(ValueError("the row is 0.731"))
    users = SharedUsers(people)
    for _ in range(2):
        with pytest.raises(PrivacyError, match=r"could not answer krr \(ValueError\)") as raised:
            reports(users.answer((PLAN, EVERYBODY)))
        assert "0.731" not in str(raised.value)
    assert people.times == 1


@pytest.mark.parametrize("named", ["all", (1, 2, 5)])
def test_workers_ask_one_plan_for_the_whole_graph_and_get_their_own_rows(named):
    people, lock = People(), threading.Lock()
    users = SharedUsers(Some(people))
    whole = reports(
        users.answer(
            (PLAN.model_copy(update={"users": named}), np.arange(len(named) if named != "all" else USERS))
        )
    )
    graph, _ = from_arrays(np.array([[0, 1], [2, 3], [4, 5], [1, 4]]))

    def ask(question):
        with lock:
            return users.answer(question)

    def own(part):
        here = [
            place for place, number in enumerate(part.original.tolist()) if named == "all" or number in named
        ]
        plan = PLAN.model_copy(update={"users": "all" if named == "all" else tuple(here)})
        return part.original[here].tolist(), PartUsers(part, ask).report(plan).codes.tolist()

    told = {}
    for numbers, codes in parted(graph, 2, own):
        told |= dict(zip(numbers, codes, strict=True))
    asked = range(USERS) if named == "all" else named
    assert [told[user] for user in asked] == whole.codes.tolist()
    assert people.times == 1


class Some:
    """All or some of those who answer."""

    def __init__(self, people):
        self.people = people

    def report(self, plan):
        whole = self.people.report(plan.model_copy(update={"users": "all"}))
        return whole if plan.users == "all" else whole.of_asked(np.array(plan.users))


def test_a_worker_is_answered_over_its_connection_and_lost_where_it_is_gone():
    here, there = multiprocessing.Pipe()
    there.send(("question", (PLAN, np.array([2]))))
    there.send(("result", "done"))
    assert _listen([here], None, SharedUsers(People()).answer) == ["done"]
    assert reports(there.recv()).users == 1
    here, there = multiprocessing.Pipe()
    there.send(("question", (PLAN, EVERYBODY)))
    there.close()
    people = People()
    assert _listen([here], None, SharedUsers(people).answer) == "worker 0 ended"
    assert people.times == 1


def asks(task, collective, caller):
    return caller.ask("anything")
