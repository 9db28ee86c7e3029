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
    return values(mechanism=mechanism, of="norm", dims=1, range=(0, high), **fields)


def sketch(**options):
    return values(mechanism="privunit", epsilon=2.0, dims=2, options={"inputs": 4, **options})


def label(classes):
    return Plan(mechanism="krr", epsilon=1.0, classes=classes, users=(USER,))


def links(users, mechanism="link-rr"):
    return Plan(mechanism=mechanism, epsilon=1.0, dims=users, users=(USER,))


# reason, what is refused, its legitimate twin, the agreement
CASES = {
    "another key": ("signature", asked(values(), bytes(32)), asked(values()), AGREEMENT),
    "a changed signature": (
        "signature",
        replace(asked(values()), signature=bytes(64)),
        asked(values()),
        AGREEMENT,
    ),
    "another collection": (
        "collection",
        asked(values(), collection="c1" * 16),
        asked(values()),
        AGREEMENT,
    ),
    "another purpose": ("purpose", asked(values(), purpose="to sell more"), asked(values()), AGREEMENT),
    "too late": ("expired", asked(values(), expires=NOW), asked(values(), expires=NOW + 1), AGREEMENT),
    "nobody": ("users", asked(values(users=())), asked(values()), AGREEMENT),
    "everybody": ("users", asked(values(users="all")), asked(values()), AGREEMENT),
    "somebody else": ("users", asked(values(users=(18,))), asked(values()), AGREEMENT),
    "others too": ("users", asked(values(users=(17, 18))), asked(values()), AGREEMENT),
    "a foreign question": ("users", asked(values(), user=18), asked(values()), AGREEMENT),
    "a curator": (
        "curator",
        asked(Plan(mechanism="lapgraph", epsilon=1.0, dims=40)),
        asked(links(40)),
        EVERYTHING,
    ),
    "a label": ("subject", asked(label(3)), asked(values()), AGREEMENT),
    "links": ("subject", asked(links(40)), asked(values()), AGREEMENT),
    "links of few": ("dims", asked(links(17)), asked(links(18)), EVERYTHING),
    "links of more than agreed": (
        "dims",
        asked(links(FEW_PEOPLE + 1)),
        asked(links(FEW_PEOPLE)),
        EVERYTHING,
    ),
    "fewer labels": ("classes", asked(label(2)), asked(label(3)), EVERYTHING),
    "a shorter row": ("dims", asked(values(dims=3)), asked(values()), AGREEMENT),
    "a shorter model": (
        "dims",
        asked(of_class(dims=3, model=ABOVE_ONE)),
        asked(of_class()),
        AGREEMENT,
    ),
    "a sketch of more": ("dims", asked(sketch(inputs=5)), asked(sketch()), AGREEMENT),
    "a narrowed range": ("range", asked(values(range=(0, 0.5))), asked(values()), AGREEMENT),
    "a wider range": ("range", asked(values(range=(0, 2))), asked(values()), AGREEMENT),
    "a narrowed range of a class": ("range", asked(of_class(range=(0, 0.5))), asked(of_class()), AGREEMENT),
    "narrowed norms": ("range", asked(norm(1.0)), asked(norm(2.0)), AGREEMENT),
    "norms from above 0": (
        "range",
        asked(values(mechanism="laplace", of="norm", dims=1, range=(0.5, 2.0))),
        asked(norm(2.0)),
        AGREEMENT,
    ),
    "a radius": (
        "range",
        asked(values(mechanism="privunit", epsilon=2.0, options={"radius": 0.1})),
        asked(values(mechanism="privunit", epsilon=2.0)),
        AGREEMENT,
    ),
    "a radius of norms": (
        "range",
        asked(norm(2.0, "privunit", options={"radius": 0.1})),
        asked(norm(2.0, "privunit")),
        AGREEMENT,
    ),
    "norms that are long or short": ("range", asked(norm(2.0, binary=True)), asked(norm(2.0)), AGREEMENT),
    "a sketch of norms": (
        "dims",
        asked(norm(2.0, "privunit", options={"inputs": 3})),
        asked(norm(2.0)),
        AGREEMENT,
    ),
    "ends alone": ("range", asked(values(binary=True)), asked(values(binary=False)), AGREEMENT),
    "items of what is no set": (
        "range",
        asked(Plan(mechanism="item", epsilon=1.0, dims=4, users=(USER,), options={"length": 2})),
        asked(values()),
        AGREEMENT,
    ),
    "other levels": ("levels", asked(ppm(levels=2)), asked(ppm()), LEVELS),
    "an excluded value": (
        "excluded",
        asked(values(sampled=2)),
        asked(values(sampled=2, options={"pool": [0, 3]})),
        WITHOUT_2,
    ),
    "an excluded value that is hardly ever drawn": (
        "excluded",
        asked(values(sampled=2, options={"pool": [0, 3], "from_pool": 1.999999})),
        asked(values(sampled=2, options={"pool": [0, 3], "from_pool": 2})),
        WITHOUT_2,
    ),
    "a model with an excluded column": (
        "excluded",
        asked(of_class(lists=[[1, 2]])),
        asked(of_class(lists=[[0, 1]])),
        WITHOUT_2,
    ),
    "a model that divides by the length": (
        "excluded",
        asked(of_class(model={**MODEL, "unit": True})),
        asked(of_class(model={**MODEL, "unit": True, "bias": [0, 0, 0]})),
        WITHOUT_2,
    ),
    "a sketch of all": ("excluded", asked(sketch()), asked(of_class()), WITHOUT_2),
    "a norm of all": ("excluded", asked(norm(2.0)), asked(of_class()), WITHOUT_2),
    "a false claim": ("claim", asked(ppm("ppm-printed")), asked(ppm("ppm")), AGREEMENT),
    "more than the cap": (
        "cap",
        asked(values(epsilon=4.000001)),
        asked(values(epsilon=4.0)),
        AGREEMENT,
    ),
    "more delta than the cap": (
        "cap",
        asked(values(mechanism="gaussian", epsilon=0.5, delta=2e-4)),
        asked(values(mechanism="gaussian", epsilon=0.5, delta=1e-4)),
        AGREEMENT,
    ),
    "more than a level has": ("cap", asked(values(epsilon=2.5)), asked(values(epsilon=2.0)), LEVELS),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_refused_at_no_cost_and_its_legitimate_twin_is_answered_and_charged(case, folder):
    reason, wrong, twin, agreement = CASES[case]
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
    plan = Plan(mechanism="item", epsilon=1.0, dims=4, users=(USER,), options={"length": 2})
    message_of(device.answer(AGREEMENT.collection, asked(plan), HELD), plan).check()


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
