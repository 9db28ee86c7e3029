"""An attribute out of reach changes no answer, whatever it is; one in reach may."""

import numpy as np
import pytest

from graphveil import Plan
from graphveil.privacy import attributes_in_reach
from tests.together import together

ROWS = {"mechanism": "multibit", "epsilon": 1.0, "dims": 4, "range": (0, 1), "users": (0,)}
LINEAR = {"kind": "linear", "weights": [[3, 0, 0, 1], [0, 2, 0, 0], [1, 0, 5, 0]], "bias": [1, 0, 0]}
HIDDEN = {
    "kind": "hidden",
    "first": [[3, 0, 0, 0], [0, 2, 0, 0], [0, 0, 5, 0]],
    "first_bias": [0, 0, 7],
    "second": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "bias": [0, 0, 0],
}


def of_class(model, lists, **fields):
    asked = {"mechanism": "krr", "epsilon": 1.0, "of": "class", "dims": 4, "range": (0, 1), "users": (0,)}
    return Plan(**asked, classes=len(lists), model=model, lists=[lists], **fields)


PLANS = [
    (Plan(**ROWS, sampled=1), [1, 1, 1, 1]),
    (Plan(**ROWS, sampled=2, options={"pool": [1, 3]}), [0, 1, 0, 1]),
    (Plan(**ROWS, sampled=2, options={"pool": [1, 3], "from_pool": 0}), [1, 0, 1, 0]),
    (Plan(**ROWS, sampled=2, options={"pool": [1, 3], "from_pool": 1.9}), [1, 1, 1, 1]),
    (of_class(LINEAR, [0, 1]), [1, 1, 0, 1]),
    (of_class(LINEAR, [1, 2]), [1, 1, 1, 0]),
    (of_class({**LINEAR, "unit": True}, [1, 2]), [1, 1, 1, 0]),
    (of_class({**LINEAR, "unit": True}, [0, 1]), [1, 1, 1, 1]),
    (of_class({**LINEAR, "unit": True}, [1, 2], offsets=[[9, 0]]), [1, 1, 1, 1]),
    (of_class(HIDDEN, [0, 1]), [1, 1, 0, 0]),
    (of_class({**HIDDEN, "unit": True}, [0, 1]), [1, 1, 0, 0]),
    (of_class({**HIDDEN, "unit": True}, [1, 2]), [1, 1, 1, 1]),
]


@together(("plan", "reached"), PLANS)
def test_these_attributes_are_in_reach(plan, reached):
    assert attributes_in_reach(plan, 4).tolist() == [bool(each) for each in reached]


@together(("plan", "reached"), PLANS)
def test_what_is_out_of_reach_changes_the_chance_of_no_report(plan, reached):
    mechanism, source = plan.build(), np.random.default_rng(1)
    for place in np.flatnonzero(~attributes_in_reach(plan, 4)):
        for row in source.integers(0, 2, (8, 4)).astype(float):
            other = row.copy()
            other[place] = 1 - row[place]
            assert (mechanism.joint_counts(row)[0] == mechanism.joint_counts(other)[0]).all()


@pytest.mark.parametrize("plan", [PLANS[0][0], PLANS[2][0], PLANS[5][0], PLANS[9][0], PLANS[10][0]])
def test_what_is_in_reach_changes_the_chance_of_some_report(plan):
    mechanism = plan.build()
    corners = np.array(list(np.ndindex(2, 2, 2, 2)), dtype=float)
    for place in np.flatnonzero(attributes_in_reach(plan, 4)):
        others = corners.copy()
        others[:, place] = 1 - others[:, place]
        assert any(
            (mechanism.joint_counts(row)[0] != mechanism.joint_counts(other)[0]).any()
            for row, other in zip(corners, others, strict=True)
        )


def test_norms_sketches_and_items_reach_everything_labels_levels_and_links_nothing():
    for everything, plan in (
        (True, Plan(mechanism="laplace", epsilon=1.0, of="norm", dims=1, range=(0, 2))),
        (True, Plan(mechanism="privunit", epsilon=2.0, dims=2, range=(0, 1), options={"inputs": 4})),
        (True, Plan(mechanism="item", epsilon=1.0, dims=4, options={"length": 2})),
        (False, Plan(mechanism="krr", epsilon=1.0, classes=3)),
        (False, Plan(mechanism="esw", epsilon=1.0, levels=3)),
        (False, Plan(mechanism="link-rr", epsilon=1.0, dims=9)),
    ):
        assert attributes_in_reach(plan, 4).tolist() == [everything] * 4, plan
    # So does a plan of other dimensions than agreed.
    assert attributes_in_reach(PLANS[2][0], 5).all()
