"""Real devices with the real collector: what they seal is what it keeps, and both keep the same books."""

import asyncio
from pathlib import Path

import httpx
import numpy as np
import pytest

from graphveil import InputError
from graphveil.client import Calls, Cap, Device, Held, Response, enrol, give_row, visit
from graphveil.collect.service import create_app
from graphveil.privacy import Invitation, Plan
from tests.client.support import fast_folder
from tests.collect.small import DIMS, PLAN, RANGE, later, made

ROWS = np.random.default_rng(5).random((4, DIMS))


@pytest.fixture
def folder():
    with fast_folder() as name:
        yield Path(name)


@pytest.fixture
def collection(folder):
    made_collection = made(folder / "collection", users=4)
    yield made_collection
    made_collection.database.close()


@pytest.fixture
def calls(collection):
    """Calls to the collector's application, without sockets."""
    app = create_app(collection)

    async def call(method, path, body, headers):
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            answer = await client.request(method, path, content=body, headers=headers)
        return Response(answer.status_code, answer.content, dict(answer.headers))

    yield Calls(lambda *given: asyncio.run(call(*given)), lambda attempt: attempt())
    app.state.service.writer.stop()


def devices(folder, collection, calls, **terms):
    """A device of everybody who was invited, enrolled."""
    made_devices = []
    for invited in collection.invite():
        device = Device(folder / f"{invited.node}.sqlite", witnesses=folder / "witnesses")
        token = Invitation(invited.secret, collection.key.public).token()
        held = Held(row=ROWS[invited.node])
        enrol(device, calls, "http://localhost", token, held, **terms)
        made_devices.append((device, held))
    return made_devices


def test_devices_answer_and_the_collector_reads_their_reports(folder, collection, calls):
    everybody = devices(folder, collection, calls, volunteer=True)
    collection.publish(PLAN, later())
    for device, held in everybody:
        (seen,) = visit(device, calls, collection.settings.id, held)
        assert seen.delivered, (seen.status, seen.said, seen.refusal)
        assert visit(device, calls, collection.settings.id, held) == []
        assert give_row(device, calls, collection.settings.id, held)
    collection.close(1)
    reports = collection.reports(1)
    assert reports.users == 4 and reports.answered is None
    np.testing.assert_array_equal(collection.panel().rows, ROWS)


def test_both_sides_keep_the_same_books(folder, collection, calls):
    """A plan that would overdraw everybody is not published, so no device needs to refuse it."""
    everybody = devices(folder, collection, calls, cap=Cap(1.0))
    collection.publish(PLAN, later())
    for device, held in everybody:
        visit(device, calls, collection.settings.id, held)
        assert device.spendings()[0].left.epsilon == 0.0
    with pytest.raises(InputError, match="nobody would answer this plan"):
        collection.publish(Plan(mechanism="multibit", epsilon=0.5, dims=DIMS, range=RANGE), later())


def test_whoever_excludes_what_a_plan_reaches_is_not_asked(folder, collection, calls):
    (first, held), *_ = devices(folder, collection, calls, excluded=(3,))
    pool = {"pool": [0, 1], "from_pool": 1}
    collection.publish(PLAN.model_copy(update={"sampled": 1, "options": pool}), later())
    with pytest.raises(InputError, match="nobody would answer this plan"):
        collection.publish(PLAN.model_copy(update={"epsilon": 0.5}), later())
    (seen,) = visit(first, calls, collection.settings.id, held)
    assert seen.delivered
