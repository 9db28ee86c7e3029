"""--workers: one run by several workers."""

import json

import pytest

from graphveil.cli import status
from graphveil.graphs import load
from graphveil.scale import shard_reader, write_shards
from tests.cli.support import not_refused


class Told:
    def __init__(self, code, captured):
        self.exit_code, self.stdout, self.stderr = code, captured.out, captured.err


@pytest.fixture
def invoke(own_folder, capsys):
    return lambda *words: Told(status(list(words)), capsys.readouterr())


@pytest.fixture
def shards(tmp_path, monkeypatch):
    monkeypatch.setattr(shard_reader, "MOST_ENTRIES", 100)
    graph, users = load("town", users=400)
    write_shards(graph, tmp_path / "town", partitions=2, users=users)
    return str(tmp_path / "town")


SMALL = ["--epsilon", "4", "--set", "epochs=2"]


def test_a_result_says_what_each_worker_took(invoke):
    told = invoke(
        "run",
        "base",
        "--data",
        "town",
        "--set",
        "data.users=400",
        *SMALL,
        "--runs",
        "1",
        "--no-control",
        "--workers",
        "2",
        "--json",
    )
    assert told.exit_code == 0, told.stderr
    numbers = {name: value["mean"] for name, value in json.loads(told.stdout)["also"].items()}
    assert numbers["workers"] == 2
    for rank in range(2):
        assert numbers[f"worker_{rank}_peak_mb"] > 0 and numbers[f"worker_{rank}_sent_mb"] > 0
    shown = invoke(
        "run",
        "base",
        "--data",
        "town",
        "--set",
        "data.users=400",
        *SMALL,
        "--runs",
        "1",
        "--no-control",
        "--workers",
        "2",
    )
    said = " ".join(shown.stdout.split())
    assert "2 workers shared each run" in said and "beyond libraries" in said
    assert (
        f"for {numbers['worker_0_users']:,.0f}, {numbers['worker_1_users']:,.0f} users of their own" in said
    )
    assert "Reused 1 finished run" in shown.stderr


def test_a_large_sharded_graph_is_run_predicted_and_embedded_from_disk(invoke, shards, tmp_path):
    told = invoke("run", "base", "--data", shards, *SMALL, "--runs", "1", "--no-control", "--json")
    assert told.exit_code == 0, told.stderr
    assert json.loads(told.stdout)["also"]["on_disk"]["mean"] == 1
    for command in ("predict", "embed"):
        out = tmp_path / command
        told = invoke(command, "base", "--data", shards, *SMALL, "--out", str(out), "--json")
        assert told.exit_code == 0, told.stderr
        record = json.loads(told.stdout)
        assert record["privacy"]["features"] == {"epsilon": 4.0, "delta": 0.0}
        assert json.loads((out / "record.json").read_text()) == record
        assert len(list(out.glob("part-*.parquet"))) == 2
        again = invoke(command, "base", "--data", shards, *SMALL, "--out", str(out))
        assert again.exit_code == 2 and "is there already" in again.stderr


NO_WORKERS = [
    (
        ["run", "base", "--data", "town", *SMALL, "--workers", "2", "--jobs", "2"],
        "leave out --jobs, or --workers",
    ),
    (["run", "base", "--data", "town", *SMALL, "--workers", "0"], "workers must be"),
    (
        ["run", "base", "--data", "town", "--epsilon", "1,2", "--workers", "2"],
        "a run at several budgets has many: leave --workers out",
    ),
    (
        ["run", "togl", "--data", "town", *SMALL, "--workers", "2", "--no-control"],
        "needs the whole graph",
    ),
    (
        ["predict", "base", "--data", "town", *SMALL, "--workers", "2", "--out", "x.csv"],
        "--workers is for sharded graphs too large for one process: leave it out for town",
    ),
    (
        ["run", "base", "--data", "town", *SMALL, "--workers", "2", "--checkpoint-every", "0"],
        "--checkpoint-every must be",
    ),
]


def test_what_workers_cannot_do_is_refused(own_folder, capsys):
    assert not_refused(NO_WORKERS, capsys) == []
