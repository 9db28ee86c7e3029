"""A plan's digest is its name: the same for equal plans, another one for any other."""

import hashlib
import json

import numpy as np
import pytest

from graphveil import Plan
from graphveil.channels.channel import canonical
from graphveil.privacy.plan import described, plan_digest
from tests.together import together

MODEL = {"kind": "linear", "weights": [[3, -1, 0], [0, 2, 1], [-2, 0, 4]], "bias": [1, 0, -1]}
CLASS = {
    "mechanism": "krr",
    "epsilon": 3.0,
    "of": "class",
    "classes": 2,
    "dims": 3,
    "range": (0, 1),
    "users": (4, 0),
    "model": MODEL,
    "lists": [[2, 0], [1, 2]],
}
SKETCH = {"mechanism": "privunit", "epsilon": 2.0, "dims": 4, "range": (0, 1), "users": (8,)}


def test_the_digest_is_of_canonical_bytes_that_can_be_written_by_hand():
    told = {
        "classes": 3,
        "epsilon": 1.0,
        "mechanism": "krr",
        "of": "values",
        "options": {},
        "round": 1,
        "users": np.array([7]),
    }
    plan = Plan(mechanism="krr", epsilon=1, classes=3, users=[7])
    assert plan_digest(plan) == hashlib.sha256(canonical(told)).hexdigest()


def test_a_digest_survives_json():
    for fields in (CLASS, SKETCH):
        plan = Plan(**fields)
        shuffled = dict(reversed(json.loads(plan.to_json()).items()))
        assert plan_digest(Plan.from_json(json.dumps(shuffled, indent=1))) == plan_digest(plan)


@pytest.mark.parametrize(
    "same",
    [
        {"options": {"inputs": 6, "hash_seed": 7, "centre": 0.0}},
        {"options": {"centre": -0.0, "hash_seed": 7, "inputs": 6}},
        {"range": (-0.0, 1.0)},
        {"epsilon": 2},
    ],
)
def test_numbers_that_are_equal_have_the_same_digest_however_they_are_written(same):
    options = {"inputs": 6, "hash_seed": 7, "centre": 0}
    plan = Plan(**SKETCH, options=options)
    assert plan_digest(Plan(**{**SKETCH, "options": options, **same})) == plan_digest(plan)


@together(
    "other",
    [
        {"epsilon": 3.0000000000000004},
        {"users": (0, 4)},
        {"round": 2},
        {"range": (0, 2)},
        {"lists": [[0, 2], [1, 2]]},
        {"offsets": [[0, 0], [0, 0]]},
        {"model": {**MODEL, "bias": [1, 0, 0]}},
        {"model": {**MODEL, "unit": True}},
        {"options": {"classes_named": 1}},
    ],
)
def test_any_change_changes_the_digest(other):
    if "options" in other:
        one, two = Plan(**SKETCH, options={"inputs": 6}), Plan(**SKETCH, options={"inputs": 7})
    else:
        one, two = Plan(**CLASS), Plan(**{**CLASS, **other})
    assert plan_digest(one) != plan_digest(two)


def test_every_field_of_a_plan_is_described():
    fields = set(Plan.model_fields) - {"delta", "sampled", "binary", "levels"}
    assert set(described(Plan(**CLASS, offsets=[[0, 1], [0, 0]]))) == fields
    ppm = Plan(mechanism="gaussian", epsilon=0.5, delta=1e-5, dims=2, range=(0, 1))
    assert {"delta"} <= set(described(ppm))
