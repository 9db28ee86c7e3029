"""Users who are overheard answer as they would anyway."""

import pytest

import graphveil as gv
from graphveil.errors import BudgetError
from graphveil.privacy.answering import Recorder

PLAN = gv.Plan(mechanism="multibit", epsilon=1.0, dims=64, range=(0, 1))
LABELS = gv.Plan(mechanism="krr", epsilon=1.0, classes=4)
NORMS = gv.Plan(mechanism="piecewise", epsilon=1.0, of="norm", dims=1, range=(0, 8))


def test_listening_changes_no_answer_and_no_budget():
    _, users = gv.load("town", seed=0)
    plain, listening = users.declare(3.0, seed=3), Recorder(users.declare(3.0, seed=3))
    assert listening.report(PLAN) == plain.report(PLAN)
    listening.report(LABELS)
    listening.report(NORMS)
    assert [plan.subject for plan, _ in listening.heard] == ["features", "label", "features"]
    assert listening.answers == [reports for _, reports in listening.heard]
    with pytest.raises(BudgetError):
        listening.report(PLAN)
    assert len(listening.heard) == 3
