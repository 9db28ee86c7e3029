"""--workers: one run by several workers."""

import json

import pytest

from graphveil.graphs import load
from graphveil.scale import shard_reader, write_shards

pytestmark = pytest.mark.usefixtures("own_folder")
SMALL = "--epsilon 4 --set epochs=2"
SHARED = f"run base --data town --set data.users=400 {SMALL} --runs 1 --no-control --workers 2"


@pytest.fixture
def shards(tmp_path, monkeypatch):
    monkeypatch.setattr(shard_reader, "MOST_ENTRIES", 100)
    graph, users = load("town", users=400)
    write_shards(graph, tmp_path / "town", partitions=2, users=users)
    return str(tmp_path / "town")


def test_a_result_says_what_each_worker_took(call):
    numbers = {name: value["mean"] for name, value in call(SHARED, "--json").json["also"].items()}
    assert numbers["workers"] == 2
    for rank in range(2):
        assert numbers[f"worker_{rank}_peak_mb"] > 0 and numbers[f"worker_{rank}_sent_mb"] > 0
    shown = call(SHARED)
    assert "2 workers shared each run" in shown.words and "beyond libraries" in shown.words
    own = f"for {numbers['worker_0_users']:,.0f}, {numbers['worker_1_users']:,.0f} users of their own"
    assert own in shown.words
    assert "Reused 1 finished run" in shown.err


def test_a_large_sharded_graph_is_run_predicted_and_embedded_from_disk(call, shards, tmp_path):
    told = call(f"run base --data {shards}", SMALL, "--runs 1 --no-control --json").json
    assert told["also"]["on_disk"]["mean"] == 1
    for command in ("predict", "embed"):
        out = tmp_path / command
        words = (f"{command} base --data {shards}", SMALL, f"--out {out}")
        record = call(*words, "--json").json
        assert record["privacy"]["features"] == {"epsilon": 4.0, "delta": 0.0}
        assert json.loads((out / "record.json").read_text()) == record
        assert len(list(out.glob("part-*.parquet"))) == 2
        assert "is there already" in call(*words, ends=2).err


NO_WORKERS = [
    (f"run base --data town {SMALL} --workers 2 --jobs 2", "leave out --jobs, or --workers"),
    (f"run base --data town {SMALL} --workers 0", "workers must be"),
    (
        "run base --data town --epsilon 1,2 --workers 2",
        "a run at several budgets has many: leave --workers out",
    ),
    (f"run togl --data town {SMALL} --workers 2 --no-control", "needs the whole graph"),
    (
        f"predict base --data town {SMALL} --workers 2 --out x.csv",
        "--workers is for sharded graphs too large for one process: leave it out for town",
    ),
    (f"run base --data town {SMALL} --workers 2 --checkpoint-every 0", "--checkpoint-every must be"),
]


def test_what_workers_cannot_do_is_refused(own_folder, refuses):
    refuses(NO_WORKERS)
