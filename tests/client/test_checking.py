"""A device refuses what its owner has not agreed to, each with its reason, and answers the legitimate twin of each."""

from dataclasses import replace

import pytest

from graphveil import Plan
from graphveil.client import Cap, Held
from graphveil.client.agreement import FEW_PEOPLE
from graphveil.client.checking import checked_question
from graphveil.errors import RefusalError
from graphveil.mechanisms import names
from graphveil.mechanisms.registry import entry, register, unregister
from graphveil.privacy import SignedQuestion
from tests.client.support import (
    AGREEMENT,
    HELD,
    NOW,
    OFFER,
    ROW,
    USER,
    asked,
    device_in,
    message_of,
    refusal,
    values,
)

MODEL = {"kind": "linear", "weights": [[3, 0, 0, 1], [0, 2, 0, 0], [1, 0, 5, 0]], "bias": [1, 0, 0]}
WITHOUT_2 = replace(AGREEMENT, excluded=(2,))
BINARY = replace(AGREEMENT, offer=replace(OFFER, binary=True))
LEVELS = replace(AGREEMENT, cap=Cap(1.0, by_level=(1.0, 2.0, 3.0)))
EVERYTHING = replace(AGREEMENT, subjects=("features", "label", "level", "links"))
ALL_HELD = Held(row=ROW, label=2, level=1, neighbours=[1, 3, 5])
ABOVE_ONE = {"kind": "linear", "weights": [[3, 0, 1], [0, 2, 0]], "bias": [1, 0]}


def of_class(**fields):
    told = {
        "mechanism": "krr",
        "epsilon": 1.0,
        "of": "class",
        "dims": 4,
        "range": (0, 1),
        "users": (USER,),
        "classes": 2,
        "model": MODEL,
        "lists": [[0, 1]],
    }
    return Plan(**{**told, **fields})


def ppm(name="ppm", levels=3, **fields):
    return values(mechanism=name, epsilon=1.0, options={"budgets": [1.0, 2.0, 3.0][:levels]}, **fields)


def norm(high, mechanism="laplace", **fields):
    return values(**{"mechanism": mechanism, "of": "norm", "dims": 1, "range": (0, high), **fields})


def sketch(**options):
    return values(mechanism="privunit", epsilon=2.0, dims=2, options={"inputs": 4, **options})


def label(classes):
    return Plan(mechanism="krr", epsilon=1.0, classes=classes, users=(USER,))


def links(users, mechanism="link-rr"):
    return Plan(mechanism=mechanism, epsilon=1.0, dims=users, users=(USER,))


def case(reason, wrong, twin=None, agreement=AGREEMENT):
    """Why something is refused, its legitimate twin, and what was agreed on; plans are asked as the server does."""
    questions = (
        each if isinstance(each, SignedQuestion) else asked(each) for each in (wrong, twin or values())
    )
    return reason, *questions, agreement


def unit(**fields):
    return values(mechanism="privunit", epsilon=2.0, **fields)


def seldom(share):
    return values(sampled=2, options={"pool": [0, 3], "from_pool": share})


def noisy(delta):
    return values(mechanism="gaussian", epsilon=0.5, delta=delta)


ITEMS = Plan(mechanism="item", epsilon=1.0, dims=4, users=(USER,), options={"length": 2})
BY_LENGTH, UNBIASED = {**MODEL, "unit": True}, {**MODEL, "unit": True, "bias": [0, 0, 0]}
CASES = {
    "another key": case("signature", asked(values(), bytes(32))),
    "a changed signature": case("signature", replace(asked(values()), signature=bytes(64))),
    "another collection": case("collection", asked(values(), collection="c1" * 16)),
    "another purpose": case("purpose", asked(values(), purpose="to sell more")),
    "too late": case("expired", asked(values(), expires=NOW), asked(values(), expires=NOW + 1)),
    "nobody": case("users", values(users=())),
    "everybody": case("users", values(users="all")),
    "somebody else": case("users", values(users=(18,))),
    "others too": case("users", values(users=(17, 18))),
    "a foreign question": case("users", asked(values(), user=18)),
    "a curator": case("curator", Plan(mechanism="lapgraph", epsilon=1.0, dims=40), links(40), EVERYTHING),
    "a label": case("subject", label(3)),
    "links": case("subject", links(40)),
    "links of few": case("dims", links(17), links(18), EVERYTHING),
    "links of more than agreed": case("dims", links(FEW_PEOPLE + 1), links(FEW_PEOPLE), EVERYTHING),
    "fewer labels": case("classes", label(2), label(3), EVERYTHING),
    "a shorter row": case("dims", values(dims=3)),
    "a shorter model": case("dims", of_class(dims=3, model=ABOVE_ONE), of_class()),
    "a sketch of more": case("dims", sketch(inputs=5), sketch()),
    "a narrowed range": case("range", values(range=(0, 0.5))),
    "a wider range": case("range", values(range=(0, 2))),
    "a narrowed range of a class": case("range", of_class(range=(0, 0.5)), of_class()),
    "narrowed norms": case("range", norm(1.0), norm(2.0)),
    "norms from above 0": case("range", norm(2.0, range=(0.5, 2.0)), norm(2.0)),
    "a radius": case("range", unit(options={"radius": 0.1}), unit()),
    "a radius of norms": case("range", norm(2.0, "privunit", options={"radius": 0.1}), norm(2.0, "privunit")),
    "norms that are long or short": case("range", norm(2.0, binary=True), norm(2.0)),
    "a sketch of norms": case("dims", norm(2.0, "privunit", options={"inputs": 3}), norm(2.0)),
    "ends alone": case("range", values(binary=True), values(binary=False)),
    "items of what is no set": case("range", ITEMS),
    "other levels": case("levels", ppm(levels=2), ppm(), LEVELS),
    "an excluded value": case(
        "excluded", values(sampled=2), values(sampled=2, options={"pool": [0, 3]}), WITHOUT_2
    ),
    "an excluded value that is hardly ever drawn": case("excluded", seldom(1.999999), seldom(2), WITHOUT_2),
    "a model with an excluded column": case(
        "excluded", of_class(lists=[[1, 2]]), of_class(lists=[[0, 1]]), WITHOUT_2
    ),
    "a model that divides by the length": case(
        "excluded", of_class(model=BY_LENGTH), of_class(model=UNBIASED), WITHOUT_2
    ),
    "a sketch of all": case("excluded", sketch(), of_class(), WITHOUT_2),
    "a norm of all": case("excluded", norm(2.0), of_class(), WITHOUT_2),
    "a false claim": case("claim", ppm("ppm-printed"), ppm("ppm")),
    "more than the cap": case("cap", values(epsilon=4.000001), values(epsilon=4.0)),
    "more delta than the cap": case("cap", noisy(2e-4), noisy(1e-4)),
    "more than a level has": case("cap", values(epsilon=2.5), values(epsilon=2.0), LEVELS),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_at_no_cost_and_its_legitimate_twin_is_answered_and_charged(name, folder):
    reason, wrong, twin, agreement = CASES[name]
    device = device_in(folder, agreement)
    for attempt in (device.look, lambda *given: device.answer(*given, ALL_HELD)):
        assert refusal(attempt, agreement.collection, wrong) == reason
    assert device.spendings()[0].lines == ()
    inquiry = device.look(agreement.collection, twin)
    sealed = device.answer(agreement.collection, twin, ALL_HELD)
    message_of(sealed, inquiry.question.plan).check()
    (line,) = device.spendings()[0].lines
    assert line.digest == inquiry.question.digest and max(line.costs) == inquiry.claim.epsilon
    assert inquiry.exact.epsilon <= inquiry.claim.epsilon


def test_items_of_a_set_are_answered(folder):
    device = device_in(folder, BINARY)
    message_of(device.answer(AGREEMENT.collection, asked(ITEMS), HELD), ITEMS).check()


@pytest.mark.parametrize(
    ("said", "instead", "words"),
    [
        (b'"epsilon":1.0', b'"epsilon":-1.0', "epsilon must be a positive"),
        (b'"multibit"', b'"own.py:mine"', "no mechanism is named 'own.py:mine'"),
    ],
    ids=["no budget", "a mechanism that the device does not know"],
)
def test_a_question_that_is_none_is_refused_as_damaged(said, instead, words):
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from graphveil.privacy.envelope import PREFIX
    from tests.client.support import PRIVATE

    payload = asked(values()).payload.replace(said, instead)
    signature = Ed25519PrivateKey.from_private_bytes(PRIVATE).sign(PREFIX + payload)
    with pytest.raises(RefusalError, match=words) as caught:
        checked_question(SignedQuestion(payload, signature), AGREEMENT, NOW)
    assert caught.value.reason == "damaged"


def test_a_mechanism_whose_tables_say_more_than_its_claim_is_refused(folder):
    def build(epsilon, dims, range):
        told = entry("multibit").build(epsilon=epsilon * 1.5, dims=dims, range=range)
        return replace(told, name="liar", claim=replace(told.claim, epsilon=epsilon))

    register("liar")(build)
    try:
        assert (
            refusal(device_in(folder).look, AGREEMENT.collection, asked(values(mechanism="liar"))) == "claim"
        )
    finally:
        unregister("liar")


@pytest.mark.parametrize("name", [name for name in names("features") if entry(name).sound])
def test_every_sound_mechanism_for_features_is_answered(name, folder):
    """That of items needs values 0 and 1, and some need more settings."""
    options = {"item": {"length": 2}, "ppm": {"budgets": [1.0, 2.0]}}.get(name, {})
    fields = {"mechanism": name, "epsilon": 1.0, "dims": 4, "users": (USER,), "options": options}
    if name in ("gaussian", "analytic-gaussian"):
        fields["delta"] = 1e-5
    plan = Plan(**fields) if name == "item" else Plan(**fields, range=(0, 1))
    device = device_in(folder, BINARY)
    message_of(device.answer(AGREEMENT.collection, asked(plan), HELD), plan).check()
