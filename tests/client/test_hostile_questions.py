"""Whatever a server signs, a device answers it or refuses it with a reason: nothing else is raised, and no value is shown."""

import json
import random
import tracemalloc
from contextlib import suppress
from copy import deepcopy

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from graphveil import InputError, Plan
from graphveil.client.checking import checked_question
from graphveil.errors import RefusalError
from graphveil.privacy import SignedQuestion, plan_digest
from graphveil.privacy.envelope import PREFIX
from tests.client.support import AGREEMENT, HELD, NOW, PRIVATE, asked, device_in, digits_of_row, values
from tests.client.test_checking import of_class, ppm, sketch

KEY = Ed25519PrivateKey.from_private_bytes(PRIVATE)
SEEDS = [
    asked(plan).payload
    for plan in (values(), values(sampled=2, options={"pool": [0, 3]}), of_class(), ppm(), sketch())
]
ODD = [
    *(None, True, False, 0, -1, 1, 2**31, 2**53, 2**63, 2**64, 10**400, 0.5, -0.0, 1e308, 1e-320),
    *("", "all", "krr", [], [0], [17], [17, 17], [[0, 1]], {}, {"a": 1}, "\x00", "item", "lapgraph"),
    *("link-rr", "esw", [1.5], [None]),
]


def places(thing, path=()):
    """Where something could be replaced."""
    yield path
    inner = thing.items() if isinstance(thing, dict) else enumerate(thing) if isinstance(thing, list) else ()
    for name, each in inner:
        yield from places(each, (*path, name))


def mutated(payload, draw):
    told = json.loads(payload)
    for _ in range(draw.randint(1, 3)):
        *path, last = draw.choice([path for path in places(told) if path])
        inside = told
        for step in path:
            inside = inside[step]
        if draw.random() < 0.15 and isinstance(inside, dict):
            del inside[last]
        elif draw.random() < 0.15 and isinstance(inside, dict):
            inside[draw.choice(["delta", "levels", "binary", "sampled", "classes", "options", "more"])] = (
                deepcopy(draw.choice(ODD))
            )
        else:
            inside[last] = deepcopy(draw.choice(ODD))
    # A server knows how to compute a digest.
    with suppress(InputError, KeyError, TypeError):
        told["digest"] = plan_digest(Plan(**told["plan"]))
    return json.dumps(told).encode()


def signed(payload):
    return SignedQuestion(payload, KEY.sign(PREFIX + payload))


def test_questions_that_were_tampered_with_are_answered_or_refused(folder):
    draw, reasons, answered = random.Random(7), set(), 0
    device = device_in(folder)
    for number in range(600):
        question = signed(mutated(SEEDS[number % len(SEEDS)], draw))
        try:
            checked_question(question, AGREEMENT, NOW)
            device.answer(AGREEMENT.collection, question, HELD)
            answered += 1
        except RefusalError as refusal:
            reasons.add(refusal.reason)
            assert digits_of_row(str(refusal)) == []
    assert answered and {"damaged", "users", "range", "purpose", "expired", "cap"} <= reasons


def test_bytes_that_are_no_question_are_refused():
    draw = random.Random(8)
    for _ in range(200):
        payload = bytearray(draw.choice(SEEDS))
        for _ in range(draw.randint(1, 4)):
            payload[draw.randrange(len(payload))] = draw.randrange(256)
        try:
            checked_question(signed(bytes(payload)), AGREEMENT, NOW)
        except RefusalError as refusal:
            assert refusal.reason != "signature"


LARGE = {
    "lists": b'{"plan":[' + b"[]," * 1_000_000 + b"[]]}",
    "a long list": b'{"plan":{"users":[' + b"7," * 1_000_000 + b"7]}}",
    "a long word": b'{"plan":"' + b"a" * 3_000_000 + b'"}',
    "names": b'{"a":' * 500_000 + b"1" + b"}" * 500_000,
}


@pytest.mark.parametrize("payload", LARGE.values(), ids=LARGE)
def test_a_question_that_is_larger_than_what_was_agreed_on_needs_is_refused_before_it_is_parsed(payload):
    question = signed(payload)
    tracemalloc.start()
    try:
        with pytest.raises(RefusalError, match="bytes, at most|more values than") as caught:
            checked_question(question, AGREEMENT, NOW)
        # What is signed is the payload behind a prefix: one copy of it, and nothing made of it.
        assert tracemalloc.get_traced_memory()[1] < 2 * len(payload)
    finally:
        tracemalloc.stop()
    assert caught.value.reason == "damaged"


def test_a_model_with_as_many_numbers_as_were_agreed_on_is_read():
    hidden = 256
    model = {
        "kind": "hidden",
        "first": [[-65535] * 4] * hidden,
        "first_bias": [1] * hidden,
        "second": [[1] * hidden] * 3,
        "bias": [0] * 3,
    }
    assert checked_question(asked(of_class(model=model)), AGREEMENT, NOW).plan.model.dims == 4
