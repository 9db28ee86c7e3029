"""A training that was interrupted goes on, and ends with the same numbers."""

import pytest
import torch

from graphveil import learn
from graphveil.graphs import load


class StoppedError(Exception):
    pass


@pytest.fixture(scope="module")
def town():
    graph, users = load("town", users=400)
    topology = learn.Topology(graph)
    labels, train, validation = (
        learn.tensor(array) for array in (graph.labels, graph.train, graph.validation)
    )
    inputs = torch.from_numpy(users.raw.features).float()
    return topology, inputs, learn.Targets(labels, train, validation)


def fit(town, checkpoints=None, stop=None):
    topology, inputs, targets = town

    def progress(done, most, loss):
        if done == stop:
            raise StoppedError

    with learn.seeded(3):
        model = learn.build_backbone("gcn", inputs.shape[1], 8, 4)
        return learn.fit(
            model, inputs, topology, targets, learn.Schedule(epochs=12), progress, checkpoints=checkpoints
        )


@pytest.mark.parametrize("stop", [1, 5, 11])
def test_an_interrupted_training_ends_with_the_same_numbers(town, tmp_path, stop):
    whole = fit(town)
    with pytest.raises(StoppedError):
        fit(town, learn.Checkpoints(tmp_path, 2), stop)
    again = fit(town, learn.Checkpoints(tmp_path, 2))
    assert torch.equal(again.scores, whole.scores)
    assert (again.losses, again.better, again.train_losses) == (
        whole.losses,
        whole.better,
        whole.train_losses,
    )


def test_a_training_that_has_ended_is_not_repeated(town, tmp_path):
    whole = fit(town, learn.Checkpoints(tmp_path, 2))
    # Its first epoch would raise.
    again = fit(town, learn.Checkpoints(tmp_path, 2), stop=1)
    assert torch.equal(again.scores, whole.scores)


def test_trainings_are_told_apart_by_their_order(town, tmp_path):
    checkpoints = learn.Checkpoints(tmp_path, 2)
    fit(town, checkpoints)
    with pytest.raises(StoppedError):
        fit(town, checkpoints, stop=3)


def test_few_files_are_left(town, tmp_path):
    with pytest.raises(StoppedError):
        fit(town, learn.Checkpoints(tmp_path, 1), stop=10)
    assert sorted(file.name for file in tmp_path.rglob("*.pt")) == ["epoch-8.pt", "epoch-9.pt"]
    fit(town, learn.Checkpoints(tmp_path, 1))
    assert [file.name for file in tmp_path.rglob("*.pt")] == ["end.pt"]
