"""The users of a collection: closed rounds are replayed, the next is published, published questions are frozen."""

import numpy as np
import pytest

from graphveil.collect.learning import (
    BlindedUsers,
    CollectedUsers,
    RoundOpenError,
    StudyTerms,
    answered_features,
    refuse_unanswerable,
)
from graphveil.errors import ClaimError, InputError, PrivacyError
from graphveil.privacy import Ledger, Plan
from tests.collect.stand_in import StandIn

FIRST = Plan(mechanism="multibit", epsilon=1.0, dims=64, range=(0, 1))
SECOND = FIRST.model_copy(update={"round": 2})
LABELS = Plan(mechanism="krr", epsilon=1.0, classes=4, users=(1, 2, 3))


@pytest.fixture
def town():
    return StandIn(users=40)


def users_of(collection, ledger=None, **more):
    ledger = ledger or Ledger(40, np.full(40, 8.0))
    ahead = more.pop("ahead", ())
    return CollectedUsers(collection, ledger, StudyTerms(**{"study": "base", "expires": 100, **more}), ahead)


def published(collection, *plans):
    """The same plans asked one after the other, until all are answered."""
    for plan in plans:
        with pytest.raises(RoundOpenError):
            users = users_of(collection)
            for each in plans[: plans.index(plan) + 1]:
                users.report(each)
        collection.everybody_answers()


def test_a_new_question_is_published_once_and_waited_for(town):
    said = {"Round 1 is published: it asks 36 users": True, "is open: 0 of 36 users have answered": False}
    for sentence, published in said.items():
        with pytest.raises(RoundOpenError, match=sentence) as stopped:
            users_of(town).report(FIRST)
        assert stopped.value.published == published
    assert [each.plan for each in town.rounds()] == [FIRST]


def test_a_closed_round_is_replayed_and_charged_to_those_it_asked(town):
    published(town, FIRST)
    ledger = Ledger(40, np.full(40, 8.0))
    users = users_of(town, ledger)
    reports = users.report(FIRST)
    assert reports == town.reports(1)
    assert np.flatnonzero(ledger.spent).tolist() == town.rounds()[0].asked.tolist()
    assert set(ledger.spent.tolist()) == {0.0, 1.0}
    assert [each.round.number for each in users.replayed] == [1]
    # The same question again has the same answers and costs nothing, and so it is for other studies.
    assert users.report(FIRST) == reports and ledger.total().epsilon == 1.0
    assert users_of(town, study="other").report(FIRST) == reports


def test_another_question_in_the_place_of_a_published_one_is_refused(town):
    published(town, FIRST)
    other = FIRST.model_copy(update={"epsilon": 2.0})
    with pytest.raises(InputError, match=r"round 1 of base is published and frozen.*\(epsilon differ\)"):
        users_of(town).report(other)
    with pytest.raises(InputError, match="round 1 was published with another epsilon"):
        users_of(town, as_published=True).report(other)


def test_an_open_round_is_frozen_too(town):
    with pytest.raises(RoundOpenError):
        users_of(town).report(FIRST)
    with pytest.raises(InputError, match="frozen"):
        users_of(town).report(SECOND)


def test_as_published_goes_on_with_the_frozen_question(town):
    pool = FIRST.model_copy(update={"options": {"pool": [0, 1], "from_pool": 0.5}, "round": 2})
    published(town, FIRST, pool)
    wanted = FIRST.model_copy(update={"options": {"pool": [2, 3], "from_pool": 0.5}, "round": 2})
    users = users_of(town, as_published=True)
    users.report(FIRST)
    assert users.report(wanted) == town.reports(2)


def test_what_is_asked_anyway_is_published_together(town):
    with pytest.raises(RoundOpenError, match="Round 1 .*label.* Round 2 .*features"):
        users_of(town, ahead=(LABELS, FIRST)).report(LABELS)
    town.everybody_answers()
    users = users_of(town, ahead=(LABELS, FIRST))
    assert users.report(LABELS).users == 3
    assert users.report(FIRST) == town.reports(2)


def test_a_question_that_is_not_settled_comes_alone(town):
    with pytest.raises(RoundOpenError):
        users_of(town, ahead=(LABELS,)).report(FIRST)
    assert len(town.rounds()) == 1


def test_what_no_device_answers_is_never_published():
    with pytest.raises(PrivacyError, match="no device answers"):
        refuse_unanswerable(Plan(mechanism="lapgraph", epsilon=1.0, dims=9))
    with pytest.raises(ClaimError, match="no device answers"):
        refuse_unanswerable(
            Plan(mechanism="ppm-printed", epsilon=1.0, dims=9, range=(0, 1), options={"budgets": [1.0, 2.0]})
        )
    with pytest.raises(InputError, match="a collection asks for no levels"):
        refuse_unanswerable(Plan(mechanism="esw", epsilon=1.0, levels=3))


@pytest.mark.parametrize("mechanism", ["link-rr", "dprr", "blink"])
def test_links_can_be_asked_for(mechanism):
    refuse_unanswerable(Plan(mechanism=mechanism, epsilon=1.0, dims=9))


# The control: blinded reports of exactly those who answered, drawn by the server


HALF = FIRST.model_copy(update={"round": 2, "users": tuple(range(20))})


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


def test_blinded_reports_are_there_for_those_who_answered_and_drawn_from_a_seed(replayed):
    users = BlindedUsers(replayed, 40, 0)
    for place, plan in enumerate((FIRST, HALF), 1):
        drawn = users.report(plan)
        assert drawn.places.tolist() == replayed[place].reports.places.tolist()
        assert drawn.mechanism.fingerprint == plan.build().blind().fingerprint
        drawn.check()
    one, same, other = (BlindedUsers(replayed, 40, seed).report(FIRST) for seed in (0, 0, 1))
    assert one == same and one != other


def test_users_whom_the_round_did_not_ask_answer_if_they_ever_did_and_labels_are_those_that_arrived(replayed):
    users = BlindedUsers(replayed, 40, 0)
    users.report(FIRST)
    others = users.report(HALF.model_copy(update={"users": tuple(range(20, 40))}))
    assert others.places.tolist() == np.flatnonzero(answered_features(replayed, 40)[20:]).tolist()
    assert BlindedUsers(replayed, 40, 0).report(LABELS) == replayed[0].reports
    with pytest.raises(InputError, match="must ask alike"):
        BlindedUsers(replayed, 40, 0).report(LABELS.model_copy(update={"users": (4,)}))
