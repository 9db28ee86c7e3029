"""Trainings that were interrupted: what goes on from them, and when they are gone."""

import pytest

from graphveil.experiments.compute import CHECKPOINTS
from graphveil.experiments.engine import Engine
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.runner import run_experiment
from graphveil.experiments.study_runner import RunOptions, StudyWatcher, run_cells
from graphveil.experiments.unit_store import UnitStore, results_file
from graphveil.graphs import load
from graphveil.scale import shard_reader, write_shards

EPOCHS = 12
ENGINE = Engine(checkpoint_every=2)


@pytest.fixture
def spec(tmp_path, monkeypatch):
    """A run from disk, which keeps its trainings as workers do."""
    monkeypatch.setattr(shard_reader, "MOST_ENTRIES", 100)
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path / "cache"))
    graph, users = load("town", users=400)
    write_shards(graph, tmp_path / "town", partitions=2, users=users)
    settings = {"epochs": EPOCHS, "input_share": 1.0}
    return Experiment.of("base", str(tmp_path / "town"), epsilon=4.0, settings=settings, control=False)


def store():
    return UnitStore(results_file())


def kept():
    folder = results_file().parent / CHECKPOINTS
    return [each.name for each in folder.iterdir()] if folder.exists() else []


class Shares:
    """The epochs of a training that are done when it is told how far it is; at one of them comes an interrupt."""

    def __init__(self, stop=None):
        self.done, self.stop = [], stop

    def __call__(self, what, share):
        if what == "training":
            self.done.append(round(share * EPOCHS))
            if self.done[-1] == self.stop:
                raise KeyboardInterrupt


def interrupt(spec, **options):
    with pytest.raises(KeyboardInterrupt):
        run_experiment(spec, engine=ENGINE, store=store(), inside=Shares(stop=7), **options)
    assert kept(), "nothing was kept"


def test_the_same_command_goes_on_and_a_fresh_one_begins_anew(spec):
    interrupt(spec)
    again = Shares()
    went_on = run_experiment(spec, engine=ENGINE, store=store(), reuse=True, inside=again)
    assert again.done[0] == 7 and not kept()
    interrupt(spec)
    anew = Shares()
    fresh = run_experiment(spec, engine=ENGINE, store=store(), reuse=False, inside=anew)
    assert anew.done[0] == 1 and not kept()
    assert went_on.scores() == fresh.scores()


def test_a_fresh_sweep_begins_anew(spec):
    interrupt(spec)
    watcher = StudyWatcher()
    watcher.inside = Shares()
    run_cells([spec], RunOptions(fresh=True), store=store(), watcher=watcher)
    assert watcher.inside.done[0] == 1 and not kept()


def test_nothing_is_kept_of_what_is_found(spec):
    run_experiment(spec, engine=ENGINE, store=store())
    interrupt(spec)
    run_experiment(spec, engine=ENGINE, store=store(), reuse=True, inside=lambda *_: pytest.fail("ran again"))
    assert not kept()
