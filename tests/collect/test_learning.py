"""The users of a collection: closed rounds are replayed, the next is published, published questions are frozen."""

from __future__ import annotations

import numpy as np
import pytest

from graphveil.collect.learning import CollectedUsers, RoundOpenError, StudyTerms, refuse_unanswerable
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


def test_a_new_question_is_published_and_the_method_stops(town):
    with pytest.raises(RoundOpenError, match="Round 1 is published: it asks 36 users") as stopped:
        users_of(town).report(FIRST)
    assert stopped.value.published
    assert [each.plan for each in town.rounds()] == [FIRST]


def test_an_open_round_is_waited_for_and_not_published_again(town):
    for sentence in ("published", "is open: 0 of 36 users have answered"):
        with pytest.raises(RoundOpenError, match=sentence):
            users_of(town).report(FIRST)
    assert len(town.rounds()) == 1


def test_a_closed_round_is_replayed_and_charged_to_those_it_asked(town):
    published(town, FIRST)
    ledger = Ledger(40, np.full(40, 8.0))
    users = users_of(town, ledger)
    reports = users.report(FIRST)
    assert reports == town.reports(1)
    assert np.flatnonzero(ledger.spent).tolist() == town.rounds()[0].asked.tolist()
    assert set(ledger.spent.tolist()) == {0.0, 1.0}
    assert [each.round.number for each in users.replayed] == [1]


def test_the_same_question_twice_has_the_same_answers_and_costs_once(town):
    published(town, FIRST)
    ledger = Ledger(40, np.full(40, 8.0))
    users = users_of(town, ledger)
    assert users.report(FIRST) == users.report(FIRST)
    assert ledger.total().epsilon == 1.0


def test_another_study_that_asks_the_same_has_the_answers_that_are_there(town):
    published(town, FIRST)
    assert users_of(town, study="other").report(FIRST) == town.reports(1)


def test_another_question_in_the_place_of_a_published_one_is_refused(town):
    published(town, FIRST)
    other = FIRST.model_copy(update={"epsilon": 2.0})
    with pytest.raises(InputError, match=r"round 1 of base is published and frozen.*\(epsilon differ\)"):
        users_of(town).report(other)


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


def test_as_published_refuses_answers_of_another_kind(town):
    published(town, FIRST)
    with pytest.raises(InputError, match="round 1 was published with another epsilon"):
        users_of(town, as_published=True).report(FIRST.model_copy(update={"epsilon": 2.0}))


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


def test_a_question_that_only_a_curator_answers_is_never_published():
    with pytest.raises(PrivacyError, match="no device answers"):
        refuse_unanswerable(Plan(mechanism="lapgraph", epsilon=1.0, dims=9))


def test_a_mechanism_that_does_not_hold_is_never_published():
    with pytest.raises(ClaimError, match="no device answers"):
        refuse_unanswerable(
            Plan(mechanism="ppm-printed", epsilon=1.0, dims=9, range=(0, 1), options={"budgets": [1.0, 2.0]})
        )


def test_what_a_collection_does_not_ask_for_is_never_published():
    with pytest.raises(InputError, match="a collection asks for no levels"):
        refuse_unanswerable(Plan(mechanism="esw", epsilon=1.0, levels=3))


@pytest.mark.parametrize("mechanism", ["link-rr", "dprr", "blink"])
def test_links_can_be_asked_for(mechanism):
    refuse_unanswerable(Plan(mechanism=mechanism, epsilon=1.0, dims=9))
