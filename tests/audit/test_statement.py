"""A privacy statement: who gets what, what it costs in all, what was audited and what was not."""

from __future__ import annotations

import numpy as np
import pytest

from graphveil.audit.examine import Audit, Privacy
from graphveil.audit.statement import CollectionFacts, PrivacyStatement, StatedPlan, compose_privacy
from graphveil.errors import InputError
from graphveil.privacy import Plan

FEATURES = Plan(mechanism="multibit", epsilon=1.0, dims=8, range=(0, 1), sampled=2)
LABELS = Plan(mechanism="krr", epsilon=2.0, classes=4, users=(1, 2))
LINKS = Plan(mechanism="lapgraph", epsilon=1.0, dims=9)
FACTS = CollectionFacts("00", "to <test>", 4.0, 0.0, 10, 20, 5, 9, 3, 1, retention=30)


def audited(plan, leaks=()):
    built = plan.build()
    claim = Privacy(plan.claim.epsilon)
    return Audit(built.name, claim, claim, ["It protects a row."], list(leaks), not_covered=["Timing."])


def stated(*plans, leaks=(), collection=None, **more):
    named = [StatedPlan(f"{place}.json", plan, **more) for place, plan in enumerate(plans)]
    return PrivacyStatement.of(named, lambda plan: audited(plan, leaks), collection)


def test_claims_add_up_over_what_one_person_is_asked():
    assert compose_privacy([StatedPlan("a", FEATURES), StatedPlan("b", LABELS)]).total.epsilon == 3.0


def test_plans_for_different_people_do_not_add_up():
    others = FEATURES.model_copy(update={"users": (3, 4)})
    assert compose_privacy([StatedPlan("a", others), StatedPlan("b", LABELS)]).total.epsilon == 2.0


def test_in_a_collection_those_count_whom_a_round_reached():
    one, other = np.array([0, 1]), np.array([2])
    questions = [StatedPlan("round 1", FEATURES, one, 2), StatedPlan("round 2", FEATURES, other, 1)]
    assert compose_privacy(questions).total.epsilon == 1.0


def test_nothing_to_state_is_refused():
    with pytest.raises(InputError, match="there is no plan to state anything about"):
        compose_privacy([])


def test_every_question_is_a_line_with_recipient_data_and_exact_epsilon():
    (row, other) = stated(FEATURES, LABELS).to_dict()["rows"]
    assert row["recipient"] == "the operator's server" and row["how"] == "reported"
    assert row["data"] == "values of the own row of features, 2 of 8"
    assert (row["ε"], row["of how many"]) == ("1", "all users")
    # Digits for a machine; a reader sees the claim that they meet.
    assert 1 - 2**-38 < float(row["exact ε"]) < 1
    assert (other["data"], other["of how many"]) == ("the own class (label)", "2")


def test_a_curator_gets_raw_data_and_must_be_trusted():
    statement = stated(LINKS)
    assert statement.to_dict()["rows"][0]["how"] == "raw"
    assert "curator who adds the noise must be trusted" in statement.headline


def test_a_collection_names_what_is_known_without_asking():
    statement = stated(FEATURES, collection=FACTS, asked=np.arange(9), answered=7)
    told = {row["data"]: row["of how many"] for row in statement.to_dict()["rows"]}
    assert told["whole rows of volunteers, by consent"] == "3"
    assert told["links between users, taken as public"] == "20 links"
    assert told["labels that the operator knows, taken as public"] == "5"
    assert told["values of the own row of features, 2 of 8"] == "9 asked, 7 answered"


def test_a_claim_that_does_not_hold_is_the_headline():
    statement = stated(FEATURES, leaks=["It leaks."])
    assert not statement.holds and statement.headline == "A claim does not hold: do not collect."


NEIGHBOURS = Plan(mechanism="link-rr", epsilon=1.5, dims=9)


LINK_COST = (
    "link costs ε = 1.5 over both its ends if the server tells everybody the same numbers of people, and at most ε = 3 if it lies about them, "
    "because both ends may answer then."
)


def test_what_a_link_costs_if_the_server_lies_stands_in_the_headline():
    statement = stated(FEATURES, NEIGHBOURS)
    assert statement.headline.endswith(f" A {LINK_COST} Beyond that the server needs no trust.")
    assert statement.to_dict()["privacy"]["links_at_most"]["epsilon"] == 3.0


def test_a_collection_with_links_says_it_too():
    statement = stated(FEATURES, NEIGHBOURS, collection=FACTS, asked=np.arange(9), answered=9)
    assert "at most ε = 3 if it lies about them" in statement.headline
    assert "beyond that the server needs no trust but the volunteers'." in statement.headline


def test_without_links_the_server_needs_no_trust_at_all():
    assert stated(FEATURES).headline.endswith(" The server needs no trust.")


def test_of_links_that_a_curator_publishes_nobody_lies_about_numbers():
    assert "lies" not in stated(LINKS).headline
