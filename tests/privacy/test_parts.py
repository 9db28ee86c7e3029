"""Reports of parts of a plan, put together: in the plan's order, each by whom it was asked of, and nobody twice."""

import numpy as np
import pytest

from graphveil import InputError, Ledger, MessageError, Plan, Reports, SeededBits, answer
from graphveil.privacy import join_parts
from tests.people import CLASS
from tests.together import together

ROWS = np.random.default_rng(1).random((5, 3))
PLAN = Plan(
    **{**CLASS, "epsilon": 3.0, "users": (4, 0, 3, 1), "lists": [*CLASS["lists"], [2, 1]], "offsets": None}
)


def reported(part, seed=0):
    return answer(part, ROWS[list(part.users)], Ledger(5, 3.0), SeededBits(seed))


def over_the_wire(part, seed):
    """A device reads its plan and sends bytes, which the server reads by the part that it has sent."""
    device = Plan.from_json(part.to_json())
    return part, Reports.from_bytes(reported(device, seed).to_bytes(), part.build())


def test_devices_answer_one_by_one_and_their_reports_are_put_together():
    parts = [over_the_wire(part, seed) for seed, part in enumerate(PLAN.parts())]
    whole = join_parts(PLAN, [parts[2], parts[0], parts[3], parts[1]])
    assert whole.codes.tolist() == [int(reports.codes[0]) for _, reports in parts]
    assert whole.mechanism is PLAN.build() and whole.answered is None
    whole.check()


def test_whoever_is_missing_is_silent_and_dimensions_are_kept():
    some, alone = PLAN.part([3, 4]), PLAN.part([1])
    whole = join_parts(PLAN, [(some, reported(some, 1)), (alone, reported(alone, 2))])
    assert whole.answered.tolist() == [True, False, True, True]
    assert whole.codes.tolist() == [*reported(some, 1).codes.tolist()[::-1], int(reported(alone, 2).codes[0])]
    assert whole.estimate().shape == (4, 2)
    plan = Plan(mechanism="multibit", epsilon=1.0, dims=3, range=(0, 1), sampled=2, users=(2, 0))
    first, second = plan.part([0]), plan.part([2])
    whole = join_parts(plan, [(first, reported(first, 1)), (second, reported(second, 2))])
    assert Reports.join([reported(second, 2), reported(first, 1)]) == whole


@together(
    ("change", "words"),
    [
        ({"epsilon": 2.0}, "a part asks something else than the whole plan"),
        ({"model": {**CLASS["model"], "bias": [1, 0, 0]}}, "a part asks something else than the whole plan"),
        ({"lists": [[0, 2]]}, "a part has other lists than the whole plan has for its users"),
        ({"offsets": [[0, 2]]}, "a part has other offsets than the whole plan has for its users"),
        ({"users": (2,)}, "a part asks users whom the whole plan does not ask"),
    ],
)
def test_a_part_asks_what_the_whole_asks(change, words):
    other = PLAN.part([4]).model_copy(update=change)
    with pytest.raises(InputError, match=words):
        join_parts(PLAN, [(other, reported(other))])


def test_reports_must_answer_the_part_that_they_come_with_and_nobody_answers_twice():
    one, other = PLAN.part([4]), PLAN.part([0])
    with pytest.raises(MessageError, match="do not answer the part"):
        join_parts(PLAN, [(one, reported(other))])
    with pytest.raises(InputError, match="at least one part"):
        join_parts(PLAN, [])
    with pytest.raises(InputError, match="this one asks 'all'"):
        join_parts(Plan(mechanism="krr", epsilon=1.0, classes=2), [])
    part = PLAN.part([3])
    with pytest.raises(MessageError, match="a user has answered two parts"):
        join_parts(PLAN, [(part, reported(part)), (PLAN.part([1, 3]), reported(PLAN.part([1, 3])))])
