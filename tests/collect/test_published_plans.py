"""Answers to a published question as answers to the one that is asked now."""

import numpy as np

from graphveil.channels.sampling import SeededBits
from graphveil.collect.learning import aligned_reports, differences
from graphveil.privacy import Ledger, Plan, answer
from graphveil.privacy.integer_model import integer_model

ROWS = np.eye(6)[:, :4]
FEATURES = Plan(mechanism="multibit", epsilon=1.0, dims=4, range=(0, 1), users=(5, 3, 1))
MODEL, _ = integer_model(np.eye(3, 4), np.zeros(3), (0.0, 1.0))


def class_plan(users, lists):
    return Plan(
        mechanism="krr",
        epsilon=1.0,
        of="class",
        users=users,
        dims=4,
        range=(0, 1),
        classes=2,
        model=MODEL,
        lists=np.array(lists),
    )


def answered(plan):
    return answer(plan, ROWS[list(plan.users)], Ledger(6, 1.0), SeededBits(0))


def test_answers_are_aligned_where_who_is_asked_and_their_lists_are_the_same():
    reports = answered(FEATURES)
    assert aligned_reports(reports, FEATURES, FEATURES.model_copy(update={"round": 2}), 6) is reports
    told = aligned_reports(reports, FEATURES, FEATURES.model_copy(update={"users": (1, 2, 5)}), 6)
    assert told.answered is not None and told.answered.tolist() == [True, False, True]
    assert told.row(0) == reports.row(2)
    assert told.row(1) == reports.row(0)
    published, wanted = class_plan((0, 1), [[0, 1], [1, 2]]), class_plan((1, 0), [[1, 2], [1, 0]])
    reports = answered(published)
    told = aligned_reports(reports, published, wanted, 6)
    assert told.answered is not None and told.answered.tolist() == [True, False]
    assert told.codes.tolist() == [reports.codes[1]]


def test_what_differs_is_named_and_a_graph_that_has_grown_has_silent_users():
    assert (
        differences(FEATURES, FEATURES.model_copy(update={"epsilon": 2.0, "round": 2})) == "epsilon and round"
    )
    everybody = FEATURES.model_copy(update={"users": "all"})
    reports = answer(everybody, ROWS, Ledger(6, 1.0), SeededBits(0))
    told = aligned_reports(reports, everybody, everybody, 8)
    assert told.asked == 8 and told.users == 6
    told.check()
