"""Workers of Ray Train: a fault is told once, and Ctrl-C is an interrupt as everywhere. Each starts a Ray of its own."""

import os
import signal
import threading
import time

import pytest

from graphveil.engine.ray_crew import RayCrew
from tests.engine.parts import at_fault, waits_forever

# Ray warns of a setting of its own.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.data.context")


def test_a_fault_of_a_worker_of_ray_is_not_repeated(tmp_path):
    with pytest.raises(RuntimeError, match="worker 0 failed(.|\n)*IndexError: this is a fault"):
        RayCrew().run(at_fault, [(IndexError("this is a fault"), tmp_path / "notes")], None)
    assert (tmp_path / "notes").read_text() == "x"


def test_an_interrupt_is_one_here_too_and_the_next_one_as_well(tmp_path):
    def interrupt():
        while not (tmp_path / "begun").exists():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        RayCrew().run(waits_forever, [tmp_path / "begun"], None)
    assert signal.getsignal(signal.SIGINT) is before
