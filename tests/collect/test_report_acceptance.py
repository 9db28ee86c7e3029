"""What is accepted by its bytes is what is accepted by reading it in full, and nothing else is."""

import zlib

import numpy as np
import pytest

from graphveil.channels.sampling import SeededBits
from graphveil.collect.report_bytes import ReportAcceptance
from graphveil.errors import MessageError
from graphveil.mechanisms import Reports
from graphveil.privacy import Ledger, Plan, answer

PLANS = [
    Plan(mechanism="multibit", epsilon=1.0, dims=8, range=(0, 1), sampled=3),
    Plan(mechanism="multibit", epsilon=1.0, dims=300, range=(0, 1), sampled=1),
    Plan(mechanism="laplace", epsilon=1.0, dims=3, range=(0, 1)),
    Plan(mechanism="onebit", epsilon=1.0, dims=3, range=(0, 1)),
    Plan(mechanism="krr", epsilon=1.0, classes=3),
]


def message_of(plan, seed=0):
    private = np.array([1]) if plan.classes else np.full((1, plan.dims), 0.5)
    return answer(plan, private, Ledger(1, 9.0), SeededBits(seed)).to_bytes()


def is_read(plan, message):
    try:
        return Reports.from_bytes(message, plan.build()).users == 1
    except MessageError:
        return False


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{plan.mechanism}-{plan.dims}")
def test_what_a_device_sends_is_accepted(plan):
    acceptance = ReportAcceptance(plan.build())
    assert all(acceptance.accepts(message_of(plan, seed)) for seed in range(20))


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{plan.mechanism}-{plan.dims}")
def test_every_changed_byte_is_judged_as_by_reading(plan):
    acceptance, message = ReportAcceptance(plan.build()), message_of(plan)
    judged = set()
    for place in range(len(message) - 4):
        for value in (0, 1, 2, 7, 255):
            body = message[:place] + bytes([value]) + message[place + 1 : -4]
            changed = body + zlib.crc32(body).to_bytes(4, "little")
            assert acceptance.accepts(changed) == is_read(plan, changed)
            judged.add(acceptance.accepts(changed))
    assert judged == {True, False}
    assert not acceptance.accepts(message[:-1] + bytes([message[-1] ^ 1]))
    assert not acceptance.accepts(message[:-1]) and not acceptance.accepts(b"")


def test_what_is_checked_otherwise_is_left_to_reading():
    links = Plan(mechanism="link-rr", epsilon=1.0, dims=4)
    assert not ReportAcceptance(links.build()).accepts(b"anything")
    pool = Plan(
        mechanism="multibit", epsilon=1.0, dims=8, range=(0, 1), sampled=3, options={"pool": [1, 2, 5]}
    )
    assert is_read(pool, message_of(pool)) and not ReportAcceptance(pool.build()).accepts(message_of(pool))
