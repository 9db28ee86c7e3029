"""Envelopes and questions: what is written is read, and what is damaged is refused as such."""

import base64
import json
import random
import struct
import zlib

import pytest

from graphveil import InputError, MessageError, Plan
from graphveil.privacy.envelope import PREFIX, Envelope, Question, SignedQuestion, envelope_size
from tests.together import together

ENVELOPE = Envelope("00" * 15 + "01", "0f" * 16, "ab" * 32, b"report")
PLAN = Plan(mechanism="krr", epsilon=1.0, classes=3, users=(7,))
QUESTION = Question("c0" * 16, 2, 7, PLAN, 1_000, 2_000, "to learn what people like: a poll")


def test_an_envelope_is_laid_out_as_the_page_says():
    data = ENVELOPE.to_bytes()
    assert data[:8] == b"GVEN\x01\x00\x00\x00"
    assert data[8:24] == bytes(15) + b"\x01" and data[24:40] == b"\x0f" * 16 and data[40:72] == b"\xab" * 32
    assert struct.unpack("<I", data[72:76]) == (6,) and data[76:82] == b"report"
    assert struct.unpack("<I", data[82:]) == (zlib.crc32(data[:82]),)
    assert len(data) == envelope_size(6)
    assert Envelope.from_bytes(data) == ENVELOPE


def test_an_envelope_with_any_bit_changed_is_refused():
    data = ENVELOPE.to_bytes()
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 1 << (place % 8)
        with pytest.raises(MessageError):
            Envelope.from_bytes(bytes(changed))


@pytest.mark.parametrize(("place", "version"), [(4, 2), (6, 1)], ids=["version", "room for later ones"])
def test_an_envelope_of_another_version_says_so(place, version):
    changed = bytearray(ENVELOPE.to_bytes()[:-4])
    changed[place] = version
    with pytest.raises(MessageError, match="graphveil reads 1: update it"):
        Envelope.from_bytes(bytes(changed) + struct.pack("<I", zlib.crc32(changed)))


def test_an_envelope_that_is_too_short_or_too_long_is_refused():
    data = ENVELOPE.to_bytes()
    for cut in range(len(data)):
        with pytest.raises(MessageError, match="truncated"):
            Envelope.from_bytes(data[:cut])
    with pytest.raises(MessageError, match="damaged"):
        Envelope.from_bytes(data + b"\x00")
    with pytest.raises(MessageError, match="at most 85 are read"):
        Envelope.from_bytes(data, limit=85)
    source = random.Random(1)
    for _ in range(200):
        with pytest.raises(MessageError):
            Envelope.from_bytes(source.randbytes(source.randrange(200)))


@together("wrong", ["", "AB" * 16, "0x" + "0" * 30, "00" * 15, 7])
def test_ids_are_lower_case_hexadecimal_digits(wrong):
    with pytest.raises(MessageError, match="report id must be 32 hexadecimal digits"):
        Envelope(wrong, "0f" * 16, "ab" * 32, b"")


def test_the_payload_is_json_with_sorted_keys_and_travels_as_base64():
    told = json.loads(QUESTION.payload())
    assert list(told) == sorted(told)
    assert told["format"] == "graphveil-question-1" and told["digest"] == QUESTION.digest
    assert told["plan"] == json.loads(PLAN.to_json())
    assert Question.from_payload(QUESTION.payload()) == QUESTION
    with pytest.raises(InputError, match="the plan cannot be served"):
        Question.from_payload(altered(plan={"mechanism": "krr", "epsilon": -1.0, "classes": 3}))
    signed = SignedQuestion(QUESTION.payload(), bytes(range(64)))
    told = json.loads(json.dumps(signed.as_dict()))
    assert base64.b64decode(told["payload"]) == QUESTION.payload()
    assert SignedQuestion.from_dict(told) == signed
    assert signed.signed == PREFIX + QUESTION.payload() == b"graphveil-question-1\n" + signed.payload


def altered(**fields):
    return json.dumps({**json.loads(QUESTION.payload()), **fields}).encode()


@together(
    ("payload", "said"),
    [
        *((wrong, "no JSON") for wrong in (b"{", b"[" * 100_000)),
        (b"[1]", "must be a JSON object"),
        (altered(plan=[1]), "must be a JSON object"),
        (altered(more=1), "and no others"),
        (altered(format="graphveil-question-2"), "update it"),
        *(
            (altered(**{name: wrong}), f"{name} must be an integer")
            for name, wrong in (("round", 0), ("user", -1), ("user", True), ("expires", 1.5))
        ),
        (altered(expires=1 << 40), "expires must be an integer"),
        (altered(published=1 << 60), "published must be an integer"),
        *((altered(purpose=wrong), "at most 2000 characters") for wrong in ("a" * 2001, None)),
        (altered(digest="0" * 64), "not that of its plan"),
        (altered(collection="c0"), "collection must be 32 hexadecimal digits"),
        (QUESTION.payload().replace(b'{"collection"', b'{"user":7,"collection"'), "names a field twice"),
        (QUESTION.payload().replace(b'"epsilon":1.0', b'"epsilon":1.0,"epsilon":1.0'), "names a field twice"),
    ],
)
def test_a_question_that_is_none_is_refused(payload, said):
    with pytest.raises(MessageError, match=said):
        Question.from_payload(payload)


SIGNATURE = base64.b64encode(bytes(64)).decode()


@together(
    "told",
    [
        None,
        {},
        {"payload": "", "signature": "", "more": 1},
        {"payload": "e30=", "signature": "e30="},
        *({"payload": payload, "signature": SIGNATURE} for payload in ("e3", "é", 1)),
    ],
)
def test_what_is_no_signed_question_is_refused(told):
    with pytest.raises(MessageError):
        SignedQuestion.from_dict(told)
