import os
import signal
import subprocess
import sys
import time

import pytest

from graphveil.experiments.engine import HERE, UnitLostError, call_result, processes

# Ample on any machine; a worker that watches its parent ends at once.
DEADLINE = 60.0

PARENT = """
import os, time
from graphveil.experiments.engine import processes

if __name__ == "__main__":
    with processes(2) as pool:
        numbers = {pool.submit(os.getpid).result() for _ in range(20)} | set(pool.executor._processes)
        for _ in range(2):
            pool.submit(time.sleep, 600)
        print(*numbers, flush=True)
        time.sleep(600)
"""


def alive(number: int) -> bool:
    """Whether a process is there and has not ended: one that nobody has waited for yet counts as gone."""
    try:
        with open(f"/proc/{number}/stat", encoding="ascii", errors="replace") as fields:
            return fields.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_workers_end_with_a_parent_that_was_killed(tmp_path):
    file = tmp_path / "parent.py"
    file.write_text(PARENT)
    parent = subprocess.Popen([sys.executable, str(file)], stdout=subprocess.PIPE, text=True)
    try:
        numbers = [int(word) for word in parent.stdout.readline().split()]
        assert len(numbers) == 2
        assert all(map(alive, numbers))
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        until = time.monotonic() + DEADLINE
        while any(map(alive, numbers)) and time.monotonic() < until:
            time.sleep(0.05)
        left = [number for number in numbers if alive(number)]
        for number in left:
            os.kill(number, signal.SIGKILL)
        assert left == []
    finally:
        parent.kill()
        parent.stdout.close()
        parent.wait()


def test_workers_compute_and_end_and_one_that_was_killed_is_told_in_a_sentence():
    with processes(2) as pool:
        assert [pool.submit(abs, number).result() for number in (-1, 2)] == [1, 2]
        numbers = list(pool.executor._processes)
    assert not any(map(alive, numbers))
    with processes(1) as pool:
        with pytest.raises(UnitLostError, match="was killed(.|\n)*whatever was finished is kept"):
            call_result(pool.submit(os._exit, 1))
        assert pool.stopped


def test_shared_workers_stay_until_they_are_stopped_and_then_there_are_others():
    with HERE.shared(1) as give:
        first = give()
        assert give() is first
        one = first.submit(os.getpid).result()
        first.submit(time.sleep, 600)
        first.stop()
        other = give().submit(os.getpid).result()
        assert other != one
    assert not alive(one) and not alive(other)
