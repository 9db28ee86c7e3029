"""Workers of Ray Train: one is lost in the middle, a fault is told once, and Ctrl-C is an interrupt as everywhere. Each starts a Ray."""

import functools
import os
import signal
import threading
import time

import numpy as np
import pytest

from graphveil.scale.partition_learning import Checkpointing
from graphveil.scale.ray_workers import RayWorkers
from tests.scale.in_parts import at_fault, in_one_process, in_parts, lost_at, small_spec, waits_forever

# Ray warns of a setting of its own.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.data.context")


def test_a_fault_of_a_worker_of_ray_is_not_repeated(tmp_path):
    with pytest.raises(RuntimeError, match="worker 0 failed(.|\n)*IndexError: this is a fault"):
        RayWorkers().run(at_fault, [(IndexError("this is a fault"), tmp_path / "notes")], None)
    assert (tmp_path / "notes").read_text() == "x"


def test_an_interrupt_is_one_here_too_and_the_next_one_as_well(tmp_path):
    def interrupt():
        while not (tmp_path / "begun").exists():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        RayWorkers().run(waits_forever, [tmp_path / "begun"], None)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_lost_worker_changes_nothing(tmp_path):
    marker = tmp_path / "lost"
    kept = tmp_path / "kept" / "training-1" / "worker-1-of-2" / "epoch-4.pt"
    _, alone = in_one_process(small_spec())
    ready, outcome = in_parts(
        small_spec(),
        2,
        by=RayWorkers(),
        load=functools.partial(lost_at, kept, marker),
        checkpoints=Checkpointing(tmp_path / "kept", every=2),
    )
    assert marker.exists(), "nobody was lost"
    np.testing.assert_allclose(outcome.scores, alone.scores, rtol=1e-4, atol=1e-5)
    assert ready.ledger.spent.tolist() == [4.0] * 400
