"""Rounds as the service asks them: digests and parts are those of the plan."""

import numpy as np
import pytest

from graphveil.collect.asking import AskedRound
from graphveil.collect.rounds import Round
from graphveil.mechanisms import ClassModel
from graphveil.privacy import Plan
from graphveil.privacy.digest import plan_digest

MODEL = ClassModel.of(
    {"kind": "linear", "weights": [[1, 0], [0, 1], [1, 1]], "bias": [0, 0, 0], "levels": 2, "zero": 0}
)
PLANS = {
    "all": Plan(mechanism="multibit", epsilon=1.0, dims=8, range=(-0.0, 1)),
    "some": Plan(mechanism="krr", epsilon=1, classes=3, users=(5, 3), round=2),
    "pool": Plan(
        mechanism="multibit", epsilon=1.0, dims=8, range=(0, 1), options={"pool": [1, 2]}, sampled=3
    ),
    "class": Plan(
        mechanism="krr",
        epsilon=1.0,
        of="class",
        classes=2,
        dims=2,
        range=(0, 1),
        users=(5, 3),
        model=MODEL,
        lists=[[0, 1], [2, 1]],
        offsets=[[3, 4], [5, 6]],
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_parts_and_digests_are_those_of_the_plan(name):
    plan = PLANS[name]
    opened = Round(1, plan, plan_digest(plan), np.array([5, 3]), 8, 1, 0, 1, False, 0)
    asked = AskedRound(opened)
    for node in (5, 3):
        assert asked.part(node) == plan.part([node])
        assert asked.digest(node) == plan_digest(plan.part([node]))
        assert asked._mechanism_of(node).fingerprint == plan.part([node]).build().fingerprint
    assert [asked.asks(node) for node in (3, 5, 4, 100)] == [True, True, False, False]
