"""What is recorded of budgets, how it is told, and what a report may draw of private links."""

from functools import partial
from types import SimpleNamespace

import pytest

from graphveil import Ledger, Plan
from graphveil.experiments.energy import experiment_of
from graphveil.experiments.experiment import Experiment
from graphveil.privacy.record import (
    Cost,
    PanelGiven,
    Privacy,
    Round,
    artefact_statement,
    number,
    privacy_record,
)
from tests.people import class_plan


def cost(epsilon, **more):
    return Cost(epsilon=epsilon, **more)


def asked(epsilon, number=1):
    return Round(subject="features", round=number, mechanism="piecewise", users=9, epsilon=epsilon)


def test_budgets_of_links_norms_and_rounds_are_told_apart():
    said = Privacy(features=cost(1.0), labels=cost(2.0), links=cost(8.0), total=cost(3.0)).sentence
    assert "features at ε = 1 and labels at ε = 2, in all ε = 3" in said
    assert "every link costs ε = 8" in said and "11" not in said
    # What norms cost is told with who reported them.
    said = Privacy(features=cost(3.0, norm=1.0), total=cost(3.0)).sentence
    whose = "1 of it for norms (norms of training and validation users)"
    assert said.startswith(f"Users reported features at ε = 3, {whose}")
    # Rounds can be seen.
    said = Privacy(features=cost(4.0), total=cost(4.0), rounds=[asked(1.0), asked(3.0, 2)]).sentence
    assert "features at ε = 4 in 2 rounds (1, 3)" in said


def test_energies_of_private_links_are_not_drawn():
    about = {"method": "solitude", "data": "town", "epsilon": 1.0, "mechanism": "multibit", "seed": 0}
    privacy = SimpleNamespace(links=None)
    record = SimpleNamespace(**about, experiment=Experiment("solitude", "town"), privacy=privacy)
    assert experiment_of(record) is not None
    record.privacy.links = cost(4.0)
    assert experiment_of(record) is None


def test_where_some_were_not_asked_nobody_says_every_user():
    everybody, some = (Privacy(features=cost(1.0), total=cost(1.0), partial=each) for each in (False, True))
    assert everybody.sentence.startswith("Every user reported") and some.sentence.startswith("Users reported")
    for asked_besides, who in (
        (0, "everybody else reported"),
        (2, "users reported"),
        (3, "every user reported"),
    ):
        panel = PanelGiven(users=3, asked=asked_besides)
        told = Privacy(features=cost(1.0), total=cost(1.0), panel=panel)
        assert f"; {who}" in told.sentence
    assert "partial" not in everybody.to_dict() and some.to_dict()["partial"]


def test_a_method_that_reads_raw_features_claims_nothing():
    privacy = Privacy(labels=cost(1.0), raw=["features"], trust="none")
    assert privacy.sentence.startswith("Everybody's raw features were read: this claims no privacy.")
    assert "Besides, users reported labels at ε = 1" in privacy.sentence
    assert "no trust" not in privacy.sentence
    assert privacy.cell == "none: features are read"


def test_a_mechanism_that_does_not_keep_its_claim_is_not_said_to_need_no_trust():
    privacy = Privacy(features=cost(8.0, per_level=[1.0, 8.0]), level=cost(None), sound=False)
    assert "not protected at all" in privacy.sentence and "no trust" not in privacy.sentence
    assert "does not keep what it claims" in privacy.sentence


FEATURES = Plan(mechanism="onebit", epsilon=1.0, dims=3, range=(0, 1))
LINKS = Plan(mechanism="link-rr", epsilon=1.0, dims=2)
CURATED = Plan(mechanism="lapgraph", epsilon=1.0, dims=2)


def recorded(*plans, raw=(), users=2, **more):
    ledger = Ledger(users, 9.0)
    for plan in plans:
        ledger.charge(plan)
    return privacy_record(ledger, raw, **more)


def test_one_plan_of_a_curator_s_makes_all_rest_on_trust():
    told = recorded(FEATURES, CURATED)
    assert told.trust == "curator" and told.cell == "features ε = 1, a link ε = 1; curator"
    assert told.sentence.endswith("; the curator who adds the noise must be trusted.")
    told = recorded(FEATURES, LINKS)
    assert told.trust == "local" and "the server needs no trust" in told.sentence
    # Where raw features are read a curator is no help.
    assert recorded(CURATED, raw=["features"]).trust == "none"


# Noise of floating-point numbers

IDEAL = Plan(mechanism="privunit", epsilon=1.0, dims=3, range=(0, 1))
SKETCHED = Plan(mechanism="privunit", epsilon=1.0, dims=2, range=(0, 1), options={"inputs": 3})
BOUND = " ε of privunit is the bound of the ideal mechanism: its noise is made of floating-point numbers."


@pytest.mark.parametrize("plan", [IDEAL, SKETCHED], ids=["row", "sketch"])
def test_where_noise_is_of_floats_epsilon_is_said_to_be_the_ideal_mechanism_s(plan):
    told = recorded(plan)
    assert told.ideal == ["privunit"]
    assert told.sentence.endswith(f"the server needs no trust.{BOUND}")


def test_it_is_said_once_and_wherever_it_matters():
    assert recorded(IDEAL, FEATURES, IDEAL.model_copy(update={"round": 2})).sentence.count(BOUND) == 1
    assert recorded(FEATURES, IDEAL).to_dict()["ideal"] == ["privunit"]
    assert BOUND in artefact_statement(recorded(IDEAL), 0, ["the graph"])
    two = Privacy(features=cost(1.0), total=cost(1.0), ideal=["privunit", "mine"]).sentence
    assert two.endswith(
        " ε of privunit and mine is the bound of the ideal mechanisms: their noise is made of floating-point numbers."
    )
    # Finite mechanisms have nothing ideal about them, and where raw features are read no bound is told.
    told = recorded(FEATURES, LINKS)
    assert told.ideal == [] and "ideal" not in told.sentence and "ideal" not in told.to_dict()
    assert "ideal" not in recorded(IDEAL, raw=["features"]).sentence


@pytest.mark.parametrize(
    "privacy",
    [
        Privacy(),
        recorded(FEATURES, LINKS, devices=True),
        Privacy(features=cost(1.0), ideal=["privunit"]),
        Privacy(features=cost(8.0, per_level=[2.0, 8.0]), level=cost(None), rounds=[asked(8.0)]),
        Privacy(labels=cost(1.0), raw=["features"], trust="none"),
    ],
)
def test_a_record_survives_json(privacy):
    assert Privacy.model_validate(privacy.to_dict()) == privacy


# The class that a public model gives


charged = partial(recorded, users=9)


def values(epsilon, **more):
    return Plan(mechanism="multibit", epsilon=epsilon, dims=2, range=(0, 1), **more)


def test_classes_of_different_users_cost_what_one_of_them_spends_and_are_told_as_such():
    privacy = charged(class_plan((0, 1), epsilon=2.0), class_plan((2, 3, 4), epsilon=2.0, classes=3))
    assert (privacy.features.epsilon, privacy.total.epsilon, privacy.labels) == (2.0, 2.0, None)
    assert privacy.sentence == (
        "Users reported the class that a public model gives to the own row at ε = 2; the server needs no trust."
    )
    asked = [(one["of"], one["users"], one["subject"]) for one in privacy.to_dict()["rounds"]]
    assert asked == [("class", 2, "features"), ("class", 3, "features")]
    assert privacy.cell == "features ε = 2; local"


def test_values_of_some_users_and_classes_of_others_are_alternatives_and_of_the_same_add_up():
    class_of = "the class that a public model gives to the own row"
    privacy = charged(values(2.0, users=(0, 1)), class_plan((2, 3), epsilon=2.0))
    assert privacy.sentence.startswith(f"Users reported features or {class_of} at ε = 2;")
    privacy = charged(values(1.0), class_plan((2, 3), epsilon=2.0))
    assert privacy.features.epsilon == privacy.total.epsilon == 3.0
    assert f"features and {class_of} at ε = 3" in privacy.sentence


def test_rounds_of_different_users_are_no_rounds_of_anybody():
    apart = charged(values(2.0, users=(0, 1)), values(2.0, users=(2, 3)))
    assert apart.features.epsilon == 2.0 and "rounds" not in apart.sentence
    together = charged(values(2.0), values(1.0, round=2))
    assert "features at ε = 3 in 2 rounds (2, 1)" in together.sentence


# Links that devices answer about, by numbers of a server

BOTH_ENDS = Plan(mechanism="blink", epsilon=1.0, dims=2, options={"ends": "both"})


def test_where_devices_answer_it_is_said_what_a_link_costs_if_the_server_lies():
    told = recorded(FEATURES, LINKS, devices=True)
    assert told.links.epsilon == 1.0 and told.links_at_most.epsilon == 2.0
    assert told.sentence == (
        "Every user reported features at ε = 1; every link costs ε = 1 over both its ends if the server tells everybody the same numbers "
        "of people, and at most ε = 2 if it lies about them, because both ends may answer then; beyond that the server needs no trust."
    )
    assert told.cell == "features ε = 1, a link ε = 1 (ε = 2 if the server lies about numbers); local"
    assert told.to_dict()["links_at_most"] == {"epsilon": 2.0, "delta": 0.0}
    # Of several questions about links both ends may answer each.
    other = LINKS.model_copy(update={"round": 2, "epsilon": 3.0})
    assert recorded(LINKS, other, devices=True).links_at_most.epsilon == 8.0
    assert recorded(LINKS, BOTH_ENDS, devices=True).links_at_most.epsilon == 3.0


@pytest.mark.parametrize(
    ("plans", "devices"),
    [((FEATURES, LINKS), False), ((FEATURES,), True), ((FEATURES, BOTH_ENDS), True), ((CURATED,), True)],
)
def test_where_lies_change_nothing_nothing_is_said_of_them(plans, devices):
    told = recorded(*plans, devices=devices)
    assert told.links_at_most is None and "links_at_most" not in told.to_dict()
    assert "lies" not in told.sentence + told.cell


def test_volunteers_are_named_beside_a_server_that_may_lie():
    told = Privacy(links=cost(1.0), links_at_most=cost(2.0), panel={"users": 3})
    assert told.sentence.endswith("; beyond that the server needs no trust but the volunteers'.")


def test_a_cost_in_words_is_never_below_what_was_spent():
    words = {
        "ε = 1": cost(1.0),
        "ε = infinite": cost(None),
        "ε = 1, δ = 1e-06": cost(1.0, delta=1e-6),
        "ε = 2 or 4 by level": cost(4.0, per_level=[2.0, 4.0]),
        "ε = 3, 1 of it for norms": cost(3.0, norm=1.0),
    }
    assert [each.words for each in words.values()] == list(words)
    assert [number(each) for each in (1.0, 1.0000001, 0.1234561)] == ["1", "1.00001", "0.123457"]
    assert PanelGiven(users=1).words.startswith("1 volunteer gave")
    assert PanelGiven(users=2).words.startswith("2 volunteers gave")
