"""Privacy levels in a collection: they stay on devices, the cap counts the most that one may cost, and ppgnn learns from the reports."""

import time
from pathlib import Path

import numpy as np
import pytest

from graphveil.client import Device, Held, enrol, visit
from graphveil.collect.app import create_app
from graphveil.collect.learning import RoundOpenError, StudyTerms
from graphveil.collect.study import learn_collection, learned_alone
from graphveil.experiments.experiment import Experiment
from graphveil.privacy import Invitation
from tests.client.support import fast_folder
from tests.collect.small import DIMS, calls_to, made

USERS = 24
SPEC = Experiment.of("ppgnn", "collection", epsilon=1.0, levels=2, settings={"epochs": 2})
ROWS = np.random.default_rng(5).random((USERS, DIMS))


def learn(collection):
    return learn_collection(collection, SPEC, StudyTerms("ppgnn", int(time.time()) + 1000))


@pytest.fixture(scope="module")
def collected():
    """A collection that ppgnn has learned from, what it learned, the spendings of all devices, and every byte that they sent."""
    with fast_folder() as name:
        folder = Path(name)
        collection = made(folder / "collection", users=USERS)
        app, sent = create_app(collection), []
        calls = calls_to(app, sent)
        people = []
        for invited in collection.invite():
            device = Device(folder / "books" / f"{invited.node}.sqlite", witnesses=folder / "witnesses")
            held = Held(row=ROWS[invited.node], level=1 + invited.node % 2)
            token = Invitation(invited.secret, collection.key.public).token()
            enrol(device, calls, "http://localhost", token, held)
            people.append((device, held))
        with pytest.raises(RoundOpenError, match=f"asks {USERS} users \\(features, ppm\\)"):
            learn(collection)
        seen = [visit(device, calls, collection.settings.id, held)[0] for device, held in people]
        assert all(each.delivered for each in seen)
        collection.close(1)
        learned = learn(collection)
        yield collection, learned, [device.spendings()[0] for device, _ in people], sent
        app.state.service.stop()
        collection.database.close()


def test_ppgnn_learns_bit_for_bit_and_charges_everybody_what_the_least_strict_level_costs(collected):
    """So neither books nor refusals tell a level."""
    collection, learned, spendings, sent = collected
    again = learned_alone(collection, learned)
    assert again.scores.tobytes() == learned.outcome.scores.tobytes()
    assert set(learned.scores) == {"method", "control", "structure"}
    assert "ε = 1 or 2 by level" in learned.privacy().sentence
    assert not any(b"level" in body for body in sent)
    assert {each.left.epsilon for each in spendings} == {0.0}
    assert {each.lines[0].costs for each in spendings} == {(2.0,)}
    assert learned.books.total().epsilon == 2.0
