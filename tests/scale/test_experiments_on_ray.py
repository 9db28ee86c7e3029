"""Experiments on a real Ray of this machine: the same numbers, whatever happens to workers."""

import json
import os

import pytest

import graphveil as gv
from graphveil.cli import status
from graphveil.errors import EngineError
from graphveil.experiments.engine import Engine

pytestmark = pytest.mark.usefixtures("forget_outside")

SET = "epochs=2 data.users=200 data.features=16 data.telling=4 data.labelled=0.2 data.validated=0.2"
SMALL = [word for each in SET.split() for word in ("--set", each)]
BASE = ["--data", "town", "--epsilon", "2", *SMALL]
RUN = ["run", "base", *BASE]
# The first worker that learns with the seed 1 is killed in the middle.
KILLER = """
import os, signal
from pathlib import Path
from graphveil.methods.base import Base

class Killed(Base):
    "Kills its process once."
    name = "killed"

    def learn(self, job):
        outcome = super().learn(job)
        mark = Path("killed")
        if job.seed == 1 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return outcome
"""


@pytest.fixture(scope="module")
def engine():
    with Engine.of("ray").open():
        yield ["--engine", "ray", "--jobs", "2"]


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(words, capfd):
    """What a command prints as JSON, but for seconds and memory."""
    assert status([*words, "--json"]) == 0
    return json.loads(capfd.readouterr().out, object_hook=untimed)


def untimed(fields):
    return {name: value for name, value in fields.items() if name not in ("seconds", "peak_mb")}


def test_a_run_has_the_same_numbers_and_is_kept(engine, capfd):
    run = [*RUN, "--runs", "2"]
    there = told([*run, *engine], capfd)
    assert told([*run, "--fresh"], capfd) == there
    assert len(set(there["runs"])) == 2
    assert status([*run, *engine]) == 0
    assert "Reused 6 finished runs" in capfd.readouterr().err


def test_a_worker_that_is_killed_costs_nothing_but_its_unit(engine, folder, capfd):
    (folder / "mine.py").write_text(KILLER)
    run = ["run", "mine.py:Killed", *BASE, "--runs", "3", "--no-control"]
    there = told([*run, *engine], capfd)
    assert (folder / "killed").exists()
    assert told([*run, "--fresh"], capfd) == there


def test_a_graph_that_is_given_is_sent_along(engine):
    graph, users = gv.load("town", users=200, features=16)
    options = {"epsilon": 2.0, "runs": 2, "keep": False, "settings": {"epochs": 2}}
    here = gv.run("base", graph, users, **options)
    there = gv.run("base", graph, users, engine="ray", jobs=2, **options)
    assert there.scores() == here.scores() and there.scores("control") == here.scores("control")


def test_a_search_over_a_whole_grid_finds_the_same(engine, capfd):
    tune = ["tune", "base", *BASE, "--runs", "1", "--set", "lr=0.01", "--set", "dropout=0.5"]
    there = told([*tune, *engine, "--out", "there.toml"], capfd)
    os.rename("cache", "other-cache")
    here = told([*tune, "--out", "here.toml"], capfd)
    assert there["trials"]["done"] > 1
    assert (there["settings"], there["validation"]) == (here["settings"], here["validation"])


def test_a_sweep_has_the_same_numbers(engine, capfd):
    run = ["run", "base", "--data", "town", *SMALL, "--epsilon", "1,4", "--runs", "1"]
    there = told([*run, *engine, "--out", "one.svg"], capfd)
    here = told([*run, "--fresh", "--out", "one.svg"], capfd)
    assert here == there


def test_what_a_unit_refuses_reads_as_it_does_here(engine, capfd):
    words = "run solitude --data town --epsilon 1 --link-epsilon 1 --max-memory 1e-6 --runs 1"
    said = []
    for more in ([], engine):
        assert status([*words.split(), *SMALL, *more]) == 2
        said.append(capfd.readouterr().err.strip().splitlines()[-1])
    assert said[0] == said[1] and "link-rr at epsilon 1 reports" in said[0]


def test_an_object_stays_in_this_process_and_another_ray_is_refused(engine):
    with pytest.raises(gv.InputError, match="leave out jobs, engine, keep"):
        gv.run(gv.methods.METHODS.find("base"), "town", epsilon=1.0, engine="ray")
    with (
        pytest.raises(
            EngineError, match="another Ray already .one that was started for it.: leave the address out"
        ),
        Engine.of("ray://127.0.0.1:6379").pool(1),
    ):
        pass
