"""A hostile plan is refused or served: within seconds, within a gigabyte, with a sentence that can be read."""

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from graphveil import InputError, Plan, SeededBits
from graphveil.mechanisms import NeighbourLists, mechanism, names
from graphveil.mechanisms.limits import MAX_DIMS, MAX_LEVELS, MAX_MEMORY, MAX_REPORT, MAX_TABLES
from tests.refusals import check_refused
from tests.together import together

CAMPAIGN = Path(__file__).with_name("hostile_settings.py")


def found_by_campaign(*words):
    """What the campaign found, by mechanism, in a process with little memory."""
    command = [sys.executable, str(CAMPAIGN), *words]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    found = {}
    for line in ran.stdout.splitlines():
        entry = json.loads(line)
        found.setdefault(entry.pop("name"), []).append(entry)
    return found


@pytest.fixture(scope="module")
def campaign():
    """It runs once, without what takes long: tests/slow has all of it."""
    return found_by_campaign("brief")


@pytest.mark.parametrize("name", names())
def test_hostile_settings_are_refused_or_served(campaign, name):
    *wrong, whole = campaign[name]
    assert wrong == []
    assert whole["tried"] > 1000


HOSTILE = [
    ("multibit", {"dims": 10**12, "range": (0, 1)}, "dims must be at most"),
    ("hds", {"dims": MAX_DIMS + 1, "range": (0, 1)}, "dims must be at most"),
    ("privunit", {"dims": 10**30, "radius": 1.0}, "63 bits"),
    ("link-rr", {"dims": MAX_DIMS + 1}, "at most 1048576 users"),
    ("blink", {"dims": 50_000_000}, "at most 1048576 users"),
    ("piecewise", {"dims": 1, "range": (0, 1), "points": 514}, "points must be an integer from 2 to 513"),
    ("gaussian", {"dims": 1, "range": (0, 1), "points": 1026}, "points must be an integer from 2 to 513"),
    ("krr", {"classes": 10**12}, "number of symbols must be"),
    ("esw", {"levels": 513}, "levels must be an integer from 2 to 512"),
    ("latent", {"dims": 1, "range": (0, 1), "bits": 17}, "bits must be an integer from 1 to 16"),
    ("item", {"dims": 5, "length": 6}, "length must be an integer from 1 to 5"),
    ("ppm", {"dims": 5, "range": (0, 1), "levels": 65}, "levels must be an integer from 2 to 64"),
    ("ppm", {"dims": 5, "range": (0, 1), "budgets": [1 + k / 99 for k in range(65)]}, "at most 64 levels"),
    (
        "ppm",
        {"dims": 999, "range": (0, 1), "budgets": [1 + 2.2 * k for k in range(64)]},
        "too many to verify",
    ),
    ("ppm-printed", {"dims": 5, "range": (0, 1), "inner": "hybrid", "points": 513}, "entries: "),
    (
        "featurerr",
        {"dims": MAX_TABLES + 1, "range": (0, 1), "shares": list(range(1, MAX_TABLES + 2))},
        "different tables",
    ),
    (
        "featurerr",
        {"dims": 5, "range": (0, 1), "bins": 1024, "shares": list(range(5))},
        "entries: ",
    ),
    ("multibit", {"dims": 5, "range": (0, 1), "pool": [0] * 6}, "pool must hold different dimensions"),
    ("multibit", {"dims": 5, "range": (0, 1), "binary": [1, 2]}, "binary must be True or False"),
]


def test_what_is_too_much_is_refused_in_a_sentence():
    check_refused(lambda name, settings: mechanism(name, epsilon=1.0, **settings), HOSTILE)


LEGITIMATE = [
    ("multibit", {"dims": MAX_DIMS, "range": (0, 1)}),
    ("onebit", {"dims": 10**6, "range": (0, 1)}),
    ("privunit", {"dims": 10**5, "radius": 1.0}),
    ("link-rr", {"dims": MAX_DIMS}),
    ("laplace", {"dims": 1, "range": (0, 1), "points": 513}),
    ("krr", {"classes": 10**6}),
    ("esw", {"levels": 64}),
    ("latent", {"dims": 1, "range": (0, 1), "bits": 16}),
    ("item", {"dims": 10**6, "length": 1000}),
    ("ppm", {"dims": 5, "range": (0, 1), "budgets": [1 + k / 99 for k in range(MAX_LEVELS)]}),
    ("ppm-printed", {"dims": 5, "range": (0, 1), "inner": "hybrid", "points": 257}),
    ("featurerr", {"dims": 1433, "range": (0, 1), "shares": list(range(1, 1434))}),
    ("multibit", {"dims": 5, "range": (0, 1), "sampled": 2, "pool": [0, 3], "binary": True}),
]


@together(("name", "settings"), LEGITIMATE)
def test_what_people_use_is_served(name, settings):
    assert mechanism(name, epsilon=1.0, **settings).name == name


def test_a_hostile_plan_is_refused_before_anything_is_made():
    text = '{"mechanism": "multibit", "epsilon": 1.0, "dims": 1000000000000, "range": [0, 1]}'
    with pytest.raises(InputError, match="dims must be at most"):
        Plan.from_json(text)
    assert Plan.from_json(text.replace("1000000000000", "1000000")).dims == 10**6

    def read():
        with pytest.raises(InputError, match="at most 1048576 users"):
            Plan.from_json('{"mechanism": "link-rr", "epsilon": 1e-6, "dims": 50000000, "users": [49999999]}')

    assert peak_of(read) < 1 << 20


# The heaviest plans that are served, in what they make a client hold or send.
HEAVIEST = {
    "many people, hardly any budget": {"mechanism": "link-rr", "epsilon": 1e-6, "dims": MAX_DIMS},
    "degrees among many people": {"mechanism": "dprr", "epsilon": 1e-6, "dims": MAX_DIMS},
    "a large table": {
        "mechanism": "hybrid", "epsilon": 10.0, "dims": 1, "range": (0, 1), "options": {"points": 513},
    },
    "many levels": {"mechanism": "esw", "epsilon": 0.001, "levels": 512},
    "all of many values": {"mechanism": "laplace", "epsilon": 20.0, "dims": MAX_DIMS, "range": (0, 1)},
}  # fmt: skip


def peak_of(action):
    """The most memory that an action took, in bytes."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("fields", HEAVIEST.values(), ids=HEAVIEST)
def test_what_a_plan_makes_a_client_hold_and_send_is_bounded(fields):
    owner = MAX_DIMS - 1
    sent = []

    def respond():
        plan = Plan(**fields, users=(owner,))
        lists = NeighbourLists(np.array([owner]), np.array([0, 1]), np.array([3]))
        held = {"links": lists, "features": np.zeros((1, plan.dims or 1)), "level": [1]}[plan.subject]
        sent.append(plan.build().randomize(held, SeededBits(0)).to_bytes())

    assert peak_of(respond) < MAX_MEMORY
    assert len(sent[0]) <= MAX_REPORT


def test_a_mechanism_from_elsewhere_cannot_make_a_client_send_more(monkeypatch):
    monkeypatch.setattr("graphveil.mechanisms.registry.MAX_REPORT", 1000)
    with pytest.raises(InputError, match="at most 1000 are sent"):
        mechanism("onebit", epsilon=1.0, dims=2000, range=(0, 1))
