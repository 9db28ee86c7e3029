"""Runs on sharded graphs that are never loaded as a whole."""

import shutil

import numpy as np
import pytest
from pyarrow import parquet

from graphveil import learn
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.runner import compute_unit
from graphveil.experiments.unit import RunUnit
from graphveil.graphs import Town, Users, load
from graphveil.graphs.collective import SINGLE_PROCESS
from graphveil.privacy import Plan
from graphveil.scale import (
    PartReports,
    finish_reports,
    open_shards,
    shard_reader,
    write_part_reports,
    write_shards,
    write_town,
)
from graphveil.scale.shard_learning import (
    RECORD,
    RowFiles,
    ShardTask,
    ShardUsers,
    learn_shards,
    partitions_of,
    run_shard_unit,
    shard_part,
)
from graphveil.scale.workers import Caller, ProcessWorkers

PARTITIONS = 3


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch):
    monkeypatch.setattr(shard_reader, "MOST_ENTRIES", 100)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    graph, users = load("town", users=600)
    out = tmp_path_factory.mktemp("shards") / "town"
    write_shards(graph, out, partitions=PARTITIONS, users=users)
    return out


def experiment_of(folder, method="lpgnn", **options):
    settings = {"epochs": 5, "lr": 0.1, **options.pop("settings", {})}
    return Experiment.of(method, str(folder), epsilon=4.0, settings=settings, **options)


def learned(folder, *, on_disk, method="lpgnn", part="method"):
    return learn_shards(
        ShardTask(RunUnit(experiment_of(folder, method), part), on_disk=on_disk), SINGLE_PROCESS, Caller()
    )


@pytest.mark.parametrize("method", ["base", "lpgnn", "upgnet", "ldpge"])
def test_links_on_disk_give_what_links_in_memory_give(folder, method):
    disk, memory = (learned(folder, on_disk=on_disk, method=method) for on_disk in (True, False))
    assert disk.taken.outcome.validation_loss == pytest.approx(memory.taken.outcome.validation_loss, rel=1e-5)
    assert (disk.hits, disk.tested) == (memory.hits, memory.tested)
    assert disk.tested > 400


def test_workers_give_what_one_process_gives_and_all_users_count(folder):
    spec = experiment_of(folder)
    alone = run_shard_unit(ShardTask(RunUnit(spec), on_disk=True), 1)
    shared = run_shard_unit(ShardTask(RunUnit(spec)), 2, ProcessWorkers())
    assert shared.score == pytest.approx(alone.score, abs=0.002)
    assert alone.privacy == shared.privacy
    assert [each.users for each in shared.privacy.rounds] == [600]
    assert (shared.asked, shared.answered) == (600, 600)
    assert shared.workers == 2 and alone.workers is None
    assert shared.also["worker_0_sent_mb"] > 0


def test_reports_do_not_depend_on_who_asks(folder):
    shards = open_shards(folder)
    plan = Plan(mechanism="multibit", epsilon=4.0, dims=64, range=(0, 1), binary=True)

    def asked(partitions):
        part = shard_part(shards, SINGLE_PROCESS, on_disk=True)
        users = ShardUsers(shards, part, partitions, seed=5)
        users.open(np.full(600, 4.0), 0.0)
        return users.report(plan), users

    everybody, _ = asked(range(PARTITIONS))
    second, users = asked(range(1, 2))
    begin, end = shards.manifest.partitions[1].first, shards.manifest.partitions[1].end
    np.testing.assert_array_equal(
        second.codes, everybody.codes[everybody.indptr[begin] : everybody.indptr[end]]
    )
    assert [ledger.spent.max() for ledger in users.ledgers] == [4.0]


@pytest.mark.parametrize("blind", [True, False])
def test_only_reports_of_the_control_tell_nothing_of_features(folder, tmp_path, blind):
    graph, users = load("town", users=600)
    other = Users(1 - users.raw.features, users.raw.labels)
    flipped = write_shards(graph, tmp_path / "flipped", partitions=PARTITIONS, users=other)

    def told(shards):
        part = shard_part(shards, SINGLE_PROCESS, on_disk=True)
        asked = ShardUsers(shards, part, range(PARTITIONS), seed=5, blind=blind)
        asked.open(np.full(600, 4.0), 0.0)
        return asked.report(Plan(mechanism="multibit", epsilon=4.0, dims=64, range=(0, 1), binary=True))

    assert np.array_equal(told(open_shards(folder)).codes, told(flipped).codes) == blind


def test_reports_that_were_collected_are_learned_from_without_what_users_hold(folder, tmp_path):
    public = tmp_path / "public"
    shutil.copytree(folder, public)
    shards = open_shards(public)
    part = shard_part(shards, SINGLE_PROCESS, on_disk=True)
    spec = experiment_of(public)
    users = ShardUsers(shards, part, partitions_of(shards, 0, 1), seed=0)
    users.open(np.full(600, 4.0), 0.0)
    plan = Plan(mechanism="multibit", epsilon=4.0, dims=64, range=(0.0, 1.0), binary=True)
    reports = users.report(plan)
    for partition, (begin, end) in enumerate(users.places):
        own = np.arange(begin, end, dtype=np.int64)
        rows = slice(int(reports.indptr[begin]), int(reports.indptr[end]))
        told = type(reports)(
            reports.mechanism,
            reports.indptr[begin : end + 1] - reports.indptr[begin],
            None if reports.dims is None else reports.dims[rows],
            reports.codes[rows],
        )
        write_part_reports(public, plan, partition, PartReports(own, told))
    finish_reports(public, plan, 600, 600)
    simulated = learned(public, on_disk=True)
    shutil.rmtree(public / "users")
    unit = compute_unit(RunUnit(spec))
    assert unit.score == simulated.taken.outcome.validation_score
    with pytest.raises(InputError, match="holds no reports to this question"):
        compute_unit(RunUnit(spec.having(epsilon=2.0)))


@pytest.mark.parametrize(("kind", "column"), [("predictions", "class"), ("embeddings", "embedding")])
def test_rows_are_written_by_partition(folder, tmp_path, kind, column):
    out = RowFiles(tmp_path / "out", kind)
    unit = run_shard_unit(ShardTask(RunUnit(experiment_of(folder)), on_disk=True, out=out), 1)
    files = sorted((tmp_path / "out").iterdir())
    assert [file.name for file in files] == [f"part-{number:04d}.parquet" for number in range(PARTITIONS)]
    rows = [parquet.read_table(file) for file in files]
    original = np.concatenate([table["original"].to_numpy() for table in rows])
    assert sorted(original) == list(range(600))
    assert all(column in table.column_names for table in rows)
    if kind == "predictions":
        graph, users = _whole(folder)
        classes = np.empty(600, dtype=np.int64)
        classes[original] = np.concatenate([table["class"].to_numpy() for table in rows])
        assert users.evaluate(classes, graph) == pytest.approx(unit.score)


def test_a_folder_is_filled_anew_after_an_interrupt_but_not_where_it_holds_something_or_cannot_be_made(
    tmp_path,
):
    for name in (RECORD, "mine.txt"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / name).touch()
        with pytest.raises(InputError, match="is there already"):
            RowFiles(folder, "predictions").make_folder()
    out = RowFiles(tmp_path / "out", "predictions")
    out.make_folder()
    (tmp_path / "out" / "part-0000.parquet").touch()
    out.make_folder()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be made"):
        RowFiles(tmp_path / "file" / "out", "predictions").make_folder()


def _whole(folder):
    before = shard_reader.MOST_ENTRIES
    shard_reader.MOST_ENTRIES = 10**9
    try:
        return load(str(folder))
    finally:
        shard_reader.MOST_ENTRIES = before


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"task": "link"}, "classes are predicted"),
        ({"participation": 0.5}, "everybody answers"),
        ({"backbone": "gat"}, "weighs each edge itself"),
    ],
)
def test_what_is_not_learned_from_shards_is_refused(folder, options, why):
    with pytest.raises(InputError, match=why):
        compute_unit(RunUnit(experiment_of(folder, **options)))


def test_more_workers_than_partitions_are_refused_before_they_start(folder):
    with pytest.raises(InputError, match="has 3 partitions, and each of 4 workers needs one"):
        partitions_of(open_shards(folder), 0, 4)
    with pytest.raises(InputError, match=f"has {PARTITIONS} partitions, and each of 4 workers needs one"):
        run_shard_unit(ShardTask(RunUnit(experiment_of(folder))), 4, NobodyStarts())


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_workers_have_all_partitions_between_them(folder, workers):
    shards = open_shards(folder)
    ranges = [partitions_of(shards, rank, workers) for rank in range(workers)]
    assert [partition for each in ranges for partition in each] == list(range(PARTITIONS))
    assert all(len(each) for each in ranges)


class NobodyStarts:
    def run(self, *_):
        pytest.fail("workers were started")


QUARTERS = 4


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    return write_town(Town(users=800), tmp_path_factory.mktemp("town") / "town", partitions=QUARTERS, seed=0)


def test_workers_learn_what_one_process_learns_from_disk(shards):
    settings = {"epochs": 4, "about": "neighbours"}
    spec = Experiment.of("veil", str(shards.path), epsilon=4.0, settings=settings)
    with learn.one_thread():
        alone = run_shard_unit(ShardTask(RunUnit(spec), on_disk=True), 1)
    found = run_shard_unit(ShardTask(RunUnit(spec)), 2, ProcessWorkers())
    assert found.score == alone.score
    assert found.detail == alone.detail
    for name in ("answers_used", "asked_for_class", "model_nats"):
        assert found.also[name] == pytest.approx(alone.also[name], rel=1e-5)


@pytest.mark.parametrize("mechanism", ["multibit", "privunit"])
def test_a_plan_that_asks_nobody_here_has_no_reports(shards, mechanism):
    part = shard_part(shards, SINGLE_PROCESS)
    users = ShardUsers(shards, part, range(QUARTERS), seed=0)
    users.open(np.full(800, 1.0), 0.0)
    nobody = users.report(Plan(mechanism=mechanism, epsilon=1.0, dims=64, range=(0, 1), users=()))
    somebody = users.report(Plan(mechanism=mechanism, epsilon=1.0, dims=64, range=(0, 1), users=(3, 700)))
    assert nobody.users == nobody.asked == 0 and somebody.users == 2
    assert nobody.codes.dtype == somebody.codes.dtype
    assert (nobody.dims is None) == (somebody.dims is None)
    assert nobody.estimate().shape == (0, 64)
    assert not users.ledgers[1].spent.any() and users.ledgers[0].spent.sum() == 1.0
