"""What docs/collection.md says of backups and keys: old data are sent again for nothing, and another key is another collection."""

import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import delete, select

from graphveil.client import Cap, Device, Held, enrol, own_credential, visit
from graphveil.collect import keys
from graphveil.collect.app import create_app
from graphveil.collect.folder import KEY
from graphveil.collect.keys import SUCCESSIONS, KeyRing, SigningKey
from graphveil.collect.schema import REPORTS, ROSTER
from graphveil.errors import RefusalError, ServerError
from graphveil.privacy import Invitation
from tests.client.support import fast_folder
from tests.collect.small import DIMS, PLAN, calls_to, later, made
from tests.collect.test_derived_credentials import forged

HELD = Held(row=np.linspace(0, 1, DIMS))


@pytest.fixture
def served():
    """A collection, calls to it, and a device that is not enrolled yet."""
    with fast_folder() as name:
        collection = made(Path(name) / "collection", users=4)
        app = create_app(collection)
        device = Device(Path(name) / "books" / "device.sqlite", witnesses=Path(name) / "witnesses")
        yield collection, calls_to(app), device
        app.state.service.stop()
        collection.database.close()


@pytest.fixture
def asked(served):
    """A collection that asks one enrolled device, the device, and its visits."""
    collection, calls, device = served
    enrol(device, calls, "http://localhost", token_of(collection, collection.invite()[0]), HELD)
    collection.publish(PLAN, later())
    return collection, device, lambda: visit(device, calls, collection.settings.id, HELD)


def token_of(collection, invited):
    return Invitation(invited.secret, collection.key.public).token()


def stored(collection):
    with collection.database.reading() as connection:
        return [bytes(each) for each in connection.execute(select(REPORTS.c.message)).scalars()]


def test_a_collector_from_an_old_backup_gets_the_same_bytes_again_for_nothing(asked):
    collection, device, visits = asked
    visits()
    before, left = stored(collection), device.spendings()[0].left
    with collection.database.writing() as connection:
        connection.execute(delete(REPORTS))
    (seen,) = visits()
    assert seen.delivered and seen.inquiry.kept
    assert stored(collection) == before and len(before) == 1
    assert device.spendings()[0].left == left


def test_a_key_that_was_replaced_and_not_rotated_is_another_collection_to_a_device(asked):
    collection, _, visits = asked
    (collection.folder / KEY).unlink()
    SigningKey.generate().write(collection.folder / KEY)
    collection._ring = KeyRing(collection.folder)
    (seen,) = visits()
    assert seen.refusal is not None and seen.refusal.reason == "signature"
    assert stored(collection) == []


def test_a_key_from_a_backup_before_a_rotation_gets_no_answer_from_who_has_followed(asked):
    collection, device, visits = asked
    kept = (collection.folder / KEY).read_bytes()
    collection.rotate()
    (seen,) = visits()
    assert seen.delivered and len(device.keys(collection.settings.id)) == 2
    (collection.folder / SUCCESSIONS).unlink()
    (collection.folder / KEY).write_bytes(kept)
    with pytest.raises(RefusalError, match="shows 0 changes of the key") as caught:
        visits()
    assert caught.value.reason == "key"


def made_earlier(collection, device):
    """Turn an enrolled device, and what the collector knows of it, into those of an earlier version."""
    key, name = (collection.folder / KEY).read_bytes(), collection.roster().pseudonym[0]
    former = forged(key, 0, name)
    with collection.database.writing() as connection:
        told = {"credential": keys.hashed(former.encode()), "derived": True}
        connection.execute(ROSTER.update().where(ROSTER.c.node == 0).values(**told))
    with sqlite3.connect(device.path) as books:
        (text,) = books.execute("SELECT agreement FROM agreements").fetchone()
        books.execute(
            "UPDATE agreements SET agreement = ?", (json.dumps(json.loads(text) | {"credential": former}),)
        )
        books.execute("DROP TABLE credentials")
        books.execute("PRAGMA user_version = 2")
    books.close()
    Device(device.path, witnesses=device.path.parents[1] / "witnesses")
    return former


def test_a_collection_of_an_earlier_version_goes_on_and_rotating_its_key_disturbs_nobody(asked):
    collection, device, visits = asked
    made_earlier(collection, device)
    (first,) = visits()
    collection.rotate()
    collection.publish(PLAN.model_copy(update={"round": 2}), later())
    (second,) = visits()
    assert [first.status, second.status] == [201, 201] and not collection.roster().derived.any()


def test_a_device_that_was_cut_off_comes_back_by_a_new_invitation_and_has_spent_what_it_spent(served):
    collection, calls, device = served
    enrol(device, calls, "http://localhost", token_of(collection, collection.invite()[0]), HELD, excluded=())
    collection.publish(PLAN, later())
    identity = collection.settings.id
    visit(device, calls, identity, HELD)
    made_earlier(collection, device)
    collection.rotate()
    with pytest.raises(ServerError, match="ask for a new invitation") as caught:
        visit(device, calls, identity, HELD)
    assert caught.value.status == 401
    (invited,) = collection.invite(["p0"])
    again = enrol(device, calls, "http://localhost", token_of(collection, invited), HELD)
    assert (again.user, again.pseudonym) == (0, invited.pseudonym.hex())
    assert visit(device, calls, identity, HELD) == []
    collection.publish(PLAN.model_copy(update={"round": 2}), later())
    (seen,) = visit(device, calls, identity, HELD)
    assert seen.delivered and len(stored(collection)) == 2
    assert device.spendings()[0].lifetime.epsilon == 2.0
    calls.forget(own_credential(device, calls, identity))
    assert collection.roster().forgotten[0] and stored(collection) == []


def test_a_fresh_device_must_agree_to_the_same_terms(served):
    collection, calls, device = served
    first, *_ = collection.invite()
    enrol(device, calls, "http://localhost", token_of(collection, first), HELD, cap=Cap(1.5))
    token = token_of(collection, collection.invite(["p0"])[0])
    folder = device.path.parents[1]
    other = Device(folder / "books" / "other.sqlite", witnesses=folder / "witnesses")
    with pytest.raises(ServerError, match="agreed to other terms when you first enrolled"):
        enrol(other, calls, "http://localhost", token, HELD)
    assert enrol(other, calls, "http://localhost", token, HELD, cap=Cap(1.5)).user == 0
    with pytest.raises(ServerError, match="not known"):
        visit(device, calls, collection.settings.id, HELD)
