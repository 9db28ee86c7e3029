"""Runs by two workers, one of which is killed, and then the whole command: whoever is lost, the end has the same numbers, bit for bit."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from graphveil.graphs.town import Town
from graphveil.scale import write_town

PROJECT = Path(__file__).parents[2]
# Long enough on any machine.
DEADLINE = 600.0
ENGINES = ("local", "ray")
# A sharded graph that is small is loaded as a whole; with this it is learned from in its shards.
IN_SHARDS = (
    "import sys; from graphveil.scale import shard_reader; shard_reader.MOST_ENTRIES = 1000; "
    "from graphveil.cli import main; main(sys.argv[1:])"
)
RUNS = {
    "base on cora": (["-m", "graphveil"], "base", "cora"),
    "lpgnn on cora": (["-m", "graphveil"], "lpgnn", "cora"),
    "base on facebook": (["-m", "graphveil"], "base", "facebook"),
    "base on a town of shards": (["-m", "graphveil"], "base", "town"),
    "lpgnn on a town in its shards": (["-c", IN_SHARDS], "lpgnn", "town"),
}
OPTIONS = "--epsilon=4 --runs=1 --no-control --set=epochs=24 --workers=2 --checkpoint-every=2 --json"


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graphs") / "town"
    write_town(Town(users=20_000), folder, partitions=4)
    return folder


class Command:
    """A run with a cache of its own."""

    def __init__(self, folder, run, engine, town):
        how, method, data = RUNS[run]
        (folder / "tmp").mkdir(parents=True)
        self.folder, self.cache = folder, folder / "cache"
        named = str(town) if data == "town" else data
        self.words = [
            sys.executable,
            *how,
            "run",
            method,
            "--data",
            named,
            *OPTIONS.split(),
            "--engine",
            engine,
        ]
        path = os.pathsep.join([str(PROJECT), os.environ.get("PYTHONPATH", "")])
        self.environment = {**os.environ, "PYTHONPATH": path, "GRAPHVEIL_CACHE": str(self.cache)}

    def start(self):
        piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(self.words, cwd=self.folder, env=self.environment, **piped)

    def result(self, process):
        out, err = process.communicate(timeout=DEADLINE)
        assert process.returncode == 0, err
        assert "Traceback" not in err, err
        return json.loads(out, object_hook=numbers)

    def kept(self):
        """All checkpoints that are there."""
        return {str(each) for each in self.cache.glob("checkpoints/*/training-*/worker-*/epoch-*.pt")}

    def until_kept(self, process, other_than=frozenset()):
        """Wait until something is written down that was not there before."""
        end = time.monotonic() + DEADLINE
        while not (new := self.kept() - other_than):
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < end
            time.sleep(0.005)
        return new


def numbers(told):
    """All that does not depend on the clock, on the machine, or on how often it began."""
    return {name: value for name, value in told.items() if not name.endswith(("seconds", "_mb", "_products"))}


def workers_of(process):
    """The processes that learn for a command."""
    found = []
    for each in psutil.Process(process.pid).children(recursive=True):
        try:
            line = " ".join(each.cmdline())
        except psutil.Error:
            continue
        if "spawn_main" in line or line.startswith("ray::RayTrainWorker"):
            found.append(each)
    return found


@pytest.fixture(scope="module")
def undisturbed(town, tmp_path_factory):
    """What a run ends with where nobody is lost; each is run once."""
    told = {}

    def run(name):
        if name not in told:
            command = Command(tmp_path_factory.mktemp("whole") / "run", name, "local", town)
            told[name] = command.result(command.start())
            assert not command.kept()
        return told[name]

    return run


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", RUNS)
def test_whoever_is_killed_no_number_changes(name, engine, town, undisturbed, tmp_path):
    whole = undisturbed(name)
    command = Command(tmp_path / "run", name, engine, town)
    process = command.start()
    before = command.until_kept(process)
    workers = workers_of(process)
    assert len(workers) == 2, workers
    workers[-1].send_signal(signal.SIGKILL)
    before |= command.kept()
    # They were started again, and went on.
    command.until_kept(process, before)
    assert not set(workers_of(process)) & {workers[-1]}
    own = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    # Nobody who was started by it outlives it for long; agents of Ray take a minute.
    _, alive = psutil.wait_procs(own, timeout=DEADLINE)
    assert not alive, alive
    # Until they noticed, workers may have come to the end of a training.
    assert list(command.cache.glob("checkpoints/*/training-*/worker-*/*.pt"))
    assert command.result(command.start()) == whole
    assert not (command.cache / "checkpoints").exists()
