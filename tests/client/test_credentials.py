"""A device draws its credential and puts it down before anything is sent: whatever is lost on the way can be asked for again."""

import json
import os
import signal
import sqlite3

import pytest

from graphveil import InputError
from graphveil.client import Cap, Device, Held, own_credential, visit
from graphveil.client.agreement import write_agreement
from graphveil.errors import ServerError
from graphveil.privacy import Invitation
from graphveil.privacy.credential import FORM, credential_hash
from tests.client.kills import ended, forked
from tests.client.support import (
    AGREEMENT,
    COLLECTION,
    HELD,
    PUBLIC,
    Server,
    calls,
    credentials_of,
    drawn_credential,
    enrolled,
    new_device,
    values,
)

NEW = Invitation(b"another sixteen.", PUBLIC)


def current(device):
    return credentials_of(device).current


def hashes(server, path):
    """The hashes that were sent to a path."""
    return [json.loads(body)["credential_hash"] for _, called, body, _ in server.calls if called == path]


class Losing:
    """A transport that loses what is sent to a path, or the answer to it, so many times."""

    def __init__(self, server, path, after, times=1):
        self.server, self.path, self.after, self.left = server, path, after, times

    def __call__(self, method, path, body=None, headers=None, limit=0):
        lose = path == self.path and self.left > 0
        answer = None if lose and not self.after else self.server(method, path, body, headers)
        if lose:
            self.left -= 1
            raise ServerError(0, "the connection was lost")
        return answer


def test_a_credential_has_its_form_and_leaves_only_as_a_hash_before_it_is_used(folder):
    server = Server()
    device = enrolled(folder, server)
    assert FORM.fullmatch(current(device))
    assert hashes(server, "/v1/enrolment") == [credential_hash(current(device)).hex()]
    assert not any(current(device) in repr(call) for call in server.calls)


@pytest.mark.parametrize("after", [False, True])
def test_an_enrolment_that_was_lost_is_repeated_with_the_same_credential(folder, after):
    server = Server()
    with pytest.raises(ServerError):
        enrolled(folder, Losing(server, "/v1/enrolment", after))
    assert new_device(folder).agreements() == ()
    device = enrolled(folder, server)
    assert set(hashes(server, "/v1/enrolment")) == {credential_hash(current(device)).hex()} == {server.known}


@pytest.mark.parametrize("step", range(4))
def test_a_device_that_is_killed_while_it_enrols_enrols_with_the_same_credential(folder, step, monkeypatch):
    """Steps: before it is put down, before it is sent, before the answer is there, before the agreement is kept."""
    server, heard = Server(), folder / "heard"

    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    def transport(method, path, body=None, headers=None, limit=0):
        if path == "/v1/enrolment":
            if step == 1:
                die()
            heard.write_bytes(body)
            if step == 2:
                die()
        return server(method, path, body, headers)

    with monkeypatch.context() as patch:
        if step == 0:
            patch.setattr("graphveil.client.books.Books.draw_credential", lambda *_: die())
        if step == 3:
            patch.setattr(Device, "agree", lambda *_: die())
        assert ended(forked(lambda: enrolled(folder, transport))) == -signal.SIGKILL
    assert new_device(folder).agreements() == ()
    if heard.exists():
        server("POST", "/v1/enrolment", heard.read_bytes())
    assert heard.exists() == (step > 1)
    device = enrolled(folder, server)
    assert credential_hash(current(device)).hex() == server.known
    assert own_credential(device, calls(server), COLLECTION) == current(device)


def earlier(folder, layout=2, former="made by the collector"):
    """The device of an earlier version, which a collector has given a credential."""
    device = new_device(folder)
    told = json.loads(write_agreement(AGREEMENT)) | {"credential": former}
    with sqlite3.connect(device.path) as books:
        books.execute("DROP TABLE credentials")
        books.execute("INSERT INTO agreements VALUES (?, ?, NULL)", (COLLECTION, json.dumps(told)))
        books.execute(f"PRAGMA user_version = {layout}")
    books.close()
    return new_device(folder)


def test_a_device_of_an_earlier_version_registers_by_itself_at_its_next_visit(folder):
    device, server = earlier(folder), Server(plans=[values()], former="made by the collector")
    (seen,) = visit(device, calls(server), COLLECTION, HELD)
    assert seen.delivered and credential_hash(current(device)).hex() == server.known
    visit(device, calls(server), COLLECTION, HELD)
    assert len(hashes(server, "/v1/credential")) == 1
    assert credentials_of(device).former is None


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("rotated", [False, True])
def test_a_registration_that_was_lost_is_repeated_with_the_same_credential(folder, after, rotated):
    device, server = earlier(folder), Server(plans=[values()], former="made by the collector")
    with pytest.raises(ServerError):
        visit(device, calls(Losing(server, "/v1/credential", after)), COLLECTION, HELD)
    if rotated:
        server.former = None
    if rotated and not after:
        with pytest.raises(ServerError, match="send a credential"):
            visit(device, calls(server), COLLECTION, HELD)
        return
    (seen,) = visit(device, calls(server), COLLECTION, HELD)
    assert seen.delivered
    assert set(hashes(server, "/v1/credential")) == {server.known}


def test_a_collector_of_the_earlier_version_is_answered_with_its_credential(folder):
    device, server = earlier(folder, former="cred"), Server(plans=[values()])

    def transport(method, path, body=None, headers=None, limit=0):
        told = None if path == "/v1/credential" else path
        return server(method, told or "/nowhere", body, headers)

    (seen,) = visit(device, calls(transport), COLLECTION, HELD)
    assert seen.delivered and current(device) is None


def test_a_new_invitation_gives_another_credential_and_keeps_books_and_terms(folder):
    server = Server(plans=[values()])
    device = enrolled(folder, server, cap=Cap(1.5), excluded=(), volunteer=True)
    visit(device, calls(server), COLLECTION, HELD)
    before, spent, agreed = current(device), device.spendings(), device.agreements()
    device = enrolled(folder, server, NEW, volunteer=True)
    assert current(device) != before and credential_hash(current(device)).hex() == server.known
    assert (device.spendings(), device.agreements()) == (spent, agreed)
    assert json.loads(server.calls[-1][2])["cap"] == {"epsilon": 1.5, "delta": 0.0}


@pytest.mark.parametrize("after", [False, True])
def test_a_new_invitation_whose_answer_was_lost_can_be_used_again(folder, after):
    server = Server(plans=[values()])
    before = current(enrolled(folder, server))
    with pytest.raises(ServerError):
        enrolled(folder, Losing(server, "/v1/enrolment", after), NEW)
    assert current(new_device(folder)) == before
    device = enrolled(folder, server, NEW)
    assert credential_hash(current(device)).hex() == server.known != credential_hash(before).hex()
    assert len(set(hashes(server, "/v1/enrolment"))) == 2


@pytest.mark.parametrize("other", [{"cap": Cap(1.0)}, {"excluded": (1,)}, {"volunteer": True}])
def test_a_new_invitation_with_other_terms_is_refused_before_anything_is_sent(folder, other):
    server = Server()
    before = current(enrolled(folder, server))
    with pytest.raises(InputError, match="hold for good"):
        enrolled(folder, server, NEW, **other)
    assert current(new_device(folder)) == before
    assert len(hashes(server, "/v1/enrolment")) == 1


def test_a_new_invitation_of_somebody_else_is_refused_and_changes_nothing(folder):
    server = Server()
    before = current(enrolled(folder, server))
    server.enrolment = {"pseudonym": "aa" * 16}
    with pytest.raises(InputError, match="hold for good"):
        enrolled(folder, server, NEW)
    assert current(new_device(folder)) == before


def test_books_that_have_lost_an_answered_collection_have_their_cap_spent_after_a_new_invitation(folder):
    server = Server(plans=[values()])
    device = enrolled(folder, server)
    kept = device.path.read_bytes()
    with sqlite3.connect(device.path) as books:
        books.execute("DELETE FROM agreements")
        books.execute("DELETE FROM credentials")
    books.close()
    empty = device.path.read_bytes()
    device.path.write_bytes(kept)
    visit(device, calls(server), COLLECTION, HELD)
    device.path.write_bytes(empty)
    device = enrolled(folder, server, NEW)
    assert device.spendings()[0].left.epsilon == 0.0


def test_a_device_without_a_credential_says_to_enrol(folder):
    with pytest.raises(InputError, match="enrol with a token first"):
        own_credential(new_device(folder), calls(Server()), COLLECTION)


def test_nothing_that_goes_wrong_shows_a_credential(folder):
    server = Server(former="made by the collector")
    device = earlier(folder)
    drawn = drawn_credential(device)
    with pytest.raises(ServerError) as caught:
        visit(device, calls(Losing(server, "/v1/questions", True)), COLLECTION, Held(row=[0, 0, 0, 0]))
    server.known = "00"
    with pytest.raises(ServerError) as refused:
        visit(device, calls(server), COLLECTION, HELD)
    for said in (str(caught.value), str(refused.value), repr(refused.value)):
        assert drawn not in said and "made by the collector" not in said
