"""veil on a sharded graph: from disk in one process, and by workers that hold some of its partitions each."""

import numpy as np
import pytest

from graphveil import learn
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.unit import RunUnit
from graphveil.graphs import Town
from graphveil.graphs.collective import SINGLE_PROCESS
from graphveil.privacy import Plan
from graphveil.scale import write_town
from graphveil.scale.shard_learning import ShardTask, ShardUsers, run_shard_unit, shard_part
from graphveil.scale.workers import ProcessWorkers

PARTITIONS = 4


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    return write_town(
        Town(users=800), tmp_path_factory.mktemp("town") / "town", partitions=PARTITIONS, seed=0
    )


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
    users = ShardUsers(shards, part, range(PARTITIONS), seed=0)
    users.open(np.full(800, 1.0), 0.0)
    nobody = users.report(Plan(mechanism=mechanism, epsilon=1.0, dims=64, range=(0, 1), users=()))
    somebody = users.report(Plan(mechanism=mechanism, epsilon=1.0, dims=64, range=(0, 1), users=(3, 700)))
    assert nobody.users == nobody.asked == 0 and somebody.users == 2
    assert nobody.codes.dtype == somebody.codes.dtype
    assert (nobody.dims is None) == (somebody.dims is None)
    assert nobody.estimate().shape == (0, 64)
    assert not users.ledgers[1].spent.any() and users.ledgers[0].spent.sum() == 1.0
