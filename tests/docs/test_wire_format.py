"""Whoever writes a client from docs/wire-format.md computes the classes that the tables on it show, and so do we."""

import base64
import hashlib
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from graphveil import Plan
from graphveil.channels import laplace, square_wave, three_output
from graphveil.channels.channel import canonical
from graphveil.channels.sampling import AliasTable, DrawnBits
from graphveil.client import checking
from graphveil.client.keys import KeyChain
from graphveil.privacy import Envelope, Invitation, Question, Succession, plan_digest
from graphveil.privacy.credential import FORM, credential_hash
from graphveil.privacy.people import person_digest
from graphveil.privacy.plan import described
from tests.client.support import public_key, sign, sign_succession

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


def test_the_page_has_two_plans_and_twelve_rows_whose_numbers_it_shows():
    assert (len(PLANS), len(VECTORS)) == (2, 12)
    assert {line[5] for _, line in VECTORS} == {"0", "1", "2"}
    failed = []
    for text, line in VECTORS:
        user, row = int(line[0]), [float(value) for value in line[1].split()]
        shown = [int(each) for each in line[2].split()], int(line[3]), [int(each) for each in line[4].split()]
        if by_the_page(json.loads(text), user, row) != (*shown, int(line[5])):
            failed.append(line)
    assert not failed, failed
    failed = []
    for text, line in VECTORS:
        part = Plan.from_json(text).part([int(line[0])])
        row = np.array([[float(value) for value in line[1].split()]])
        if part.build().places_of(row).tolist() != [int(line[5])]:
            failed.append(line)
    assert not failed, failed


@pytest.mark.parametrize("text", PLANS)
def test_plans_are_written_as_the_page_shows_them_with_digests_of_the_fields_that_it_names(text):
    plan = Plan.from_json(text)
    assert plan.to_json() == text
    assert f"`{plan.model.digest}`" in PAGE
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


def test_sketches_parts_and_labels_are_written_and_identified_by_the_bytes_on_the_page():
    shown = next(
        line.strip()
        for line in PAGE.splitlines()
        if line.startswith("    {") and '"of":"class","offsets"' in line
    )
    part = Plan.from_json(PLANS[0]).part([17])
    assert hashlib.sha256(shown.encode("ascii")).hexdigest() == part.build().fingerprint
    assert f"`{part.build().fingerprint}`" in PAGE
    assert Plan.from_json(SKETCHED).to_json() == SKETCHED
    shown = next(
        line.strip() for line in PAGE.splitlines() if line.startswith("    {") and '"sketch"' in line
    )
    found = Plan.from_json(SKETCHED).build().fingerprint
    assert hashlib.sha256(shown.encode("ascii")).hexdigest() == found
    assert f"`{found}`" in PAGE
    assert f"`{KRR.to_json()}`" in PAGE


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


def test_the_page_has_six_hashes_and_four_sketches_with_the_numbers_that_it_shows():
    assert (len(HASHES), len(SUMS)) == (6, 4)
    size, found = json.loads(SKETCHED)["dims"], []
    for i, *_ in HASHES:
        h = hash_by_the_page(7, int(i))
        found.append((i, f"{h:016X}", str((h >> 32) * size >> 32), "-1" if h % 2 else "1"))
    assert found == HASHES
    found, expected = [], []
    for row, shown, square in SUMS:
        z = sketch_by_the_page(json.loads(SKETCHED), [float(value) for value in row.split()])
        found.append((row, z, sum(each**2 for each in z)))
        expected.append((row, [float(each) for each in shown.split()], float(square)))
    assert found == expected
    given = np.array([[float(value) for value in row.split()] for row, *_ in SUMS])
    expected = np.array([[float(each) for each in shown.split()] for _, shown, _ in SUMS])
    lengths = [math.sqrt(float(square)) or 1.0 for *_, square in SUMS]
    found = np.concatenate([Plan.from_json(SKETCHED).build().sketch.of(row[None]) for row in given])
    np.testing.assert_allclose(found, expected / np.array(lengths)[:, None], rtol=1e-15)


KRR = Plan(mechanism="krr", epsilon=1.0, classes=3, users=(7,))
DRAWN = re.findall(
    r"^\| (\d) \| `([0-9A-F]{16})` \| (\d+) \| ([0-2]) \|$", PAGE.split("## Drawing")[1], re.MULTILINE
)
MULTIBIT = next(line.strip() for line in PAGE.splitlines() if line.startswith('    {"mechanism":"multibit"'))
SAMPLED = re.findall(
    r"^\| ([-\d.Na ]+) \| `([0-9A-F ]{101})` \| ([\d ]+) \| ([\d ]+) \|$", PAGE, re.MULTILINE
)
# Lines that hold one thing alone.
ALONE = [line.strip() for line in PAGE.splitlines() if line.startswith("    ") and " " not in line.strip()]


def words_of(text):
    return [int(word, 16) for word in text.split()]


def alias_by_the_page(counts):
    """The columns of one row: own output, alias, level; and how many bits name a column."""
    bits = max((len(counts) - 2).bit_length(), 1)
    columns, height = 1 << bits, 1 << (62 - bits)
    mass = list(counts) + [0] * (columns + 1 - len(counts))
    order = [o for o in range(columns + 1) if mass[o] < height] + [
        o for o in range(columns + 1) if mass[o] >= height
    ]
    g, n, a = sum(each < height for each in mass), 1, order[0]
    made = []
    for _ in range(columns):
        rich = g <= columns
        b = order[g] if rich else order[min(n, columns)]
        made.append((a, b, mass[a]))
        mass[b] -= height - mass[a]
        if mass[b] < height:
            a = b
            g, n = (g + 1, n) if rich else (g, n + 1)
        else:
            a = order[min(n, columns)]
            n += 1
    return made, bits


def draw_by_the_page(counts, word):
    if len(counts) == 2:
        return int(word // 4 < counts[1])
    made, bits = alias_by_the_page(counts)
    column = word >> (64 - bits)
    own, alias, level = made[column]
    return own if word < (column << (64 - bits)) + 4 * level else alias


def sample_by_the_page(plan, table, row, words):
    """Dimensions and codes of one row."""
    d, m, (low, high) = plan["dims"], plan["sampled"], plan["range"]
    left, taken = list(words), []
    for j in range(d - m, d):
        word = left.pop(0)
        while word < (1 << 64) % (j + 1):
            word = left.pop(0)
        t = word % (j + 1)
        taken.append(j if t in taken else t)
    dims, symbols = sorted(taken), []
    for dim in dims:
        x = row[dim]
        v = 0.0 if math.isnan(x) else min(max((x - (low + high) / 2) / ((high - low) / 2), -1.0), 1.0)
        symbols.append(int((left.pop(0) >> 11) * 2.0**-53 < (v + 1) / 2))
    return dims, [draw_by_the_page(table[symbol], left.pop(0)) for symbol in symbols]


def test_the_page_has_six_labels_and_their_codes():
    assert (len(DRAWN), len(SAMPLED)) == (6, 3)
    other, symbols = 977407917986947741, 3
    surplus = 2**62 - symbols * other
    assert f"s = {surplus}" in PAGE
    by_the_page, ours = [], []
    for label, word, *_ in DRAWN:
        u = int(word, 16) // 4
        code = int(label) if u < surplus else (u - surplus) // other
        by_the_page.append((label, word, str(u), str(code)))
        drawn = KRR.build().randomize([int(label)], DrawnBits(np.array(words_of(word), dtype=np.uint64)))
        ours.append(drawn.codes.tolist())
    assert by_the_page == DRAWN
    assert ours == [[int(code)] for *_, code in DRAWN]
    other = 2**62 // 3
    for word in (0, 3, 1 << 63, (1 << 64) - 1):
        u = word // 4
        code = 0 if u < 2**62 - 3 * other else (u - (2**62 - 3 * other)) // other
        drawn = KRR.build().randomize([9], DrawnBits(np.array([word], dtype=np.uint64)))
        assert drawn.codes.tolist() == [code]


def test_rows_give_the_dimensions_and_codes_that_the_page_shows():
    plan = Plan.from_json(MULTIBIT)
    (channel,) = plan.build().channels
    table = channel.table.tolist()
    assert json.dumps(table, separators=(",", ":")) in ALONE
    by_the_page, ours, shown = [], [], []
    for row, words, dims, codes in SAMPLED:
        given = [float(value) for value in row.split()]
        shown.append(tuple([int(each) for each in part.split()] for part in (dims, codes)))
        by_the_page.append(sample_by_the_page(json.loads(MULTIBIT), table, given, words_of(words)))
        source = DrawnBits(np.array(words_of(words), dtype=np.uint64))
        drawn = plan.build().randomize(np.array([given]), source)
        ours.append((drawn.dims.tolist(), drawn.codes.tolist()))
    assert by_the_page == shown
    assert ours == shown


@pytest.mark.parametrize("channel", [laplace(1.0), square_wave(0.7), three_output(2.0)])
def test_alias_tables_are_made_as_the_page_says(channel):
    ours = AliasTable.build(channel.table)
    for row, counts in list(enumerate(channel.table.tolist()))[:5]:
        made, bits = alias_by_the_page(counts)
        slots = slice(row << bits, (row + 1) << bits)
        cuts = [(j << (64 - bits)) + 4 * level for j, (_, _, level) in enumerate(made)]
        assert [int(cut) for cut in ours.cuts[slots]] == cuts
        # Outputs that are not there, whose level is 0, are never drawn.
        pairs = ours.codes.reshape(-1, 2)[slots].tolist()
        assert [pair for pair, (_, _, level) in zip(pairs, made, strict=True) if level] == [
            [alias, own] for own, alias, level in made if level
        ]
        words = np.random.default_rng(row).integers(0, 1 << 64, 50, dtype=np.uint64)
        drawn = channel.respond(np.full(50, row), DrawnBits(words.copy()))
        assert drawn.tolist() == [draw_by_the_page(counts, int(word)) for word in words]


PRIVATE = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")


def message_of(plan, private, words):
    source = DrawnBits(np.array(words_of(words), dtype=np.uint64))
    return plan.build().randomize(private, source).to_bytes()


def test_the_envelope_holds_messages_that_are_the_bytes_on_the_page():
    assert message_of(KRR, [2], DRAWN[1][1]).hex() in ALONE
    row, words, *_ = SAMPLED[0]
    given = np.array([[float(value) for value in row.split()]])
    assert message_of(Plan.from_json(MULTIBIT), given, words).hex() in ALONE
    envelope = Envelope(
        bytes(range(16, 32)).hex(),
        bytes(range(32, 48)).hex(),
        plan_digest(KRR),
        message_of(KRR, [2], DRAWN[1][1]),
    )
    assert envelope.to_bytes().hex() in ALONE


def test_the_longest_report_of_a_direction_is_that_of_the_page():
    assert "√(k + 2√(kt) + 4t + g²) + √k·2^-10" in PAGE and "t = 64·ln 2" in PAGE
    built = Plan(mechanism="privunit", epsilon=2.0, dims=9, range=(0, 1)).build()
    k, g, t = 9, built.cap.threshold, 64 * math.log(2)
    assert built.longest == pytest.approx(
        math.sqrt(k + 2 * math.sqrt(k * t) + 4 * t + g**2) + math.sqrt(k) * 2**-10
    )


@pytest.mark.parametrize("plan", [KRR, Plan.from_json(PLANS[0]).part([17])])
def test_digests_follow_from_the_bytes_on_the_page(plan):
    shown = canonical(described(plan)).decode("ascii")
    assert shown in ALONE
    digest = hashlib.sha256(shown.encode("ascii")).hexdigest()
    assert digest == plan_digest(plan) and f"`{digest}`" in PAGE


def test_the_digests_of_people_the_token_and_the_credential_are_those_of_the_page():
    told = re.search(
        r"In the collection `(\w+)` the ids\nann and bob have the digests\n\n +(\w+)\n +(\w+)\n", PAGE
    )
    collection, ann, bob = told.groups()
    assert [person_digest(collection, name).hex() for name in ("ann", "bob")] == [ann, bob]
    written = b"graphveil-person-1\n" + collection.encode() + b"\nann"
    assert hashlib.sha256(written).hexdigest()[:32] == ann
    token = Invitation(bytes(range(16)), public_key(PRIVATE)).token()
    assert token in ALONE and f"`{public_key(PRIVATE).hex()}`" in PAGE and f"`{PRIVATE.hex()}`" in PAGE
    credential = base64.urlsafe_b64encode(bytes(range(32))).rstrip(b"=").decode()
    assert FORM.fullmatch(credential) and credential in ALONE
    assert credential_hash(credential).hex() == hashlib.sha256(credential.encode()).hexdigest()
    assert credential_hash(credential).hex() in ALONE


def test_the_signature_on_the_page_is_that_of_its_question():
    shown = next(line.strip() for line in PAGE.splitlines() if line.startswith('    {"collection"'))
    question = Question.from_payload(shown.encode("ascii"))
    assert question.payload().decode("ascii") == shown and question.plan == KRR
    signed = sign(question, PRIVATE)
    assert signed.signature.hex() in ALONE
    assert signed.signed == b"graphveil-question-1\n" + shown.encode("ascii")


def test_the_succession_on_the_page_is_signed_by_both_keys():
    old, new = (
        re.search(r"test 1 of RFC 8032, `(\w{64})`", PAGE)[1],
        re.search(r"\(private key `(\w{64})`\)", PAGE)[1],
    )
    payload, by_old, by_new = re.search(
        r"^    (\{\"after\".*\})\n\nwith the signatures[^\n]*\n\n    (\w{128})\n    (\w{128})\n",
        PAGE,
        re.MULTILINE,
    ).groups()
    told = Succession.from_payload(payload.encode())
    assert told.payload().decode() == payload
    keys = [public_key(bytes.fromhex(private)) for private in (old, new)]
    assert [told.before, told.after] == keys
    signed = sign_succession(told, bytes.fromhex(old), bytes.fromhex(new))
    assert [signed.old.hex(), signed.new.hex()] == [by_old, by_new]
    assert KeyChain(told.collection, keys[0]).followed([signed]).current == keys[1]


def test_the_page_names_every_reason_of_a_refusal():
    table = checking.__doc__.split("| --- | --- |\n")[1]
    reasons = {line.split("|")[1].strip() for line in table.splitlines() if line.startswith("|")}
    assert len(reasons) == 19
    assert [reason for reason in reasons if f"`{reason}`" not in PAGE] == []
