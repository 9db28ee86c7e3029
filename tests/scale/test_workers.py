"""What is refused before workers are started, or before they read anything."""

import multiprocessing
import sys

import numpy as np
import pytest

from graphveil.errors import InputError
from graphveil.scale.partition_learning import LARGE, give_back_at_once, loaded
from graphveil.scale.workers import LIBRARIES, ProcessWorkers, check_room


def test_workers_need_room_for_libraries():
    check_room(4, 4 * LIBRARIES, "this machine")
    # One is always started: whatever it takes, there is no other way.
    check_room(1, 0.0, "this machine")
    with pytest.raises(
        InputError, match="5 workers take 1.0 GB(.|\n)*this machine has 0.8 GB: give at most workers 4"
    ):
        check_room(5, 4 * LIBRARIES, "this machine")
    with pytest.raises(InputError, match="1000000 workers take 200000.0 GB for libraries alone"):
        ProcessWorkers().run(lambda *_: pytest.fail("started"), [None] * 1_000_000, None)
    with pytest.raises(
        InputError, match=r"libraries alone take \d\.\d\d GB(.|\n)*above the 0\.01 GB that max_memory allows"
    ):
        loaded(lambda: None, 0.01)
    assert loaded(lambda: None, 1000.0) > 10


# Below what glibc would give back by itself once larger blocks have been free.
BLOCK, BLOCKS = 16 * LARGE, 8


def _resident():
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


def _kept(give_back, end):
    """Blocks one after the other, of which all but the last are left: how much memory stays."""
    if give_back:
        give_back_at_once()
    # After it glibc takes blocks of this size from its own heap.
    large = np.ones(30 * LARGE, dtype=np.uint8)
    del large
    before = _resident()
    blocks = [np.ones(BLOCK, dtype=np.uint8) for _ in range(BLOCKS)]
    last = blocks.pop()
    del blocks
    end.send(_resident() - before - len(last))


def _measured(give_back):
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_kept, args=(give_back, there))
    process.start()
    kept = here.recv()
    process.join()
    return kept


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has it")
def test_free_blocks_between_others_are_given_back():
    if _measured(False) < (BLOCKS - 2) * BLOCK:
        pytest.skip("this C library gives them back by itself")
    assert _measured(True) < BLOCK


def test_pyarrow_takes_memory_as_others_do():
    pyarrow = pytest.importorskip("pyarrow")
    before = pyarrow.default_memory_pool()
    try:
        give_back_at_once()
        assert pyarrow.default_memory_pool().backend_name == "system"
    finally:
        pyarrow.set_memory_pool(before)
