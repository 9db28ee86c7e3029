"""Reports beside a sharded graph come back as they were, partition by partition."""

import json
import shutil

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from graphveil import InputError, MessageError, Plan, SeededBits
from graphveil.graphs import load
from graphveil.privacy.plan import plan_digest
from graphveil.scale import PartReports, facts, finish_reports, write_part_reports, write_shards
from graphveil.scale.stored_reports import write_reports

FEATURES = Plan(mechanism="multibit", epsilon=2.0, dims=64, range=(0, 1))
BITS = Plan(mechanism="onebit", epsilon=2.0, dims=64, range=(0, 1), users=(399, 5, 17, 200, 3))
LABELS = Plan(mechanism="krr", epsilon=1.0, classes=4, users=tuple(range(0, 400, 3)))
SOME = (17, 300, 2, 250)
CLASS = Plan(
    mechanism="krr",
    epsilon=1.0,
    of="class",
    classes=2,
    dims=64,
    range=(0, 1),
    users=SOME,
    lists=[[0, 1], [2, 3], [1, 3], [3, 0]],
    model={"kind": "linear", "weights": np.eye(4, 64, dtype=int).tolist(), "bias": [0, 0, 0, 0]},
)


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    graph, users = load("town", users=400)
    shards = write_shards(graph, tmp_path_factory.mktemp("town") / "town", partitions=3, users=users)
    original = shards.table(0, 3).original
    number = np.empty(400, dtype=np.int32)
    number[original] = np.arange(400, dtype=np.int32)
    return users, shards, number


def answered(users, plan, share=None):
    asking = users.declare(9.0, seed=3)
    reports = asking.report(plan)
    if share is None:
        return reports
    return reports.answered_by(np.random.default_rng(0).random(reports.asked) < share)


def by_user(plan, reports, users):
    """What each user who answered has sent: dimensions and codes."""
    asked = np.arange(400) if plan.users == "all" else np.array(plan.users)
    who = asked if users is None else users
    rows = {}
    for row, place in enumerate(reports.places):
        part = slice(int(reports.indptr[row]), int(reports.indptr[row + 1]))
        dims = None if reports.dims is None else reports.dims[part].tolist()
        rows[int(who[place])] = (dims, reports.codes[part].tolist())
    return rows


@pytest.mark.parametrize("plan", [FEATURES, BITS, LABELS, CLASS], ids=["features", "bits", "labels", "class"])
@pytest.mark.parametrize("share", [None, 0.5], ids=["all", "half"])
def test_what_was_answered_comes_back_for_the_same_users(town, plan, share):
    users, shards, number = town
    reports = answered(users, plan, share)
    write_reports(shards.path, shards.manifest, plan, reports, number)
    stored = shards.reports(plan)
    assert (stored.asked, stored.answered) == (reports.asked, reports.users)
    found = {}
    asked = 0
    for partition in range(3):
        table = shards.table(partition, partition + 1)
        part = stored.partition(partition, table.original)
        assert (np.diff(part.users) > 0).all() and part.reports.asked == len(part.users)
        found |= by_user(plan, part.reports, table.original[part.users - table.first])
        asked += len(part.users)
    assert found == by_user(plan, reports, None) and asked == reports.asked


def test_estimates_of_a_partition_are_rows_of_the_whole_estimate(town):
    users, shards, number = town
    reports = answered(users, FEATURES, 0.5)
    write_reports(shards.path, shards.manifest, FEATURES, reports, number)
    whole = reports.estimate().dense()
    table = shards.table(1, 2)
    part = shards.reports(FEATURES).partition(1, table.original)
    assert np.array_equal(part.reports.estimate().dense(), whole[table.original])


def test_a_class_is_told_with_the_lists_of_the_part(town):
    users, shards, number = town
    write_reports(shards.path, shards.manifest, CLASS, answered(users, CLASS), number)
    lists = dict(zip(SOME, CLASS.lists.array.tolist(), strict=True))
    for partition in range(3):
        table = shards.table(partition, partition + 1)
        # Original numbers are read where they are not given.
        part = shards.reports(CLASS).partition(partition)
        own = table.original[part.users - table.first]
        assert not own.size or part.reports.mechanism.lists.array.tolist() == [
            lists[int(user)] for user in own
        ]


def test_workers_may_write_their_own_partitions(town, tmp_path):
    """Each partition answers by itself; the plan is written when all have."""
    _, shards, _ = town
    shutil.copytree(shards.path, tmp_path / "town", ignore=shutil.ignore_patterns("reports"))
    shards = type(shards)(tmp_path / "town", shards.manifest)
    told = []
    for partition in range(3):
        part = shards.manifest.partitions[partition]
        reports = shards.simulated_users(partition).declare(9.0, seed=partition).report(FEATURES)
        told.append(PartReports(np.arange(part.first, part.end), reports))
        write_part_reports(shards.path, FEATURES, partition, told[-1])
        assert shards.reports(FEATURES) is None
    finish_reports(shards.path, FEATURES, 400, 400)
    for partition in range(3):
        found = shards.reports(FEATURES).partition(partition, shards.table(partition, partition + 1).original)
        assert found.reports == told[partition].reports
        assert np.array_equal(found.users, told[partition].users)


def test_a_folder_is_named_by_the_digest_of_the_plan_and_a_plan_that_nobody_was_asked_has_none(town):
    users, shards, number = town
    write_reports(shards.path, shards.manifest, LABELS, answered(users, LABELS), number)
    digest = plan_digest(LABELS)
    told = json.loads((shards.path / "reports" / digest[:16] / "plan.json").read_text())
    assert told["digest"] == digest
    assert plan_digest(Plan.from_json(json.dumps(told["plan"]))) == digest
    assert town[1].reports(FEATURES.model_copy(update={"epsilon": 1.75})) is None


@pytest.fixture
def damaged(town, tmp_path):
    """Answers to the labels' plan that a test may damage."""
    users, shards, number = town
    shutil.copytree(shards.path, tmp_path / "town", ignore=shutil.ignore_patterns("reports"))
    copied = type(shards)(tmp_path / "town", shards.manifest)
    write_reports(copied.path, copied.manifest, LABELS, answered(users, LABELS), number)
    return copied, copied.path / "reports" / plan_digest(LABELS)[:16]


def test_a_plan_that_is_damaged_or_another_one_is_refused(damaged):
    shards, place = damaged
    told = json.loads((place / "plan.json").read_text())
    (place / "plan.json").write_text(json.dumps({**told, "digest": "0" * 64}))
    with pytest.raises(InputError, match="holds answers to another plan, 0000"):
        shards.reports(LABELS)
    assert facts(shards)["reports"] == [{"plan": place.name, "asked": 134, "answered": 134}]
    (place / "plan.json").write_text("{")
    with pytest.raises(InputError, match=r"plan\.json is not JSON"):
        facts(shards)
    with pytest.raises(InputError, match=r"plan\.json is not JSON"):
        shards.reports(LABELS)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("user", 399, "its users are not those of the partition"),
        ("codes", [1, 2], "must hold 1 codes"),
        ("codes", [9], "codes must be below 4, got 9"),
        ("answered", False, "its columns do not fit each other"),
    ],
)
def test_answers_that_nobody_can_have_sent_are_refused(damaged, name, value, words):
    shards, place = damaged
    file = place / "part-0000.parquet"
    table = parquet.read_table(file)
    column = table.column_names.index(name)
    values = [value, *table.column(name).to_pylist()[1:]]
    kind = table.schema.field(name)
    parquet.write_table(table.set_column(column, kind, pyarrow.array(values, kind.type)), file)
    with pytest.raises((InputError, MessageError), match=words):
        shards.reports(LABELS).partition(0, shards.table(0, 1).original)


def test_links_are_not_kept(town):
    users, shards, number = town
    plan = Plan(mechanism="link-rr", epsilon=1.0, dims=400)
    reports = plan.build().randomize(users.raw.asked(plan), SeededBits(1))
    with pytest.raises(InputError, match="a sharded graph numbers them anew"):
        write_reports(shards.path, shards.manifest, plan, reports, number)
