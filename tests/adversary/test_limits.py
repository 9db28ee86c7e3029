"""A hostile plan is refused or served: within seconds, within a gigabyte, with a sentence that can be read."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from graphveil import InputError, Plan, SeededWords
from graphveil.mechanisms import NeighbourLists, mechanism, names
from graphveil.mechanisms.limits import MAX_DIMS, MAX_LEVELS, MAX_TABLES

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
    ("link-rr", {"dims": 2**31}, "at most 2147483647 users"),
    ("piecewise", {"dims": 1, "range": (0, 1), "points": 2050}, "points must be an integer from 2 to 2049"),
    ("gaussian", {"dims": 1, "range": (0, 1), "points": 1026}, "points must be an integer from 2 to 513"),
    ("krr", {"classes": 10**12}, "number of symbols must be"),
    ("esw", {"levels": 1025}, "levels must be an integer from 2 to 1024"),
    ("latent", {"dims": 1, "range": (0, 1), "bits": 17}, "bits must be an integer from 1 to 16"),
    ("item", {"dims": 5, "length": 6}, "length must be an integer from 1 to 5"),
    ("ppm", {"dims": 5, "range": (0, 1), "levels": 65}, "levels must be an integer from 2 to 64"),
    ("ppm", {"dims": 5, "range": (0, 1), "budgets": [1 + k / 99 for k in range(65)]}, "at most 64 levels"),
    (
        "ppm",
        {"dims": 999, "range": (0, 1), "budgets": [1 + 2.2 * k for k in range(64)]},
        "too many to verify",
    ),
    ("ppm-printed", {"dims": 5, "range": (0, 1), "inner": "hybrid", "points": 2049}, "entries, more than"),
    (
        "featurerr",
        {"dims": MAX_TABLES + 1, "range": (0, 1), "shares": list(range(1, MAX_TABLES + 2))},
        "different tables",
    ),
    (
        "featurerr",
        {"dims": 50, "range": (0, 1), "bins": 1024, "shares": list(range(50))},
        "entries, more than",
    ),
    ("multibit", {"dims": 5, "range": (0, 1), "pool": [0] * 6}, "pool must hold different dimensions"),
    ("multibit", {"dims": 5, "range": (0, 1), "binary": [1, 2]}, "binary must be True or False"),
]


@pytest.mark.parametrize(("name", "settings", "words"), HOSTILE)
def test_what_is_too_much_is_refused_in_a_sentence(name, settings, words):
    with pytest.raises(InputError, match=words):
        mechanism(name, epsilon=1.0, **settings)


LEGITIMATE = [
    ("multibit", {"dims": MAX_DIMS, "range": (0, 1)}),
    ("onebit", {"dims": 10**6, "range": (0, 1)}),
    ("privunit", {"dims": 10**5, "radius": 1.0}),
    ("link-rr", {"dims": 10**9}),
    ("laplace", {"dims": 1, "range": (0, 1), "points": 2049}),
    ("krr", {"classes": 10**6}),
    ("esw", {"levels": 64}),
    ("latent", {"dims": 1, "range": (0, 1), "bits": 16}),
    ("item", {"dims": 10**6, "length": 1000}),
    ("ppm", {"dims": 5, "range": (0, 1), "budgets": [1 + k / 99 for k in range(MAX_LEVELS)]}),
    ("ppm-printed", {"dims": 5, "range": (0, 1), "inner": "hybrid", "points": 257}),
    ("featurerr", {"dims": 1433, "range": (0, 1), "shares": list(range(1, 1434))}),
    ("multibit", {"dims": 5, "range": (0, 1), "sampled": 2, "pool": [0, 3], "binary": True}),
]


@pytest.mark.parametrize(("name", "settings"), LEGITIMATE)
def test_what_people_use_is_served(name, settings):
    assert mechanism(name, epsilon=1.0, **settings).name == name


def test_a_hostile_plan_cannot_be_read():
    text = '{"mechanism": "multibit", "epsilon": 1.0, "dims": 1000000000000, "range": [0, 1]}'
    with pytest.raises(InputError, match="dims must be at most"):
        Plan.from_json(text)
    assert Plan.from_json(text.replace("1000000000000", "1000000")).dims == 10**6


def test_one_of_a_billion_users_answers_about_links():
    lists = NeighbourLists(np.array([70]), np.array([0, 2]), np.array([3, 999_999_999]))
    reports = mechanism("link-rr", epsilon=1.0, dims=10**9).randomize(lists, SeededWords(0))
    assert reports.users == 1
