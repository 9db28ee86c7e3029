"""Calls on a real Ray of this machine, which is started once for all of them."""

import os
import signal
import time
from concurrent.futures import BrokenExecutor, CancelledError
from pathlib import Path

import pytest
import ray
import ray._private.worker as ray_worker

from graphveil.errors import EngineError, InputError
from graphveil.experiments.engine import Engine
from graphveil.scale.ray_pool import RayPool, sentence
from graphveil.scale.ray_session import RETRIES

# Ample on any machine.
DEADLINE = 60.0


def shared_state():
    """What a whole process shares, as far as Ray touches it; a test's own name aside."""
    variables = {name: hash(value) for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    return variables, handlers, os.getcwd(), ray_worker._worker_logs_enabled


@pytest.fixture(scope="module")
def engine():
    engine, before = Engine.of("ray"), shared_state()
    with engine.open():
        yield engine
    assert not ray.is_initialized()
    assert shared_state() == before


@pytest.fixture
def pool(engine):
    with engine.pool(2) as pool:
        yield pool


def until(condition):
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_calls_are_computed_by_as_many_processes_as_ray_has_processors(pool, engine):
    assert isinstance(pool, RayPool)
    numbers = {pool.submit(os.getpid).result() for _ in range(4)}
    assert os.getpid() not in numbers
    assert [pool.submit(divmod, number, 3).result() for number in range(4)] == [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 0),
    ]
    with engine.pool(None) as all_of_them:
        assert all_of_them.count == int(ray.cluster_resources()["CPU"])
    with pytest.raises((AttributeError, TypeError)):
        pool.submit(lambda: 1)


def test_no_more_are_computed_at_a_time_than_asked_for(engine, tmp_path):
    with engine.pool(1) as pool:
        futures = [pool.submit(time.sleep, 600), pool.submit(os.mkdir, str(tmp_path / "made"))]
        until(futures[0].running)
        assert not futures[1].running() and futures[1].cancel()
        pool.stop()
    assert not (tmp_path / "made").exists()


def test_an_error_is_raised_as_it_was_not_repeated_and_what_was_finished_before_a_stop_counts(pool, tmp_path):
    with pytest.raises(InputError) as raised:
        pool.submit(note_and_refuse, str(tmp_path / "tries")).result()
    assert str(raised.value) == "give epsilon" and "in note_and_refuse" in raised.value.__notes__[0]
    assert (tmp_path / "tries").read_text() == "x"
    future = pool.submit(abs, -3)
    future.result()
    pool.stop()
    assert future.result() == 3


def test_a_call_whose_worker_is_killed_is_repeated(pool, tmp_path, capfd):
    assert pool.submit(survive, str(tmp_path / "tries"), 1).result() == 2
    assert capfd.readouterr() == ("", "")


def test_after_three_repetitions_it_is_given_up(pool, tmp_path):
    future = pool.submit(survive, str(tmp_path / "tries"), RETRIES + 1)
    with pytest.raises(EngineError, match="died 4 times"):
        future.result()
    assert (tmp_path / "tries").read_text() == "x" * (RETRIES + 1)
    assert pool.submit(abs, -1).result() == 1


def test_what_is_stopped_ends_at_once_and_others_can_be_started(engine, tmp_path):
    with engine.shared(2) as give:
        pool = give()
        futures = [pool.submit(wait_forever, str(tmp_path)) for _ in range(3)]
        until(lambda: len(list(tmp_path.iterdir())) == 2)
        pool.stop()
        assert pool.stopped and give() is not pool
        assert isinstance(futures[0].exception(), BrokenExecutor)
        with pytest.raises(CancelledError):
            futures[2].result()
        with pytest.raises(RuntimeError, match="were stopped"):
            pool.submit(abs, -1)
        assert give().submit(abs, -2).result() == 2
        until(lambda: not any(Path(f"/proc/{each.name}").exists() for each in tmp_path.iterdir()))


def test_what_cannot_be_computed_is_a_sentence():
    error = ray.exceptions.RayTaskError(
        "compute", "Traceback\nModuleNotFoundError: No module named 'graphveil'", ModuleNotFoundError("x")
    )
    assert "cannot run graphveil" in sentence(error) and "install graphveil" in sentence(error)
    assert "short of memory: give fewer --jobs" in sentence(ray.exceptions.OutOfMemoryError("short"))


def note_and_refuse(file):
    with open(file, "a") as notes:
        notes.write("x")
    raise InputError("give --epsilon")


def survive(file, kills):
    """Dies so many times; then, how often it was tried."""
    with open(file, "a") as notes:
        notes.write("x")
    tried = len(Path(file).read_text())
    if tried <= kills:
        os.kill(os.getpid(), signal.SIGKILL)
    return tried


def wait_forever(folder):
    """Names its process by a file, and is never done."""
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(600)
