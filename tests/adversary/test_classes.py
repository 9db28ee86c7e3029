"""What a hostile server tries with plans that ask for a class: bombs, false models, lists that look, a second answer."""

import json
from typing import ClassVar

import numpy as np
import pytest

import graphveil as gv
from graphveil.errors import BudgetError, InputError
from graphveil.graphs import Users
from graphveil.mechanisms import ClassModel
from graphveil.mechanisms.classes import Integers
from graphveil.privacy.plan import _kept

ROWS = np.random.default_rng(0).random((20, 4))
ASK = {
    "mechanism": "krr",
    "epsilon": 1.0,
    "of": "class",
    "classes": 2,
    "dims": 4,
    "range": (0, 1),
    "users": (3, 11),
    "model": {"kind": "linear", "weights": [[1, 0, 0, 2], [0, 1, 1, 0], [3, 0, 0, 1]], "bias": [0, 1, 2]},
    "lists": [[0, 1], [2, 1]],
}


def people():
    return Users(ROWS, np.arange(20) % 2)


class Seeing(np.ndarray):
    """Keeps whatever it is computed with."""

    seen: ClassVar[list] = []

    def __array_ufunc__(self, ufunc, method, *inputs, **more):
        self.seen.append(inputs)
        plain = [np.asarray(each) if isinstance(each, Seeing) else each for each in inputs]
        return getattr(ufunc, method)(*plain, **more)


@pytest.fixture
def seen():
    Seeing.seen.clear()
    return Seeing.seen


def shapes(seen):
    return {np.shape(each) for inputs in seen for each in inputs}


def test_a_model_that_looks_never_sees_a_row(seen):
    plan = gv.Plan(**{**ASK, "epsilon": 0.75})
    vars(plan.model)["scores"] = lambda rows: seen.append([rows])
    vars(plan.model)["integers"] = lambda rows, public: seen.append([rows])
    for table in (plan.model.weights, plan.model.bias, plan.lists):
        vars(table)["floats"] = table.array.astype(float).view(Seeing)
        vars(table)["array"] = np.array(table.array).view(Seeing)
        vars(table)["anew"] = lambda table=table: table
    vars(plan.model)["anew"] = lambda: plan.model
    expected = gv.Plan(**{**ASK, "epsilon": 0.75}).build().randomize(ROWS[[3, 11]], gv.SeededBits(1))
    for _ in range(2):
        assert people().declare(1.0, seed=1).report(plan) == expected
        # As if the plan had been changed before it was first built.
        _kept.clear()
    assert (2, 4) not in shapes(seen)


def test_a_class_of_one_s_own_is_no_model_and_no_list(seen):
    class Model(ClassModel):
        def scores(self, integers):
            seen.append([integers])
            return super().scores(integers)

    class Table(Integers):
        pass

    own = gv.Plan(**ASK)
    model = Model(own.model.weights, own.model.bias)
    lists = Table(own.lists.shape, own.lists.data)
    for change, words in (
        ({"model": model}, "a model needs a .kind."),
        ({"lists": lists}, "lists must be lists"),
    ):
        with pytest.raises(InputError, match=words):
            gv.Plan(**{**ASK, **change})
        tampered = gv.Plan(**ASK)
        vars(tampered).update(change)
        with pytest.raises(InputError, match=words):
            people().declare(1.0).report(tampered)
    assert seen == []


def test_a_table_that_was_changed_after_it_was_made_is_refused():
    plan = gv.Plan(**{**ASK, "epsilon": 0.8})
    vars(plan.lists)["shape"] = (2, 3)
    with pytest.raises(InputError, match="the plan cannot be served: lists"):
        people().declare(1.0).report(plan)


@pytest.mark.parametrize(
    "change",
    [
        {"model": {"kind": ["linear"]}},
        {"model": {"kind": {"linear": 1}}},
        {"model": [1, 2]},
        {"model": "linear"},
        {"model": {**ASK["model"], "weights": [[[1]] * 4] * 3}},
        {"model": {**ASK["model"], "weights": [[10**400] * 4] * 3}},
        {"model": {**ASK["model"], "levels": 10**400}},
        {"model": {**ASK["model"], "levels": 2.5}},
        {"model": {**ASK["model"], "unit": "yes"}},
        {"model": {**ASK["model"], "zero": None}},
        {"lists": [[0, 1], [2, 10**400]]},
        {"lists": {"0": [0, 1]}},
        {"lists": [[0, 1], "01"]},
        {"offsets": [[0.5, 0], [0, 0]]},
        {"offsets": [[-(1 << 63), 0], [0, 0]]},
        {"classes": 10**400},
        {"classes": -1},
    ],
)
def test_a_false_plan_from_the_network_is_refused_in_one_line(change):
    text = json.dumps({**ASK, **change})
    with pytest.raises(InputError) as error:
        gv.Plan.from_json(text)
    assert "\n" not in str(error.value) and len(str(error.value)) < 1000


def test_a_bomb_is_refused_before_it_is_unpacked():
    wide = [[0] * 1_100_000, [0] * 1_100_000]
    with pytest.raises(InputError, match=r"may hold at most \d+ integers"):
        gv.Plan(**{**ASK, "dims": 1_100_000, "model": {"kind": "linear", "weights": wide, "bias": [0, 0]}})
    with pytest.raises(InputError, match="scores of the model may reach"):
        gv.Plan(**{**ASK, "model": {**ASK["model"], "weights": [[1 << 52] * 4] * 3}})


def test_no_second_class_is_had_and_one_user_is_told_nothing_of_another():
    users = people().declare(1.0)
    users.report(gv.Plan(**ASK))
    other = gv.Plan(**{**ASK, "users": (11, 4), "round": 2})
    for plan in (gv.Plan(**ASK).part([11]), other):
        with pytest.raises(BudgetError):
            users.report(plan)
    assert users.report(other.part([4])).users == 1
    told = gv.Plan(**ASK).part([11]).to_json()
    assert json.loads(told)["lists"] == [[2, 1]] and "[0,1]" not in told


def test_an_error_holds_nothing_that_users_hold():
    users = people().declare(1.0)
    plan = gv.Plan(**{**ASK, "users": (3, 999)})
    with pytest.raises(InputError) as error:
        users.report(plan)
    assert "999" in str(error.value)
    # The frames between are gone with all they held.
    frames = []
    trace = error.value.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert "places_of" not in frames and "asked" not in frames
