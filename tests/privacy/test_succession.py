"""Statements of succession are read as they were written, and nothing else is read as one."""

import json

import pytest

from graphveil.errors import MessageError
from graphveil.privacy import SignedSuccession, Succession
from graphveil.privacy.succession import MAX_STATEMENT
from tests.together import together

TOLD = Succession("c0" * 16, 2, bytes(range(32)), bytes([7]) * 32, 1_800_000_000)
SIGNED = SignedSuccession(TOLD.payload(), bytes([1]) * 64, bytes([2]) * 64)


def test_a_statement_is_read_as_it_was_written():
    assert Succession.from_payload(TOLD.payload()) == TOLD
    assert SignedSuccession.from_dict(json.loads(json.dumps(SIGNED.as_dict()))) == SIGNED
    assert SIGNED.statement == TOLD
    assert SIGNED.signed == b"graphveil-succession-1\n" + TOLD.payload()


def changed(**fields):
    return json.dumps({**json.loads(TOLD.payload()), **fields}).encode()


@together(
    ("payload", "said"),
    [
        (b"no json", "is no JSON"),
        (b"[]", "must be a JSON object"),
        (changed(format="graphveil-question-1"), "the format graphveil-succession-1"),
        (changed(more=1), "has the fields"),
        (TOLD.payload().replace(b'{"after"', b'{"made":1,"after"'), "names a field twice"),
        (changed(number=0), "number must be an integer from 1"),
        (changed(number=True), "number must be an integer"),
        (changed(made=-1), "made must be an integer"),
        (changed(before="00"), "key before must be 64 hexadecimal digits"),
        (changed(after=7), "key after must be 64 hexadecimal digits"),
        (changed(collection="c0"), "collection must be 32"),
        (b" " * (MAX_STATEMENT + 1), "at most"),
    ],
)
def test_what_is_no_statement_is_refused(payload, said):
    with pytest.raises(MessageError, match=said):
        Succession.from_payload(payload)


def test_what_is_no_signed_statement_is_refused():
    changes = ({"more": ""}, {"old": "!"}, {"new": "AAAA"}, {"payload": "A" * 8000})
    for told in (None, {}, *({**SIGNED.as_dict(), **change} for change in changes)):
        with pytest.raises(MessageError):
            SignedSuccession.from_dict(told)
