"""The control: blinded reports of exactly those who answered, drawn by the server."""

from __future__ import annotations

import numpy as np
import pytest

from graphveil.collect.learning import (
    BlindedUsers,
    CollectedUsers,
    RoundOpenError,
    StudyTerms,
    answered_features,
)
from graphveil.errors import InputError
from graphveil.privacy import Ledger, Plan
from tests.collect.stand_in import StandIn

FIRST = Plan(mechanism="multibit", epsilon=1.0, dims=64, range=(0, 1))
HALF = FIRST.model_copy(update={"round": 2, "users": tuple(range(20))})
LABELS = Plan(mechanism="krr", epsilon=1.0, classes=4, users=(1, 2, 3))


@pytest.fixture(scope="module")
def replayed():
    town = StandIn(users=40)
    while True:
        users = CollectedUsers(town, Ledger(40, np.full(40, 8.0)), StudyTerms("", 0))
        try:
            for plan in (LABELS, FIRST, HALF):
                users.report(plan)
            return users.replayed
        except RoundOpenError:
            town.everybody_answers()


def test_blinded_reports_are_there_for_those_who_answered_that_round(replayed):
    users = BlindedUsers(replayed, 40, 0)
    for place, plan in enumerate((FIRST, HALF), 1):
        drawn = users.report(plan)
        assert drawn.places.tolist() == replayed[place].reports.places.tolist()
        assert drawn.mechanism.fingerprint == plan.build().blind().fingerprint
        drawn.check()


def test_users_whom_the_round_did_not_ask_answer_if_they_ever_did(replayed):
    users = BlindedUsers(replayed, 40, 0)
    users.report(FIRST)
    others = users.report(HALF.model_copy(update={"users": tuple(range(20, 40))}))
    assert others.places.tolist() == np.flatnonzero(answered_features(replayed, 40)[20:]).tolist()


def test_labels_are_those_that_arrived(replayed):
    assert BlindedUsers(replayed, 40, 0).report(LABELS) == replayed[0].reports


def test_labels_that_nobody_was_asked_for_are_refused(replayed):
    with pytest.raises(InputError, match="must ask alike"):
        BlindedUsers(replayed, 40, 0).report(LABELS.model_copy(update={"users": (4,)}))


def test_the_server_draws_from_its_seed(replayed):
    one, same, other = (BlindedUsers(replayed, 40, seed).report(FIRST) for seed in (0, 0, 1))
    assert one == same and one != other
