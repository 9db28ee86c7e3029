"""A training that was interrupted goes on, and ends with the same numbers."""

import os
import shutil

import pytest
import torch

from graphveil import InputError, learn
from graphveil.graphs import load
from tests.learn.graphs import targets_of


class StoppedError(Exception):
    pass


@pytest.fixture(scope="module")
def town():
    graph, users = load("town", users=400)
    topology = learn.Topology(graph)
    return topology, torch.from_numpy(users.raw.features).float(), targets_of(graph)


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
def test_an_interrupted_training_ends_with_the_same_numbers_and_is_not_repeated(town, tmp_path, stop):
    whole = fit(town)
    with pytest.raises(StoppedError):
        fit(town, learn.Checkpoints(tmp_path, 2), stop)
    # Where it has ended, its first epoch would raise.
    for stopped in (None, 1):
        again = fit(town, learn.Checkpoints(tmp_path, 2), stopped)
        assert torch.equal(again.scores, whole.scores)
        for numbers in ("losses", "better", "train_losses"):
            assert getattr(again, numbers) == getattr(whole, numbers)


def test_few_files_are_left_of_trainings_that_are_told_apart_by_their_order(town, tmp_path):
    with pytest.raises(StoppedError):
        fit(town, learn.Checkpoints(tmp_path, 1), stop=10)
    assert sorted(file.name for file in tmp_path.rglob("*.pt")) == ["epoch-8.pt", "epoch-9.pt"]
    fit(town, learn.Checkpoints(tmp_path, 1))
    assert [file.name for file in tmp_path.rglob("*.pt")] == ["end.pt"]
    checkpoints = learn.Checkpoints(tmp_path, 2)
    fit(town, checkpoints)
    with pytest.raises(StoppedError):
        fit(town, checkpoints, stop=3)


@pytest.mark.parametrize("name", ["epoch-4.pt", "end.pt"])
def test_a_damaged_checkpoint_says_what_to_delete(town, tmp_path, name):
    with pytest.raises(StoppedError):
        fit(town, learn.Checkpoints(tmp_path, 2), stop=5)
    folder = tmp_path / "training-1/worker-0-of-1"
    (folder / name).write_bytes((folder / "epoch-4.pt").read_bytes()[:-100])
    with pytest.raises(
        InputError, match=rf"{name} holds no checkpoint, or is damaged(.|\n)*delete {tmp_path}"
    ):
        fit(town, learn.Checkpoints(tmp_path, 2))


class Planted:
    def __reduce__(self):
        return (open, ("planted", "w"))


@pytest.mark.parametrize("name", ["epoch-4.pt", "end.pt"])
def test_a_checkpoint_runs_no_code(town, tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "kept/training-1/worker-0-of-1"
    folder.mkdir(parents=True)
    torch.save({"result": Planted(), "random": Planted()}, folder / name)
    with pytest.raises(InputError, match="is damaged"):
        fit(town, learn.Checkpoints(tmp_path / "kept", 2))
    assert not (tmp_path / "planted").exists()


def test_a_checkpoint_that_cannot_be_written_is_said_and_another_process_may_remove_the_folder(
    town, tmp_path
):
    (tmp_path / f"training-1/worker-0-of-1/epoch-2.{os.getpid()}.part").mkdir(parents=True)
    with pytest.raises(InputError, match=r"epoch-2\.pt cannot be written(.|\n)*GRAPHVEIL_CACHE"):
        fit(town, learn.Checkpoints(tmp_path, 2))
    checkpoints = learn.Checkpoints(tmp_path / "kept", 2)
    training = checkpoints.training()
    training.save(2, {"kept": 1})
    shutil.rmtree(tmp_path / "kept")
    training.save(4, {"kept": 2})
    assert training.latest()[1] == {"kept": 2}
