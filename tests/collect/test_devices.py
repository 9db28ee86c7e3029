"""Real devices and a real collector, over sockets: what they answer is what is read."""

from contextlib import contextmanager

import numpy as np
import pytest

from graphveil.client.calls import Calls
from graphveil.client.device import Device
from graphveil.client.held import Held
from graphveil.client.transport import Http
from graphveil.client.visit import enrol, give_row, own_credential, visit
from graphveil.collect.learning import RoundOpenError, StudyTerms
from graphveil.collect.study import learn_collection, learned_alone
from graphveil.experiments.experiment import Experiment
from graphveil.mechanisms import ClassModel, Reports
from graphveil.privacy import Envelope, Invitation, Plan, join_parts
from tests.collect.campaign import HOST, Collector
from tests.collect.small import PLAN, later, made

USERS = 4


@contextmanager
def running(collection):
    """A collection, the address of its collector in a process of its own, and everybody's token."""
    tokens = [Invitation(each.secret, collection.key.public).token() for each in collection.invite()]
    collection.database.close()
    collector = Collector(collection.folder)
    collector.start()
    yield collection, f"http://{HOST}:{collector.port}", tokens
    collector.kill()
    collection.database.close()


@pytest.fixture
def collector(tmp_path):
    with running(made(tmp_path / "c", USERS)) as told:
        yield told


def new_device(folder, name):
    return Device(folder / "books" / f"device-{name}", witnesses=folder / "witnesses")


def test_devices_enrol_answer_and_are_forgotten(collector, tmp_path):
    collection, server, tokens = collector
    calls, rows = Calls(Http(server)), np.random.default_rng(0).random((USERS, 8))
    devices = [new_device(tmp_path, user) for user in range(USERS)]
    holding = [Held(row=rows[user]) for user in range(USERS)]
    agreed = [
        enrol(device, calls, server, token, held, volunteer=user == 0, excluded=(2,) if user == 3 else ())
        for user, (device, token, held) in enumerate(zip(devices, tokens, holding, strict=True))
    ]
    assert [each.user for each in agreed] == list(range(USERS))
    assert give_row(devices[0], calls, agreed[0].collection, holding[0])
    np.testing.assert_array_equal(collection.panel().rows, rows[:1])

    def all_visit():
        return [
            visit(device, calls, agreed[0].collection, held)
            for device, held in zip(devices, holding, strict=True)
        ]

    values = collection.publish(PLAN, later())
    assert values.asked.tolist() == [0, 1, 2]
    asked = {"of": "class", "classes": 2, "dims": 8, "range": (0, 1), "users": (3, 1)}
    model = {
        "kind": "linear",
        "weights": np.eye(2, 8, dtype=int).tolist(),
        "bias": [0, 0],
        "levels": 9,
        "zero": 0,
    }
    question = Plan(
        mechanism="krr", epsilon=1.0, round=2, model=ClassModel.of(model), lists=[[0, 1], [1, 0]], **asked
    )
    assert collection.publish(question, later()).asked.tolist() == [3, 1]
    first = all_visit()
    assert [[each.status for each in visited] for visited in first] == [[201], [201, 201], [201], [201]]
    assert all_visit() == [[], [], [], []]
    for number in (1, 2):
        collection.close(number)
    assert collection.reports(1).places.tolist() == [0, 1, 2]
    assert collection.reports(2).asked == 2 and collection.reports(2).answered is None
    calls.forget(own_credential(devices[1], calls, agreed[1].collection))
    assert collection.reports(1).places.tolist() == [0, 2]
    assert collection.reports(2).places.tolist() == [0]


@pytest.fixture
def linked(tmp_path):
    with running(made(tmp_path / "c", 24, private_links=True, epsilon=9.0, classes=2)) as told:
        yield told


def test_solitude_learns_from_devices_that_hold_links_what_one_process_learns_from_their_reports(
    linked, tmp_path
):
    collection, server, tokens = linked
    calls, rows = Calls(Http(server)), np.random.default_rng(0).random((24, 8))
    # Everybody is linked to the next on a ring, but for the last three, who are linked to nobody and answer all the same.
    ids = [(f"p{user - 1}", f"p{user + 1}") if user < 21 else () for user in range(24)]
    spec = Experiment.of("solitude", "collection", epsilon=2.0, link_epsilon=6.0, settings={"epochs": 3})
    terms = StudyTerms("solitude", later())
    devices = [new_device(tmp_path, user) for user in range(24)]
    holding = [Held(row=rows[user], neighbour_ids=ids[user]) for user in range(24)]
    for device, token, held in zip(devices, tokens, holding, strict=True):
        enrol(device, calls, server, token, held)
    with pytest.raises(RoundOpenError, match=r"Round 1 .*features.* Round 2 .*links"):
        learn_collection(collection, spec, terms)
    sealed = {1: [], 2: []}
    for device, held in zip(devices, holding, strict=True):
        (agreement,) = device.agreements()
        credential = own_credential(device, calls, agreement.collection)
        for signed in calls.questions(credential, agreement.offer):
            known = held.among(agreement.collection, calls.people(credential, agreement.offer))
            each = device.answer(agreement.collection, signed, known)
            sealed[each.round].append(Envelope.from_bytes(each.envelope).message)
            # What was kept is what is sent, however often.
        assert [each.status for each in visit(device, calls, agreement.collection, held)] == [201, 201]
    for number in (1, 2):
        collection.close(number)
    learned = learn_collection(collection, spec, terms)
    plans = {each.number: each.plan.part(range(24)) for each in collection.rounds()}
    from_devices = [
        join_parts(
            plans[number],
            [
                (part, Reports.from_bytes(message, part.build()))
                for part, message in zip(plans[number].parts(), sealed[number], strict=True)
            ],
        )
        for number in (1, 2)
    ]
    alone = learned_alone(collection, learned, from_devices)
    assert alone.scores.tobytes() == learned.outcome.scores.tobytes()
    assert set(learned.parts) == {"method", "control", "structure"}
    assert {each.lifetime.epsilon for device in devices for each in device.spendings()} == {8.0}


def test_devices_follow_a_new_key_of_a_collector_that_goes_on_running(collector, tmp_path):
    collection, server, tokens = collector
    calls, held = Calls(Http(server)), Held(row=np.full(8, 0.5))
    device, late = new_device(tmp_path, "early"), new_device(tmp_path, "late")
    known = enrol(device, calls, server, tokens[0], held).collection
    collection.publish(PLAN, later())
    (first,) = visit(device, calls, known, held)
    collection.rotate()
    # An invitation from before the change leads to the new key.
    assert enrol(late, calls, server, tokens[1], held).offer.key == collection.key.public
    collection.publish(PLAN.model_copy(update={"round": 2}), later())
    (second,) = visit(device, calls, known, held)
    assert [first.status, second.status] == [201, 201]
    assert [each.status for each in visit(late, calls, known, held)] == [201]
    assert device.keys(known) == late.keys(known) and len(device.keys(known)) == 2
    assert device.spendings()[0].lifetime.epsilon == 2.0
