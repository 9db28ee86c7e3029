"""Rounds as the service asks them: digests and parts are those of the plan."""

from zlib import crc32

import numpy as np
import pytest

from graphveil.channels.sampling import SeededBits
from graphveil.collect.report_bytes import ReportAcceptance
from graphveil.collect.roster import Member
from graphveil.collect.rounds import AskedRound, PublishedRound
from graphveil.errors import MessageError
from graphveil.mechanisms import ClassModel
from graphveil.privacy import Ledger, Plan, answer
from graphveil.privacy.envelope import HEADER, Envelope
from graphveil.privacy.plan import plan_digest

MODEL = ClassModel.of(
    {"kind": "linear", "weights": [[1, 0], [0, 1], [1, 1]], "bias": [0, 0, 0], "levels": 2, "zero": 0}
)
PLANS = {
    "all": Plan(mechanism="multibit", epsilon=1.0, dims=8, range=(-0.0, 1)),
    "some": Plan(mechanism="krr", epsilon=1, classes=3, users=(5, 3), round=2),
    "pool": Plan(
        mechanism="multibit", epsilon=1.0, dims=8, range=(0, 1), options={"pool": [1, 2]}, sampled=3
    ),
    "class": Plan(
        mechanism="krr",
        epsilon=1.0,
        of="class",
        classes=2,
        dims=2,
        range=(0, 1),
        users=(5, 3),
        model=MODEL,
        lists=[[0, 1], [2, 1]],
        offsets=[[3, 4], [5, 6]],
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_parts_and_digests_are_those_of_the_plan(name):
    plan = PLANS[name]
    opened = PublishedRound(1, plan, plan_digest(plan), np.array([5, 3]), 8, 1, 0, 1, False, 0)
    asked = AskedRound(opened)
    for node in (5, 3):
        assert asked.part(node) == plan.part([node])
        assert asked.digest(node) == plan_digest(plan.part([node]))
        assert asked._mechanism_of(node).fingerprint == plan.part([node]).build().fingerprint
    assert [asked.asks(node) for node in (3, 5, 4, 100)] == [True, True, False, False]


def taken_message(asked, body, report, node, pseudonym):
    """The message that is taken, or None."""
    try:
        return asked.read(body, report.hex(), Member(node, pseudonym))
    except MessageError:
        return None


def test_an_envelope_is_taken_from_whom_it_names_as_it_was_made():
    plan = PLANS["all"]
    opened = PublishedRound(1, plan, plan_digest(plan), np.array([5, 3]), 8, 1, 0, 1, False, 0)
    asked, report, pseudonym = AskedRound(opened), b"r" * 16, b"p" * 16
    message = answer(plan.part([5]), np.full((1, 8), 0.5), Ledger(6, 9.0), SeededBits(0)).to_bytes()
    body = Envelope(report.hex(), pseudonym.hex(), asked.digest(5), message).to_bytes()
    assert taken_message(asked, body, report, 5, pseudonym) == message
    for place in range(HEADER.size):
        for value in (0, 1, 255):
            inner = body[:place] + bytes([value]) + body[place + 1 : -4]
            changed = inner + crc32(inner).to_bytes(4, "little")
            taken = taken_message(asked, changed, report, 5, pseudonym)
            assert taken == (message if changed == body else None)
    assert taken_message(asked, body[:-1] + bytes([body[-1] ^ 1]), report, 5, pseudonym) is None
    assert taken_message(asked, body[:-1], report, 5, pseudonym) is None
    # Nobody else's: another id, another user, another pseudonym, a user who is not asked.
    for other in [
        (b"s" * 16, 5, pseudonym),
        (report, 3, pseudonym),
        (report, 5, b"q" * 16),
        (report, 4, pseudonym),
    ]:
        assert taken_message(asked, body, *other) is None
    assert not ReportAcceptance(PLANS["class"].build()).plain
