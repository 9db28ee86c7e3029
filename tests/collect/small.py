"""Small collections for tests: people on a ring, who enrol and answer without a device."""

import asyncio
import resource
import time
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace

import httpx
import numpy as np

from graphveil.client import Calls, Response
from graphveil.collect import roster, writer
from graphveil.collect.app import create_app
from graphveil.collect.folder import CollectionSettings
from graphveil.collect.public_graph import PublicGraph
from graphveil.collect.roster import Member
from graphveil.collect.storage import create_collection
from graphveil.mechanisms import NeighbourLists
from graphveil.privacy import Ledger, Plan, answer
from graphveil.privacy.credential import credential_hash, new_credential
from graphveil.privacy.envelope import Envelope
from graphveil.privacy.plan import plan_digest

DIMS, RANGE = 8, (0.0, 1.0)
PLAN = Plan(mechanism="multibit", epsilon=1.0, dims=DIMS, range=RANGE)


def ring(users, first=0):
    """A graph on a ring; every third label is unknown."""
    numbers = np.arange(users)
    return PublicGraph(
        edges=np.stack([numbers, (numbers + 1) % users], axis=1),
        labels=np.where(numbers % 3 == 2, -1, numbers % 2),
        ids=np.array([f"p{first + number}" for number in numbers]),
    )


def people(users):
    """The same people without links."""
    return replace(ring(users), edges=np.empty((0, 2), dtype=np.int64))


def made(folder, users=12, **settings):
    """A collection to which everybody was invited."""
    told = {"id": "", "purpose": "to test", "epsilon": 2.0, "dims": DIMS, "range": RANGE, "volunteers": True}
    public = people(users) if settings.get("private_links") else ring(users)
    return create_collection(folder, public, CollectionSettings(**{**told, **settings}))


def enrolled(collection, **agreed):
    """Invite and enrol everybody alike; the credentials by node."""
    agreement = roster.RosterAgreement(**{"epsilon": 2.0, **agreed})
    credentials = {}
    with_secrets = collection.invite()
    with collection.database.writing() as connection:
        for each in with_secrets:
            credentials[each.node] = new_credential()
            own = credential_hash(credentials[each.node])
            assert roster.enrol(connection, each.secret, own, agreement) == Member(each.node, each.pseudonym)
    return credentials


def asking(collection, **agreed):
    """Enrol everybody and ask them all; their credentials and the round."""
    return enrolled(collection, **agreed), collection.publish(PLAN, later())


def later(seconds=3600):
    return int(time.time()) + seconds


def rows_of(nodes, dims=DIMS):
    return np.random.default_rng(1).random((max(nodes) + 1, dims))[list(nodes)]


def messages(round, nodes):
    """A message of each of these nodes, as their devices would send it."""
    sent = {}
    for node in nodes:
        part = round.plan.part([node])
        private = rows_of([node], part.dims) if part.subject == "features" else np.array([node % 2])
        if part.subject == "links":
            private = NeighbourLists(np.array([node]), np.array([0, 1]), np.array([node - 1]))
        sent[node] = answer(part, private, Ledger(users=node + 1, epsilon=9.0)).to_bytes()
    return sent


def report_id(round, node):
    return round.to_bytes(8, "big") + node.to_bytes(8, "big")


def arrived(collection, round, nodes):
    """Let these nodes answer, in the order given; what they sent."""
    sent = messages(round, nodes)
    with collection.database.writing() as connection:
        writer.store(
            connection,
            [writer.Arrival(round.number, node, report_id(round.number, node), sent[node]) for node in nodes],
        )
    return sent


def calls_to(app, sent=None):
    """The calls of a device to an application, without sockets; every body that is sent is noted, if there is a list for it."""

    async def call(method, path, body, headers, limit):
        if sent is not None:
            sent.append(body or b"")
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            answer = await client.request(method, path, content=body, headers=headers)
        return Response(answer.status_code, answer.content, dict(answer.headers))

    return Calls(lambda *given: asyncio.run(call(*given)), lambda attempt: attempt())


@asynccontextmanager
async def serving(collection, **options):
    """A client of the collector's application, without sockets."""
    app = create_app(collection, **options)
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://collector") as client:
            yield client


def served(collection, work, **options):
    """What a coroutine of a client gives while the collector's application runs."""

    async def run():
        async with serving(collection, **options) as client:
            return await work(client)

    return asyncio.run(run())


def bearer(credential):
    return {"Authorization": f"Bearer {credential}"}


def envelope(collection, round, node, message=None, report=None, pseudonym=None, digest=None):
    """The bytes that the device of a node sends in a round."""
    return Envelope(
        report=report or report_id(round.number, node).hex(),
        pseudonym=pseudonym or collection.roster().pseudonym[node].hex(),
        digest=digest or plan_digest(round.plan.part([node])),
        message=messages(round, [node])[node] if message is None else message,
    ).to_bytes()


def address(round, node, number=None):
    return f"/v1/rounds/{number or round.number}/reports/{report_id(round.number, node).hex()}"


@contextmanager
def files_no_larger_than(size):
    """As on a disk without any more room: no file of this process can grow beyond a size."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
