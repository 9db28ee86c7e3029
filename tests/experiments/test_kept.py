"""What calls from Python keep: the same as commands do, where `graphveil results` finds it."""

import numpy as np
import pytest

import graphveil as gv
from graphveil.cli import status
from graphveil.errors import InputError
from graphveil.experiments import ResultStore
from graphveil.experiments.store import results_file
from graphveil.methods.base import Base

TINY = {"epochs": 2, "data.users": 200, "data.labelled": 0.2}

pytestmark = pytest.mark.usefixtures("own_cache")


def graph(seed=0):
    random = np.random.default_rng(seed)
    edges, rows = random.integers(0, 60, (120, 2)), random.random((60, 8))
    return gv.from_arrays(edges, rows, np.arange(60) % 2, range=(0, 1))


def kept():
    return [record.data for record in ResultStore(results_file()).results()]


def test_a_run_is_listed_and_can_be_left_out(capsys):
    gv.run("base", "town", epsilon=1.0, control=False, settings=TINY)
    gv.run("base", "town", epsilon=2.0, control=False, settings=TINY, keep=False)
    assert kept() == ["town"]
    assert status(["results"]) == 0
    assert "town" in capsys.readouterr().out


def test_graphs_of_one_name_are_told_apart_by_their_content():
    options = {"epsilon": 1.0, "control": False, "settings": {"epochs": 2}}
    first = gv.run("base", *graph(), **options)
    gv.run("base", *graph(), **options)
    gv.run("base", *graph(1), **options)
    names = kept()
    assert len(names) == len(set(names)) == 2 and all(name.startswith("mine@") for name in names)
    assert first.data_name in names and first.data == "mine"


def test_finished_runs_are_reused_where_that_is_asked_for(monkeypatch):
    options = {"epsilon": 1.0, "control": False, "settings": TINY}
    first = gv.run("base", "town", **options)
    monkeypatch.setattr(Base, "learn", lambda *_: pytest.fail("computed again"))
    assert gv.run("base", "town", resume=True, **options).scores() == first.scores()


def test_a_method_that_is_an_object_is_not_kept():
    class Mine(Base):
        name = "mine-object"

    gv.run(Mine(), *graph(), epsilon=1.0, control=False, settings={"epochs": 2})
    assert not results_file().exists()
    with pytest.raises(InputError, match="its runs are not kept"):
        gv.run(Mine(), *graph(), epsilon=1.0, keep=True)


def test_a_sweep_over_a_given_graph_is_kept_cell_by_cell_unless_it_is_not_to_be():
    options = {"control": False, "settings": {"epochs": 2}, "runs": 2}
    found = gv.sweep("base", *graph(), over={"epsilon": [1.0]}, keep=False, **options)
    assert found.at(1.0) is not None and not results_file().exists()
    found = gv.sweep("base", *graph(), over={"epsilon": [1.0, 4.0]}, **options)
    assert len(found.at(4.0).scores()) == 2
    assert len(kept()) == 2
    assert found.tables[0].texts[0][0] == "1"
    # One that comes along takes no graph of one's own.
    with pytest.raises(InputError, match="give over="):
        gv.sweep("ppgnn-hops", *graph())


def test_settings_are_tuned_on_a_given_graph():
    tuned = gv.tune("base", *graph(), epsilon=1.0, trials=2, runs=1, settings={"epochs": 2})
    assert len(tuned.trials) == 2 and tuned.settings["epochs"] == 2
