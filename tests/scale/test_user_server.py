"""The server of users: who has the key is answered, each plan once; who has none disturbs nobody."""

import pickle
import socket
import struct
import threading
from contextlib import contextmanager, suppress
from multiprocessing.connection import Client

import numpy as np
import pytest

from graphveil.errors import BudgetError, EngineError, PrivacyError, RefusalError
from graphveil.mechanisms import Reports
from graphveil.privacy import Ledger, Plan, answer
from graphveil.scale import user_server as server_module
from graphveil.scale.user_server import Address, UserClient, UserServer

PLAN = Plan(mechanism="krr", epsilon=1.0, classes=5)
USERS = 6
# Nobody waits so long unless something hangs.
PATIENCE = 20


class People:
    """Users who hold classes, of whom some are silent; they count how often they are asked."""

    def __init__(self, silent=(), budget=10.0):
        self.ledger, self.silent, self.times = Ledger(USERS, budget), list(silent), 0

    def report(self, plan):
        self.times += 1
        whole = answer(plan, list(range(5)) + [0], self.ledger)
        answered = np.ones(USERS, dtype=bool)
        answered[self.silent] = False
        return without(whole, answered)


def without(reports, answered):
    kept = np.flatnonzero(answered)
    return Reports(
        reports.mechanism,
        np.arange(len(kept) + 1),
        None,
        reports.codes[kept],
        None if answered.all() else answered,
    )


class Failing:
    """Users who fail in a way that nobody has thought of, or on purpose."""

    def __init__(self, error):
        self.error, self.times = error, 0

    def report(self, plan):
        self.times += 1
        raise self.error


@contextmanager
def connected(address):
    """A peer that has not shown a key."""
    with socket.create_connection((address.host, address.port), timeout=PATIENCE) as peer:
        yield peer


def guest_of(address):
    """A peer that has shown the key, and may send anything."""
    return Client((address.host, address.port), authkey=address.key)


def asked_in_time(address, plan=PLAN, places=None):
    """What a worker with the key is told, by a thread of its own: a server that hangs fails the test."""
    told = []
    thread = threading.Thread(
        target=lambda: told.append(UserClient(address).report(plan, places)), daemon=True
    )
    thread.start()
    thread.join(PATIENCE)
    assert told, "the server does not answer"
    return told[0]


def test_a_plan_that_is_asked_twice_is_answered_and_charged_once():
    people = People()
    with UserServer(people) as server:
        first, second = asked_in_time(server.address), asked_in_time(server.address)
    assert people.times == 1
    assert people.ledger.spent.tolist() == [1.0] * USERS
    assert first.codes.tobytes() == second.codes.tobytes()


def test_workers_who_ask_at_the_same_time_get_the_same_answers():
    people, told = People(), []
    with UserServer(people) as server:
        threads = [
            threading.Thread(target=lambda: told.append(UserClient(server.address).report(PLAN, None)))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
    assert people.times == 1 and len(told) == 8
    assert {each.codes.tobytes() for each in told} == {told[0].codes.tobytes()}


def test_another_plan_is_charged_besides():
    people = People()
    with UserServer(people) as server:
        asked_in_time(server.address)
        asked_in_time(server.address, PLAN.model_copy(update={"epsilon": 2.0}))
    assert people.ledger.spent.tolist() == [3.0] * USERS


def test_rows_come_in_the_order_of_the_places():
    with UserServer(People()) as server:
        whole = asked_in_time(server.address)
        some = asked_in_time(server.address, places=np.array([4, 0, 5]))
    assert some.codes.tolist() == [whole.codes[4], whole.codes[0], whole.codes[5]]
    assert some.answered is None and some.asked == 3


def test_whoever_is_silent_has_no_row_and_is_named():
    with UserServer(People(silent=[1, 4])) as server:
        whole = asked_in_time(server.address)
        some = asked_in_time(server.address, places=np.array([4, 5, 1, 0]))
    # Of 0, 2, 3 and 5, who answer, 5 is the last and 0 the first.
    assert whole.users == 4
    assert some.codes.tolist() == [whole.codes[3], whole.codes[0]]
    assert some.answered.tolist() == [False, True, False, True]


def test_reports_of_several_codes_are_cut_as_they_are_long():
    plan = Plan(mechanism="multibit", epsilon=1.0, dims=9, sampled=2, range=(0.0, 1.0))
    whole = plan.build().randomize(np.zeros((3, 9)))
    some = whole.of_asked(np.array([2, 0]))
    assert some.dims.tolist() == [*whole.dims[4:6], *whole.dims[0:2]]
    assert some.codes.tolist() == [*whole.codes[4:6], *whole.codes[0:2]]


@pytest.mark.parametrize("error", [RefusalError("cap", "it costs too much"), BudgetError("it is overdrawn")])
def test_an_error_crosses_as_it_is_and_nobody_is_asked_again(error):
    users = Failing(error)
    with UserServer(users) as server:
        asking = UserClient(server.address)
        for _ in range(2):
            with pytest.raises(type(error)) as raised:
                asking.report(PLAN, None)
            assert str(raised.value) == str(error)
            assert getattr(raised.value, "reason", None) == getattr(error, "reason", None)
    assert users.times == 1


def test_an_overdraft_is_refused_and_other_plans_are_answered_still():
    with UserServer(People(budget=1.5)) as server:
        asking = UserClient(server.address)
        with pytest.raises(BudgetError, match="costs epsilon 2"):
            asking.report(PLAN.model_copy(update={"epsilon": 2.0}), None)
        assert asking.report(PLAN, None).users == USERS


def test_an_error_that_nobody_thought_of_says_nothing_of_what_users_hold():
    users = Failing(ValueError("the row is 0.731"))
    with UserServer(users) as server:
        asking = UserClient(server.address)
        for _ in range(2):
            with pytest.raises(PrivacyError, match=r"could not answer krr \(ValueError\)") as raised:
                asking.report(PLAN, None)
            assert "0.731" not in str(raised.value)
    assert users.times == 1


@pytest.mark.parametrize("asked", ["nonsense", (1, None), (PLAN, np.array([USERS]))])
def test_what_is_no_question_is_told_so_and_the_next_one_is_answered(asked):
    with UserServer(People()) as server, guest_of(server.address) as worker:
        worker.send(asked)
        assert worker.poll(PATIENCE) and isinstance(worker.recv(), EngineError)
        worker.send((PLAN, None))
        assert worker.poll(PATIENCE) and isinstance(worker.recv(), tuple)


def test_bytes_that_are_no_message_end_that_connection_alone():
    with UserServer(People()) as server:
        with guest_of(server.address) as worker:
            worker.send_bytes(b"no pickle")
            assert worker.poll(PATIENCE)
            with pytest.raises(EOFError):
                worker.recv()
        assert asked_in_time(server.address).users == USERS


def test_a_wrong_key_is_refused_and_the_right_one_goes_on():
    people = People()
    with UserServer(people) as server:
        inside = UserClient(server.address)
        for _ in range(3):
            with pytest.raises(EngineError, match="cannot be reached from"):
                UserClient(Address(server.address.host, server.address.port, bytes(32)))
        assert people.times == 0
        assert inside.report(PLAN, None).users == USERS
        assert asked_in_time(server.address).users == USERS


def test_peers_that_say_nothing_block_nobody():
    with UserServer(People()) as server, connected(server.address), connected(server.address):
        assert asked_in_time(server.address).users == USERS


def test_of_many_silent_peers_those_who_came_first_must_go(monkeypatch):
    monkeypatch.setattr(server_module, "MOST_UNKNOWN", 2)
    with UserServer(People()) as server:
        inside = UserClient(server.address)
        # Who has been answered has shown the key, as far as the server knows.
        inside.report(PLAN, None)
        with connected(server.address) as first, connected(server.address), connected(server.address):
            with suppress(ConnectionResetError):
                while first.recv(1024):
                    pass
            # Those who have shown the key stay, whoever comes.
            assert inside.report(PLAN, None).users == USERS
            assert asked_in_time(server.address).users == USERS


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"\x00",
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack("!i", -5) + b"abc",
        struct.pack("!iQ", -1, 1 << 62) + b"abc",
        struct.pack("!i", 0x7FFFFFFF),
        struct.pack("!i", 16) + bytes(16),
        bytes(range(256)) * 300,
    ],
)
def test_garbage_at_the_door_lets_nobody_in_and_disturbs_nobody(garbage):
    people = People()
    with UserServer(people) as server:
        with connected(server.address) as peer, suppress(ConnectionError):
            peer.sendall(garbage)
            # The server may have hung up by now.
            with suppress(OSError):
                peer.shutdown(socket.SHUT_WR)
            while peer.recv(1024):
                pass
        assert people.times == 0
        assert asked_in_time(server.address).users == USERS


def test_closing_sends_everybody_away_and_waits_for_nobody():
    server = UserServer(People())
    with server:
        inside = UserClient(server.address)
        inside.report(PLAN, None)
        silent = socket.create_connection((server.address.host, server.address.port), timeout=PATIENCE)
    with silent, suppress(ConnectionResetError):
        while silent.recv(1024):
            pass
    with pytest.raises(EngineError):
        inside.report(PLAN.model_copy(update={"epsilon": 2.0}), None)
    with pytest.raises(OSError):
        socket.create_connection((server.address.host, server.address.port), timeout=PATIENCE)


def test_after_closing_nobody_is_charged():
    people = People()
    with UserServer(people) as server:
        inside = UserClient(server.address)
        inside.report(PLAN, None)
    with suppress(EngineError):
        inside.report(PLAN.model_copy(update={"epsilon": 2.0}), None)
    assert people.ledger.spent.tolist() == [1.0] * USERS


def test_the_key_is_not_shown_but_travels():
    with UserServer(People()) as server:
        address = server.address
    assert len(address.key) == 32
    assert repr(address) == f"Address(host='127.0.0.1', port={address.port})"
    assert repr(address.key) not in repr(server) and address.key.hex() not in repr(server)
    assert pickle.loads(pickle.dumps(address)) == address


def test_a_worker_that_cannot_reach_the_users_says_so():
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    with pytest.raises(EngineError, match=rf"users at 127\.0\.0\.1:{port} cannot be reached from"):
        UserClient(Address("127.0.0.1", port, b"key"))
