"""Workers that hold a part of a graph each learn what one process learns."""

import functools
import multiprocessing

import numpy as np
import pytest

from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment
from graphveil.scale.partition_learning import Checkpointing
from graphveil.scale.workers import ProcessWorkers, _listen
from tests.scale.in_parts import at_fault, in_one_process, in_parts, lost_at, refused_in_one, small_spec


@pytest.fixture(scope="module")
def alone():
    return in_one_process(small_spec())


@pytest.fixture(scope="module")
def by_two():
    return in_parts(small_spec(), 2)


def test_scores_are_those_of_one_process_and_everybody_is_charged_once(alone, by_two):
    ready, outcome = by_two
    np.testing.assert_allclose(outcome.scores, alone[1].scores, rtol=1e-4, atol=1e-5)
    assert outcome.validation_loss == pytest.approx(alone[1].validation_loss, rel=1e-5)
    assert ready.ledger.spent.tolist() == [4.0] * 400
    assert ready.turnout == (400, 400)
    numbers = outcome.also
    assert numbers["workers"] == 2 and 0 < numbers["cut_share"] < 1
    for rank in range(2):
        assert numbers[f"worker_{rank}_peak_mb"] > 10 and numbers[f"worker_{rank}_sent_mb"] > 0
        beyond = numbers[f"worker_{rank}_peak_mb"] - numbers[f"worker_{rank}_idle_mb"]
        assert numbers[f"worker_{rank}_beyond_mb"] == beyond > 0
    assert sum(numbers[f"worker_{rank}_users"] for rank in range(2)) == 400


def test_a_lost_worker_changes_no_number(by_two, tmp_path):
    marker = tmp_path / "lost"
    kept = tmp_path / "kept" / "training-1" / "worker-1-of-2" / "epoch-4.pt"
    _, whole = by_two
    ready, outcome = in_parts(
        small_spec(),
        2,
        load=functools.partial(lost_at, kept, marker),
        checkpoints=Checkpointing(tmp_path / "kept", every=2),
    )
    assert marker.exists(), "nobody was lost"
    np.testing.assert_array_equal(outcome.scores, whole.scores)
    assert outcome.curve == whole.curve
    # The users answered once, though they were asked twice.
    assert ready.ledger.spent.tolist() == [4.0] * 400


def test_what_one_worker_refuses_is_refused_whoever_is_left_alone(tmp_path):
    """A worker refuses; another one, whose word comes first, only knows that it was left alone."""
    with pytest.raises(InputError, match="does not like its part"):
        in_parts(small_spec(), 2, load=functools.partial(refused_in_one, tmp_path / "first"))
    here, there = zip(*(multiprocessing.Pipe() for _ in range(2)), strict=True)
    there[0].send(("lost", "gloo: connection closed by peer"))
    there[1].send(("progress", ("training", 0.5)))
    there[1].send(("error", InputError("this worker does not like its part: give it another")))
    with pytest.raises(InputError, match="does not like its part"):
        _listen(list(here), None)


@pytest.mark.parametrize("kind", [RuntimeError, IndexError])
def test_a_fault_of_one_worker_is_not_repeated(kind, tmp_path, capfd):
    with pytest.raises(RuntimeError, match="worker 0 failed(.|\n)*this is a fault"):
        ProcessWorkers().run(at_fault, [(kind("this is a fault"), tmp_path / "notes")], None)
    assert (tmp_path / "notes").read_text() == "x"
    # It is told where it is raised, and not by the worker too.
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("method", "options", "why"),
    [
        ("base", {"backbone": "gat"}, "weighs each edge itself"),
        ("upgnet", {"settings": {"order": "H-N"}}, "order H-N"),
        ("togl", {}, "needs the whole graph"),
    ],
)
def test_what_cannot_be_learned_in_parts_says_why(method, options, why):
    with pytest.raises(InputError, match=why):
        in_parts(small_spec(method, **options), 2)


def test_raw_rows_do_not_travel_and_too_many_workers_are_refused():
    spec = Experiment.of("nonprivate", "town", settings={"epochs": 1, "data.users": 400})
    with pytest.raises(InputError, match="nonprivate reads raw rows, which stay with users in one process"):
        in_parts(spec, 2)
    with pytest.raises(InputError, match="500 workers cannot share 400 users"):
        in_parts(small_spec(), 500)
