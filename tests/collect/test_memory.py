import asyncio
import sys

import pytest

from graphveil.collect import app
from graphveil.collect.app import memory_trimmer, trim_memory


def test_memory_is_given_back_again_and_again(monkeypatch):
    times = []
    monkeypatch.setattr(app, "memory_trimmer", lambda: times.append)

    async def some_time():
        task = asyncio.create_task(trim_memory(0.001))
        while len(times) < 3:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(some_time(), 30))
    assert times[:3] == [0, 0, 0]


def test_where_nothing_can_give_it_back_nothing_waits(monkeypatch):
    monkeypatch.setattr(app, "memory_trimmer", lambda: None)
    asyncio.run(asyncio.wait_for(trim_memory(), 30))


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has it")
def test_the_c_library_is_asked_for_it():
    trim = memory_trimmer()
    if trim is None:
        pytest.skip("this C library has no malloc_trim")
    assert trim(0) in (0, 1)
