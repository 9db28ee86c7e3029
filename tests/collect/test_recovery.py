"""What docs/collection.md says of backups and keys: old data are sent again for nothing, and another key is another collection."""

import asyncio
from pathlib import Path

import httpx
import numpy as np
import pytest
from sqlalchemy import delete, select

from graphveil.client import Calls, Device, Held, Response, enrol, visit
from graphveil.collect.folder import KEY
from graphveil.collect.key_ring import SUCCESSIONS, KeyRing
from graphveil.collect.keys import SigningKey
from graphveil.collect.schema import REPORTS
from graphveil.collect.service import create_app
from graphveil.errors import RefusalError
from graphveil.privacy import Invitation
from tests.client.support import fast_folder
from tests.collect.small import DIMS, PLAN, later, made

HELD = Held(row=np.linspace(0, 1, DIMS))


@pytest.fixture
def asked():
    """A collection that asks one enrolled device, the device, and its calls."""
    with fast_folder() as name:
        collection = made(Path(name) / "collection", users=4)
        app = create_app(collection)

        async def call(method, path, body, headers):
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                answer = await client.request(method, path, content=body, headers=headers)
            return Response(answer.status_code, answer.content, dict(answer.headers))

        calls = Calls(lambda *given: asyncio.run(call(*given)), lambda attempt: attempt())
        token = Invitation(collection.invite()[0].secret, collection.key.public).token()
        device = Device(Path(name) / "device.sqlite", witnesses=Path(name) / "witnesses")
        enrol(device, calls, "http://localhost", token, HELD)
        collection.publish(PLAN, later())
        yield collection, device, lambda: visit(device, calls, collection.settings.id, HELD)
        app.state.service.writer.stop()
        collection.database.close()


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
