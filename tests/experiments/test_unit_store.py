"""Units on disk: what they are found by, what is said of those of another version, and what damage does."""

import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import asdict

import numpy as np
import pytest

from graphveil.errors import EngineError, StoreError
from graphveil.experiments import Experiment, ResultStore
from graphveil.experiments import runner as runner_module
from graphveil.experiments import store as reuse
from graphveil.experiments.engine import UnitLostError
from graphveil.experiments.runner import RunOptions, run_experiment, run_study
from graphveil.experiments.store import select
from graphveil.experiments.study import Cell, Study
from graphveil.experiments.unit import UnitResult
from graphveil.privacy.record import Cost, Privacy
from tests.fixtures import ROOT
from tests.together import together

SPEC = Experiment.of("base", "town", epsilon=2.0, runs=2, data_options={"users": 400})
SECONDS = dict.fromkeys(("report", "denoise", "train", "total"), 0.1)
PRIVACY = Privacy(features=Cost(epsilon=2.0))


def unit(part="method", run=0, score=0.1 + 0.2, **more):
    return UnitResult(part, run, score, "", PRIVACY, SECONDS, 10.0, **more)


@pytest.fixture
def store(tmp_path):
    return ResultStore(tmp_path / "deep" / "results.sqlite")


def again(store, **options):
    """The same file, opened by somebody else."""
    return ResultStore(store.file, **options)


def tolerant(store):
    """Two cells that cannot be run, and whose errors are noted."""
    study = Study("two", "", (Cell(SPEC), Cell(SPEC)))
    return run_study(study, RunOptions(tolerant=True, file=store.file)).outcomes


def run_by(monkeypatch, source):
    """From now on, another version computes."""
    monkeypatch.setattr(reuse, "source_digest", lambda: source)


def changed(store, statement, *parameters):
    """Change the file behind our back."""
    with closing(sqlite3.connect(store.file)) as connection, connection:
        connection.execute(statement, parameters)


def test_a_unit_comes_back_bit_for_bit_and_the_latest_is_kept(store):
    assert store.find_units(SPEC, ["method"]) == []
    assert not store.file.exists()
    for kept in (unit(also={"norm_error": 1 / 3}, alone=True), unit(score=0.5), unit(score=0.6)):
        store.add_unit(SPEC, kept)
        assert store.find_units(SPEC, ["method"]) == [kept]
    assert select(store.file, "SELECT count(*) FROM units", ()) == [[(1,)]]


def test_a_run_is_found_by_its_seed_whatever_its_number(store):
    store.add_unit(SPEC, unit(run=1))
    assert store.find_units(SPEC.having(seed=1, runs=1), ["method"]) == [unit(run=0)]
    # The largest seed there is.
    last = SPEC.having(seed=2**64 - 1, runs=1)
    store.add_unit(last, unit())
    assert store.find_units(last, ["method"]) == [unit()]


def test_another_setting_or_part_is_another_unit_but_structure_is_shared(store):
    changes = [{"seed": 5}, {"epsilon": 1.0}, {"settings": {"epochs": 3}}, {"data_options": {"users": 401}}]
    changes += [{"mechanism": "onebit"}, {"label_epsilon": 1.0}]
    store.add_unit(SPEC, unit("control"))
    assert store.find_units(SPEC, ["method", "control", "structure"]) == [unit("control")]
    assert [change for change in changes if store.find_units(SPEC.having(**change), ["control"])] == []
    store.add_unit(SPEC, unit("structure"))
    assert store.find_units(SPEC.having(epsilon=1.0), ["structure"]) == [unit("structure")]


def test_units_that_did_not_run_alone_are_not_found_where_they_are_to_have(store):
    store.add_unit(SPEC, unit())
    store.add_unit(SPEC, unit(run=1, alone=True))
    assert store.find_units(SPEC, ["method"], alone=True) == [unit(run=1, alone=True)]


def test_another_content_of_the_same_file_is_other_data(store, tmp_path):
    spec = Experiment.of("base", str(tmp_path / "my.npz"), epsilon=1.0)
    (tmp_path / "my.npz").write_bytes(b"one")
    store.add_unit(spec, unit())
    (tmp_path / "my.npz").write_bytes(b"another")
    assert store.find_units(spec, ["method"]) == []
    (tmp_path / "my.npz").write_bytes(b"one")
    assert store.find_units(spec, ["method"]) == [unit()]


@pytest.mark.parametrize(
    ("method", "options"),
    [("ppgnn", {"level_distribution": "FILE"}), ("heterorr", {"settings": {"importance": "FILE"}})],
    ids=["levels", "a method's public file"],
)
def test_another_content_of_such_a_file_is_other_data_but_not_for_structure(store, tmp_path, method, options):
    file = tmp_path / "numbers.txt"
    file.write_text("1")
    named = json.loads(json.dumps(options).replace("FILE", str(file)))
    spec = Experiment.of(method, "town", epsilon=1.0, **named)
    for part in ("method", "control", "structure"):
        store.add_unit(spec, unit(part))
    file.write_text("2")
    assert store.find_units(spec, ["method", "control", "structure"]) == [unit("structure")]


def test_it_is_said_that_units_of_another_version_were_not_reused(store, monkeypatch):
    run_by(monkeypatch, "e" * 64)
    store.add_unit(SPEC, unit())
    run_by(monkeypatch, "f" * 64)
    for _ in range(2):
        assert store.find_units(SPEC, ["method"]) == []
    (said,) = store.sentences()
    assert said.startswith("Not reused, runs of another version (--any-version does): 1 (graphveil ")
    assert said.endswith("source eeeeeeeeeeee).")


def test_any_version_is_reused_and_it_is_said_how_many_of_which(store, monkeypatch):
    for source, run in (("e" * 64, 0), ("d" * 64, 1)):
        run_by(monkeypatch, source)
        store.add_unit(SPEC, unit(run=run))
    run_by(monkeypatch, "f" * 64)
    found = again(store, any_version=True)
    for _ in range(2):
        assert found.find_units(SPEC, ["method"]) == [unit(), unit(run=1)]
    (said,) = found.sentences()
    assert said.startswith("Reused runs of another version: 1 (graphveil ")
    assert "source dddddddddddd), 1 (" in said
    assert said.endswith("source eeeeeeeeeeee).")


def test_this_version_s_unit_goes_before_another_s_of_which_the_latest_counts(store, monkeypatch):
    store.add_unit(SPEC, unit(score=0.4))
    for source, score in (("a", 0.5), ("c", 0.6), ("b", 0.7)):
        run_by(monkeypatch, source)
        store.add_unit(SPEC, unit(score=score))
    run_by(monkeypatch, "d")
    assert again(store, any_version=True).find_units(SPEC, ["method"]) == [unit(score=0.7)]
    monkeypatch.undo()
    found = again(store, any_version=True)
    assert found.find_units(SPEC, ["method"]) == [unit(score=0.4)]
    assert found.sentences() == []


def fields(**change):
    return json.dumps({**asdict(unit()), "privacy": PRIVACY.to_dict(), **change})


DAMAGED = {
    "cut off": fields()[:-20],
    "no object": "[]",
    "empty": "",
    "a number": 7,
    "bytes": b"\xff\x00",
    "deep": "[" * 10**5,
    "a score in words": fields(score="0.5"),
    "no score": fields(score=None),
    "no seconds of a stage": fields(seconds={"total": 1.0}),
    "a bad privacy record": fields(privacy={"features": {"epsilon": "much"}}),
    "a bad alone": fields(alone="yes"),
}


@pytest.fixture
def two(store):
    """A store with two runs."""
    for run in (0, 1):
        store.add_unit(SPEC, unit(run=run))
    return store


@together("text", DAMAGED.values(), DAMAGED)
def test_a_damaged_unit_is_told_once_and_skipped(two, text):
    changed(two, "UPDATE units SET unit = ? WHERE id = 1", text)
    looking = again(two)
    for _ in range(2):
        assert looking.find_units(SPEC, ["method"]) == [unit(run=1)]
    assert looking.sentences() == ["1 kept record cannot be read and was skipped."]


def test_where_this_version_s_is_damaged_another_s_is_reused_if_it_may_be(store, monkeypatch):
    store.add_unit(SPEC, unit(score=0.5))
    run_by(monkeypatch, "f" * 64)
    store.add_unit(SPEC, unit(score=0.6))
    changed(store, "UPDATE units SET unit = '{' WHERE id = 2")
    found = again(store, any_version=True)
    assert found.find_units(SPEC, ["method"]) == [unit(score=0.5)]
    assert len(found.sentences()) == 2


def test_a_unit_that_was_kept_before_there_was_anything_besides_is_read(store):
    store.add_unit(SPEC, unit())
    kept = {**asdict(unit()), "privacy": PRIVACY.to_dict()}
    del kept["also"], kept["alone"]
    changed(store, "UPDATE units SET unit = ?", json.dumps(kept))
    assert store.find_units(SPEC, ["method"]) == [unit()]


def test_a_fresh_store_finds_only_what_it_has_added_and_a_damaged_unit_is_replaced(store):
    store.add_unit(SPEC, unit())
    changed(store, "UPDATE units SET unit = '{'")
    fresh = again(store, fresh=True)
    assert fresh.find_units(SPEC, ["method"]) == []
    assert fresh.sentences() == []
    fresh.add_unit(SPEC, unit(run=1))
    assert fresh.find_units(SPEC, ["method"]) == [unit(run=1)]
    store.add_unit(SPEC, unit())
    assert again(store).find_units(SPEC, ["method"]) == [unit(), unit(run=1)]
    assert again(store).sentences() == []


def test_nothing_is_computed_that_could_not_be_kept_and_the_tolerant_stop_too(store, monkeypatch):
    monkeypatch.setattr(runner_module, "compute_unit", lambda *_: pytest.fail("ran"))
    store.file.parent.mkdir()
    store.file.write_text("something else " * 100)
    with pytest.raises(StoreError, match="is no database"):
        run_experiment(SPEC, RunOptions(file=store.file, fresh=True))
    with pytest.raises(StoreError, match="is no database"):
        tolerant(store)


# Adds units one after the other, and says of each that it is kept.
WRITER = """
import sys
from pathlib import Path
from graphveil.experiments import ResultStore
from tests.experiments.test_unit_store import SPEC, unit
store, first, count = ResultStore(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
for run in range(first, first + count):
    store.add_unit(SPEC, unit(run=run, score=run / 1e6))
    print(run, flush=True)
"""


def start(store, first, count):
    command = [sys.executable, "-c", WRITER, str(store.file), str(first), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def test_units_of_a_killed_process_are_found(store):
    with start(store, 0, 10**6) as writer:
        for _ in range(20):
            writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
    found = store.find_units(SPEC.having(runs=20), ["method"])
    assert [(each.run, each.score) for each in found] == [(run, run / 1e6) for run in range(20)]


def test_units_of_several_processes_are_all_found(store):
    writers = [start(store, first, 20) for first in (0, 20, 40)]
    for writer in writers:
        writer.communicate(timeout=120)
    assert [writer.returncode for writer in writers] == [0] * 3
    found = store.find_units(SPEC.having(runs=60), ["method"])
    assert np.array_equal([each.run for each in found], np.arange(60))


def test_where_nobody_computes_the_tolerant_stop_too(store, monkeypatch):
    def raising(error):
        def compute(*_):
            raise error

        monkeypatch.setattr(runner_module, "compute_unit", compute)

    raising(EngineError("no Ray can be reached"))
    with pytest.raises(EngineError, match="no Ray can be reached"):
        tolerant(store)
    # One that was lost says nothing of others.
    raising(UnitLostError("the worker of one unit died"))
    assert [str(each.error) for each in tolerant(store)] == ["the worker of one unit died"] * 2
