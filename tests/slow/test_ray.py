"""A sweep on a Ray of two nodes: every third unit kills its worker, then a whole node is lost; numbers stay those of local processes."""

import json
import threading
import time

import pytest
from ray.cluster_utils import Cluster

from graphveil.cli import status
from graphveil.experiments.store import RESULTS, select

pytestmark = pytest.mark.usefixtures("forget_outside")

# Every third unit is killed when it has learned, the first time; its mark is a file.
FRAGILE = """
import hashlib, os, signal
from pathlib import Path
from graphveil.methods.base import Base
from graphveil.methods.ldpge import Ldpge
from graphveil.methods.lpgnn import Lpgnn

def killed_once(job, outcome):
    key = hashlib.sha256(outcome.scores.tobytes()).hexdigest()
    mark = Path("killed") / key
    if int(key, 16) % 3 == 0 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return outcome

class FragileBase(Base):
    name = "fragile-base"
    def learn(self, job):
        return killed_once(job, super().learn(job))

class FragileLpgnn(Lpgnn):
    name = "fragile-lpgnn"
    def learn(self, job):
        return killed_once(job, super().learn(job))

class FragileLdpge(Ldpge):
    name = "fragile-ldpge"
    def learn(self, job):
        return killed_once(job, super().learn(job))
"""
SWEEP = """
title = "fragile"
[base]
data = "town"
runs = 4
[base.settings]
epochs = 5
data.users = 600
[[axes]]
field = "epsilon"
values = [1.0, 4.0]
[[axes]]
field = "method"
values = ["fragile.py:FragileBase", "fragile.py:FragileLpgnn", "fragile.py:FragileLdpge"]
"""
# Three methods at two budgets, four runs each: method and control; structure, which is the same for all, four times.
UNITS = 3 * 2 * 4 * 2 + 4


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "killed").mkdir()
    (tmp_path / "fragile.py").write_text(FRAGILE)
    (tmp_path / "fragile.toml").write_text(SWEEP)
    return tmp_path


@pytest.fixture
def cluster(folder):
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield cluster
    cluster.shutdown()


def untimed(fields):
    return {name: value for name, value in fields.items() if name not in ("seconds", "peak_mb")}


def swept(*words):
    return ["sweep", "fragile.toml", "--json", *words]


def kept(folder):
    (rows,) = select(folder / "cache" / RESULTS, "SELECT id FROM units", ())
    return len(rows)


def test_lost_workers_and_a_lost_node_change_no_number(folder, cluster, capfd):
    node = cluster.add_node(num_cpus=2)

    def lose() -> None:
        while kept(folder) < UNITS // 3:
            time.sleep(0.1)
        cluster.remove_node(node, allow_graceful=False)

    losing = threading.Thread(target=lose, daemon=True)
    losing.start()
    assert status(swept("--engine", f"ray://{cluster.address}")) == 0
    there = json.loads(capfd.readouterr().out, object_hook=untimed)
    losing.join(60)
    assert not losing.is_alive() and kept(folder) == UNITS
    assert len(list((folder / "killed").iterdir())) >= 3
    assert status(swept("--fresh", "--jobs", "2")) == 0
    assert json.loads(capfd.readouterr().out, object_hook=untimed) == there
