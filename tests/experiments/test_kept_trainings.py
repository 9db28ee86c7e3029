"""Trainings that were interrupted: what goes on from them, and when they are gone."""

import pytest

from graphveil.experiments.engine import Engine
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.runner import CHECKPOINTS, RunOptions, StudyWatcher, run_experiment
from graphveil.experiments.store import results_file
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


def run(spec, inside, *, fresh=False):
    watcher = StudyWatcher()
    watcher.inside = inside
    return run_experiment(spec, RunOptions(engine=ENGINE, fresh=fresh), watcher)


def interrupt(spec, *, fresh=False):
    with pytest.raises(KeyboardInterrupt):
        run(spec, Shares(stop=7), fresh=fresh)
    assert kept(), "nothing was kept"


def test_the_same_command_goes_on_and_a_fresh_one_begins_anew(spec):
    interrupt(spec)
    again = Shares()
    went_on = run(spec, again)
    assert again.done[0] == 7 and not kept()
    interrupt(spec, fresh=True)
    anew = Shares()
    fresh = run(spec, anew, fresh=True)
    assert anew.done[0] == 1 and not kept()
    assert went_on.scores() == fresh.scores()


def test_nothing_is_kept_of_what_is_found(spec):
    run(spec, None)
    interrupt(spec, fresh=True)
    run(spec, lambda *_: pytest.fail("ran again"))
    assert not kept()
