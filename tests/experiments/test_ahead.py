"""Units that begin before their turn are the same units, and count once."""

from concurrent.futures import Future
from dataclasses import replace

import pytest

from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.measures import find_measure
from graphveil.experiments.runner import (
    DEPTH,
    Runner,
    RunOptions,
    compute_remote_unit,
    run_experiment,
    run_study,
)
from graphveil.experiments.store import ResultStore
from graphveil.experiments.study import Cell, Study
from graphveil.experiments.unit import RunUnit, run_unit
from graphveil.graphs import load


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
def pool():
    return Pool()


@pytest.fixture
def runner(pool):
    return Runner(lambda: pool)


def ran(runner, asked, *later):
    """The units of one experiment, with later ones coming; cells may stand for these."""
    units = [RunUnit(asked, run=run) for run in range(asked.runs)]
    cells = [each if isinstance(each, Cell) else Cell(each) for each in later]
    return sorted(runner._parallel(units, (), cells))


def test_units_of_the_next_begin_with_those_of_the_first_and_not_again(runner, pool):
    assert ran(runner, spec(), spec(seed=7)) == [(0, "method")]
    assert pool.asked == [(0, "method"), (7, "method")]
    assert ran(runner, spec(seed=7)) == [(7, "method")]
    assert len(pool.asked) == 2
    # A unit of both is begun once.
    pool.asked.clear()
    ran(runner, spec(runs=2), spec(seed=1, runs=2))
    assert sorted(pool.asked) == [(0, "method"), (1, "method"), (2, "method")]


def test_no_more_begin_than_processes_can_soon_compute(runner, pool):
    ran(runner, spec(), *(spec(seed=seed) for seed in range(10, 50)))
    assert len(pool.asked) == 1 + DEPTH


def test_what_cannot_be_run_and_what_comes_past_what_must_be_alone_begins_nothing(runner, pool):
    ran(runner, spec(), replace(spec(seed=7), data="no-such-graph"), spec(seed=8))
    assert pool.asked == [(0, "method"), (8, "method")]
    pool.asked.clear()
    alone = Cell(spec(seed=2), measure=find_measure("seconds"))
    ran(runner, spec(seed=20), spec(seed=1), alone, spec(seed=3))
    assert [seed for seed, _ in pool.asked] == [20, 1]


def test_what_began_with_other_data_is_computed_anew(runner, pool, monkeypatch):
    ran(runner, spec(), spec(seed=7))
    monkeypatch.setattr("graphveil.experiments.unit.input_digest", lambda *_: "changed")
    ran(runner, spec(seed=7))
    assert pool.asked.count((7, "method")) == 2


def test_experiments_that_share_processes_have_the_numbers_of_each_alone(tmp_path):
    specs = [spec(seed=seed) for seed in (0, 5, 9)]
    study = Study("three", "", tuple(map(Cell, specs)))
    done = run_study(study, RunOptions(jobs=2, file=tmp_path / "kept.sqlite")).outcomes
    assert [each.result.scores() for each in done] == [run_experiment(each).scores() for each in specs]


def test_an_interrupt_keeps_what_was_computed_before_its_turn(tmp_path, monkeypatch):
    specs, file = [spec(seed=seed) for seed in (0, 5)], tmp_path / "kept.sqlite"
    parallel, held = Runner._parallel, []

    def stop(runner, *given):
        held.append(parallel(runner, *given))
        next(held[0])
        for begun in runner._early.values():
            begun.future.result()
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(Runner, "_parallel", stop)
    assert run_study(Study("two", "", tuple(map(Cell, specs))), RunOptions(jobs=2, file=file)).interrupted
    assert [unit.run for unit in ResultStore(file).find_units(specs[1], ["method"])] == [0]


# A unit that somebody else computes

BASE = Experiment.of("base", "town", epsilon=2.0, settings={"epochs": 2, "data.users": 200})


def numbers(unit):
    return replace(unit, seconds={}, peak_mb=0.0)


@pytest.mark.parametrize("given", [False, True])
def test_a_unit_that_somebody_else_computes_is_the_one_that_this_process_computes(given):
    # Data that are sent along are not compared.
    sent = load("town", seed=0, users=200) if given else None
    unit = RunUnit(BASE, "control", 1, given=sent)
    assert (unit.digest is None) == given
    assert numbers(compute_remote_unit(unit, unit.digest)) == numbers(run_unit(unit))


def test_other_data_are_refused():
    with pytest.raises(InputError, match="town was changed .* or is another one on "):
        compute_remote_unit(RunUnit(BASE), "0" * 64)
