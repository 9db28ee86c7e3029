"""Units that begin before their turn are the same units, and count once."""

from concurrent.futures import Future
from dataclasses import replace

import pytest

from graphveil.experiments import study_runner as cells
from graphveil.experiments.compute import compute_remote_unit
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.runner import DEPTH, Ahead, run_experiment
from graphveil.experiments.study_runner import RunOptions, run_cells
from graphveil.experiments.unit import RunUnit
from graphveil.experiments.unit_store import UnitStore


def spec(**more):
    options = {"users": 200, **more.pop("options", {})}
    settings = {"epochs": 2, **{f"data.{name}": value for name, value in options.items()}}
    return Experiment.of("nonprivate", "town", settings=settings, **more)


class Pool:
    """Computes at once, and counts what it is asked for."""

    count = 1

    def __init__(self):
        self.asked = []

    def submit(self, function, unit, digest):
        assert function is compute_remote_unit
        self.asked.append((unit.seed, unit.part))
        future = Future()
        future.set_result((unit.seed, unit.part))
        return future


@pytest.fixture
def ahead():
    pool = Pool()
    found = Ahead(lambda: pool, lambda asked: [RunUnit(asked, run=run) for run in range(asked.runs)])
    found.of = pool
    return found


def taken(ahead, asked):
    units = [RunUnit(asked, run=run) for run in range(asked.runs)]
    return sorted(future.result() for future in ahead.take(units))


def test_units_of_the_next_begin_with_those_of_the_first(ahead):
    ahead.coming = [spec(seed=7)]
    assert taken(ahead, spec()) == [(0, "method")]
    assert ahead.of.asked == [(0, "method"), (7, "method")]


def test_what_was_begun_is_not_begun_again(ahead):
    ahead.coming = [spec(seed=7)]
    taken(ahead, spec())
    ahead.coming = []
    assert taken(ahead, spec(seed=7)) == [(7, "method")]
    assert len(ahead.of.asked) == 2


def test_a_unit_of_both_is_begun_once(ahead):
    ahead.coming = [spec(seed=1, runs=2)]
    taken(ahead, spec(runs=2))
    assert sorted(ahead.of.asked) == [(0, "method"), (1, "method"), (2, "method")]


def test_no_more_begin_than_processes_can_soon_compute(ahead):
    ahead.coming = [spec(seed=seed) for seed in range(10, 50)]
    taken(ahead, spec())
    assert len(ahead.of.asked) == 1 + DEPTH


def test_what_cannot_be_run_begins_nothing(ahead):
    ahead.coming = [replace(spec(seed=7), data="no-such-graph"), spec(seed=8)]
    taken(ahead, spec())
    assert ahead.of.asked == [(0, "method"), (8, "method")]


def test_what_began_with_other_data_is_computed_anew(ahead, monkeypatch):
    ahead.coming = [spec(seed=7)]
    taken(ahead, spec())
    monkeypatch.setattr("graphveil.experiments.unit.input_digest", lambda *_: "changed")
    taken(ahead, spec(seed=7))
    assert ahead.of.asked.count((7, "method")) == 2


def test_what_is_finished_and_not_taken_is_told(ahead):
    ahead.coming = [spec(seed=7)]
    taken(ahead, spec())
    assert [unit for _, unit in ahead.finished()] == [(7, "method")]


def test_nothing_is_begun_past_what_must_be_alone():
    specs = [spec(seed=seed) for seed in range(4)]
    assert cells._together(specs, [False, False, True, False], 1) == specs[1:2]
    assert cells._together(specs, [], 1) == specs[1:]


def test_experiments_that_share_processes_have_the_numbers_of_each_alone(tmp_path):
    specs = [spec(seed=seed) for seed in (0, 5, 9)]
    done, _ = run_cells(specs, RunOptions(jobs=2), store=UnitStore(tmp_path / "kept.sqlite"))
    assert [result.scores("method") for result in done] == [
        run_experiment(each).scores("method") for each in specs
    ]


def test_an_interrupt_keeps_what_was_computed_before_its_turn(tmp_path, monkeypatch):
    specs, store = [spec(seed=seed) for seed in (0, 5)], UnitStore(tmp_path / "kept.sqlite")

    def stop(asked, *, ahead, **_):
        for future in ahead.take([RunUnit(asked)]):
            future.result()
        for begun in list(ahead._begun.values()):
            begun.future.result()
        raise KeyboardInterrupt

    monkeypatch.setattr(cells, "run_experiment", stop)
    _, interrupted = run_cells(specs, RunOptions(jobs=2), store=store)
    assert interrupted
    assert [unit.run for unit in store.find(specs[1], ["method"])] == [0]
