"""Messages read back all at once are what they are one by one."""

import zlib

import numpy as np
import pytest

from graphveil.channels.sampling import SeededBits
from graphveil.collect.report_bytes import ReportAcceptance, read_messages
from graphveil.errors import MessageError
from graphveil.graphs.graph import symmetric_csr
from graphveil.mechanisms import ClassModel, NeighbourLists, Reports
from graphveil.mechanisms.reports import message_limit
from graphveil.privacy import Ledger, Plan, answer, join_parts
from tests.together import each

USERS = 9
ROWS = np.random.default_rng(0).random((USERS, 300))
FEATURES = {
    "multibit": {"sampled": 3},
    "laplace": {},
    "piecewise": {"sampled": 2},
    "onebit": {},
}


def sent_by(plan, private, ledger):
    reports = answer(plan, private, ledger, SeededBits(0))
    return reports, [reports.row(user).to_bytes() for user in range(reports.users)]


def test_features():
    def check(mechanism):
        plan = Plan(mechanism=mechanism, epsilon=2.0, dims=300, range=(0, 1), **FEATURES[mechanism])
        reports, messages = sent_by(plan, ROWS, Ledger(USERS, 9.0))
        order = np.random.default_rng(1).permutation(USERS)
        assert read_messages(plan.build(), order, [messages[place] for place in order], USERS) == reports
        assert {len(message) for message in messages} == {message_limit(plan.build())}

    each(FEATURES, check)


def test_whoever_is_silent_is_marked_and_links_say_how_long_they_are():
    plan = Plan(mechanism="krr", epsilon=1.0, classes=4)
    reports, messages = sent_by(plan, np.arange(USERS) % 4, Ledger(USERS, 9.0))
    read = read_messages(plan.build(), np.array([6, 2]), [messages[6], messages[2]], USERS)
    who = np.isin(np.arange(USERS), [2, 6])
    assert read == reports.answered_by(who)
    plan = Plan(mechanism="link-rr", epsilon=1.0, dims=USERS)
    indptr, indices = symmetric_csr(np.array([[0, 1], [1, 2], [2, 3], [5, 8]]), USERS)
    reports, messages = sent_by(plan, NeighbourLists(np.arange(USERS), indptr, indices), Ledger(USERS, 9.0))
    assert len({len(message) for message in messages}) > 1
    assert max(map(len, messages)) <= message_limit(plan.build())
    assert read_messages(plan.build(), np.arange(USERS)[::-1], messages[::-1], USERS) == reports


def test_a_class_is_read_though_every_part_has_a_fingerprint_of_its_own():
    lists = np.array([[0, 1], [2, 1], [1, 0]])
    plan = Plan(
        mechanism="krr",
        epsilon=1.0,
        of="class",
        classes=2,
        dims=2,
        range=(0, 1),
        users=(4, 1, 7),
        model=ClassModel.of(
            {"kind": "linear", "weights": [[1, 0], [0, 1], [1, 1]], "bias": [0, 0, 0], "levels": 2, "zero": 0}
        ),
        lists=lists,
    )
    parts = list(plan.parts())
    messages = [answer(part, np.eye(2)[:1], Ledger(8, 9.0)).to_bytes() for part in parts]
    told = [Reports.from_bytes(one, part.build()) for one, part in zip(messages, parts, strict=True)]
    read = read_messages(plan.build(), np.array([2, 0, 1]), [messages[2], messages[0], messages[1]], 3)
    assert read == join_parts(plan, list(zip(parts, told, strict=True)))


def test_what_was_changed_in_the_database_is_refused():
    plan = Plan(mechanism="krr", epsilon=1.0, classes=4)
    _, messages = sent_by(plan, np.arange(3), Ledger(3, 9.0))
    two = np.array([0, 1])
    with pytest.raises(MessageError, match="form of its plan"):
        read_messages(plan.build(), two, [messages[0], messages[1][:-1]], 3)
    with pytest.raises(MessageError, match="form of its plan"):
        read_messages(plan.build(), two, [messages[0], b"X" + messages[1][1:]], 3)
    with pytest.raises(MessageError, match="two reports"):
        read_messages(plan.build(), np.array([1, 1]), messages[:2], 3)
    with pytest.raises(MessageError, match="codes must be below 4"):
        read_messages(plan.build(), two, [messages[0], messages[1][:64] + b"\x09" + messages[1][65:]], 3)


# What is accepted by its bytes is what is accepted by reading it in full, and nothing else is


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
