"""Whoever writes a client from docs/wire-format.md computes the classes that the tables on it show, and so do we."""

import hashlib
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from graphveil import Plan
from graphveil.channels.canonical import canonical

PAGE = (Path(__file__).parents[2] / "docs" / "wire-format.md").read_text(encoding="utf-8")
PLANS = [line.strip() for line in PAGE.splitlines() if line.startswith('    {"mechanism":"krr"')]
LINES = re.findall(
    r"^\| (\d+) \| ([-\d.NaInfity ]+) \| ([-\d ]+) \| (\d+) \| ([-\d ]+) \| (\d) \|$", PAGE, re.MULTILINE
)
VECTORS = [(plan, line) for plan in PLANS for line in LINES if int(line[0]) in json.loads(plan)["users"]]


def by_the_page(plan, user, row):
    """The steps of the page, one after the other: v, n, the scores of the list, the place."""
    model, place = plan["model"], plan["users"].index(user)
    low, high = plan["range"]
    v = []
    for x in row:
        point = model["levels"] // 2
        if not math.isnan(x):
            point = math.floor((min(max(x, low), high) - low) / (high - low) * (model["levels"] - 1) + 0.5)
        v.append(point - model["zero"])
    n = max(math.isqrt(sum(each**2 for each in v)), 1) if model["unit"] else 1
    inner, weights = v, model.get("weights") or model["second"]
    if model["kind"] == "hidden":
        sums = [sum(w * x for w, x in zip(first, v, strict=True)) for first in model["first"]]
        inner = [
            max(0, s + b * n) // 2 ** model["shift"] for s, b in zip(sums, model["first_bias"], strict=True)
        ]
    listed = plan["lists"][place]
    offsets = plan["offsets"][place] if "offsets" in plan else [0] * len(listed)
    scores = [
        sum(w * x for w, x in zip(weights[each], inner, strict=True)) + (model["bias"][each] + offset) * n
        for each, offset in zip(listed, offsets, strict=True)
    ]
    return v, n, scores, scores.index(max(scores))


def test_the_page_has_two_plans_and_twelve_rows():
    assert (len(PLANS), len(VECTORS)) == (2, 12)
    assert {line[5] for _, line in VECTORS} == {"0", "1", "2"}


@pytest.mark.parametrize(("text", "line"), VECTORS)
def test_a_row_gives_the_numbers_that_the_page_shows(text, line):
    user, row = int(line[0]), [float(value) for value in line[1].split()]
    v, n, scores, place = by_the_page(json.loads(text), user, row)
    assert (v, scores) == ([int(each) for each in line[2].split()], [int(each) for each in line[4].split()])
    assert (n, place) == (int(line[3]), int(line[5]))


@pytest.mark.parametrize(("text", "line"), VECTORS)
def test_our_client_gives_the_place_that_the_page_shows(text, line):
    part = Plan.from_json(text).part([int(line[0])])
    row = np.array([[float(value) for value in line[1].split()]])
    assert part.build().places_of(row).tolist() == [int(line[5])]


@pytest.mark.parametrize("text", PLANS)
def test_plans_are_written_as_the_page_shows_them_and_their_models_have_its_digests(text):
    plan = Plan.from_json(text)
    assert plan.to_json() == text
    assert f"`{plan.model.digest}`" in PAGE


@pytest.mark.parametrize("text", PLANS)
def test_a_digest_follows_from_the_fields_that_the_page_names(text):
    told = json.loads(text)["model"]
    fields = {"kind": told["kind"], "levels": told["levels"], "zero": told["zero"], "unit": told["unit"]}
    arrays = {"weights": told.get("weights") or told["second"], "bias": told["bias"]}
    arrays |= {name: told[name] for name in ("first", "first_bias") if name in told}
    whole = {
        **fields,
        "shift": told.get("shift", 0),
        **{name: np.array(each) for name, each in arrays.items()},
    }
    assert Plan.from_json(text).model.digest == hashlib.sha256(canonical(whole)).hexdigest()


def test_the_fingerprint_of_a_part_follows_from_the_bytes_on_the_page():
    shown = next(
        line.strip()
        for line in PAGE.splitlines()
        if line.startswith("    {") and '"of":"class","offsets"' in line
    )
    part = Plan.from_json(PLANS[0]).part([17])
    assert hashlib.sha256(shown.encode("ascii")).hexdigest() == part.build().fingerprint
    assert f"`{part.build().fingerprint}`" in PAGE


# A sketch of a row

SKETCHED = next(line.strip() for line in PAGE.splitlines() if line.startswith('    {"mechanism":"privunit"'))
HASHES = re.findall(r"^\| (\d) \| `([0-9A-F]{16})` \| (\d) \| (-?1) \|$", PAGE, re.MULTILINE)
SUMS = re.findall(r"^\| ([-\d.NaInfity ]+) \| ([-\d. ]+) \| ([\d.]+) \|$", PAGE, re.MULTILINE)


def hash_by_the_page(seed, i):
    whole = 1 << 64
    a = (seed + (i + 1) * 0x9E3779B97F4A7C15) % whole
    b = (a ^ (a >> 30)) * 0xBF58476D1CE4E5B9 % whole
    c = (b ^ (b >> 27)) * 0x94D049BB133111EB % whole
    return c ^ (c >> 31)


def sketch_by_the_page(plan, row):
    """The steps of the page: z, before it is divided."""
    told, (low, high) = plan["options"], plan["range"]
    z = [0.0] * plan["dims"]
    for i, x in enumerate(row):
        h = hash_by_the_page(told["hash_seed"], i)
        moved = 0.0 if math.isnan(x) else min(max(x, low), high) - told["centre"]
        z[(h >> 32) * plan["dims"] >> 32] += -moved if h % 2 else moved
    return z


def test_the_page_has_six_hashes_and_four_sketches():
    assert (len(HASHES), len(SUMS)) == (6, 4)


@pytest.mark.parametrize(("i", "shown", "place", "sign"), HASHES)
def test_a_hash_is_the_one_that_the_page_shows(i, shown, place, sign):
    h, size = hash_by_the_page(7, int(i)), json.loads(SKETCHED)["dims"]
    assert (f"{h:016X}", (h >> 32) * size >> 32, -1 if h % 2 else 1) == (shown, int(place), int(sign))


@pytest.mark.parametrize(("row", "shown", "square"), SUMS)
def test_a_sketch_has_the_numbers_that_the_page_shows(row, shown, square):
    z = sketch_by_the_page(json.loads(SKETCHED), [float(value) for value in row.split()])
    assert z == [float(each) for each in shown.split()]
    assert sum(each**2 for each in z) == float(square)


@pytest.mark.parametrize(("row", "shown", "square"), SUMS)
def test_our_client_makes_the_sketch_that_the_page_shows(row, shown, square):
    given = np.array([[float(value) for value in row.split()]])
    found = Plan.from_json(SKETCHED).build().sketch.of(given)[0]
    expected = np.array([float(each) for each in shown.split()]) / (math.sqrt(float(square)) or 1.0)
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_the_plan_of_a_sketch_is_written_as_the_page_shows_it():
    assert Plan.from_json(SKETCHED).to_json() == SKETCHED


def test_the_fingerprint_of_a_sketch_follows_from_the_bytes_on_the_page():
    shown = next(
        line.strip() for line in PAGE.splitlines() if line.startswith("    {") and '"sketch"' in line
    )
    found = Plan.from_json(SKETCHED).build().fingerprint
    assert hashlib.sha256(shown.encode("ascii")).hexdigest() == found
    assert f"`{found}`" in PAGE
