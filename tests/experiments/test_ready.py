"""Sweeps ready to be run: on graphs that are here, in full or quick."""

import pytest

from graphveil.errors import InputError
from graphveil.experiments import Experiment
from graphveil.experiments.study import find_sweep, missing_graph, shorten
from graphveil.experiments.study_result import StudyResult
from tests.experiments.known import axis, choices

ONE_BIT = '{ mechanism = "onebit" }\nslow = ["town"]'
SLOW = 'title = "slow"\n[base]\nmethod = "base"\nruns = 2\n' + axis("epsilon", [1, 2, 4])
SLOW += choices("by", {"1B": ONE_BIT, "MB": '{ mechanism = "multibit" }'}) + axis("data", ["lastfm", "town"])


@pytest.fixture
def slow(tmp_path, monkeypatch, sweep):
    monkeypatch.setenv("GRAPHVEIL_DATA", str(tmp_path))
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path))
    return sweep(SLOW)


def run(asked):
    """The experiments that are not left out."""
    return [cell.experiment for cell in asked.cells if not cell.left_out]


def runs_and_epochs(asked):
    return {(experiment.runs, experiment.resolved_settings.epochs) for experiment in run(asked)}


def test_graphs_that_are_not_here_are_named_and_slow_cells_are_short(slow):
    asked = slow.prepare()
    assert [experiment.data for experiment in run(asked)] == ["town"] * 6
    assert runs_and_epochs(asked) == {(1, 100), (2, 500)}
    short, left_out = asked.remarks
    assert short.startswith("onebit on town: one run of at most 100 epochs")
    assert left_out.startswith("Left out: lastfm is not here") and "lastfm.npz" in left_out
    # All runs of slow cells can be asked for.
    asked = slow.prepare(everything=True)
    assert runs_and_epochs(asked) == {(2, 500)}
    assert asked.shortened == []


def test_a_quick_one_says_so_and_leaves_slow_cells_out(slow):
    asked = slow.prepare(quick=True)
    budgets = [experiment.budgets for experiment in run(asked)]
    assert [(each.mechanism, each.epsilon) for each in budgets] == [("multibit", 1.0), ("multibit", 4.0)]
    assert runs_and_epochs(asked) == {(1, 5)}
    said = asked.remarks
    assert said[0].startswith("Quick: one run of at most 5 epochs")
    assert said[1] == "onebit on town: left out of --quick, as every user answers every value; --all runs it."
    told = StudyResult.unfinished(asked).to_dict()
    expected = {"quick": True, "left_out": list(asked.missing), "shortened": [], "slow": ["onebit on town"]}
    assert {name: told[name] for name in expected} == expected
    assert len(run(slow.prepare(everything=True, quick=True))) == 4


@pytest.mark.usefixtures("slow")
def test_a_sweep_whose_only_graph_is_not_here_is_refused():
    with pytest.raises(InputError, match="cora is not here"):
        find_sweep("upgnet-residual").prepare()


def test_a_slow_one_is_one_run_of_at_most_100_epochs():
    spec = Experiment.of("base", "town", epsilon=1.0, runs=7, settings={"lr": 0.1})
    short = shorten(spec)
    assert (short.runs, short.settings) == (1, {"lr": 0.1, "epochs": 100})
    assert short.having(runs=7, settings=spec.settings) == spec
    assert shorten(spec.having(settings={"epochs": 3})).settings == {"epochs": 3}


@pytest.mark.usefixtures("slow")
def test_what_is_not_here_names_the_file_that_it_needs(tmp_path):
    assert missing_graph("lastfm") == (
        "lastfm is not here: `graphveil data get lastfm`, or put lastfm.npz into the folder that GRAPHVEIL_DATA names"
    )
    (tmp_path / "cora.npz").touch()
    here = ("town", "cora", str(tmp_path / "cora.npz"), "mine.py:graph")
    assert [missing_graph(name) for name in here] == [""] * 4
