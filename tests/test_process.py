"""How the command's process begins and ends."""

import subprocess
import sys

import pytest

from graphveil import process

# A program that is started as `python -m graphveil` is; it ends with a status, and something is to happen at its end.
ENDING = """
import atexit, sys, threading
from graphveil import process
sys.orig_argv = [sys.executable, "-m", "graphveil"] if {command} else [sys.executable, "mine.py"]
atexit.register(print, "at the end")
print("said")
{before}
process.end({code})
print("still there")
"""
WORKING = "threading.Timer(0.2, print, ['a thread']).start()"


@pytest.mark.parametrize(
    ("command", "before", "code", "said", "status"),
    [
        (True, "", 2, ["said", "at the end"], 2),
        (False, "", 2, ["said", "still there", "at the end"], 0),
        (True, "", "None", ["said", "still there", "at the end"], 0),
        (True, WORKING, 2, ["said", "still there", "a thread", "at the end"], 0),
    ],
    ids=["the command", "another program", "no status", "a thread at work"],
)
def test_only_a_command_that_is_done_ends_at_once(command, before, code, said, status):
    program = ENDING.format(command=command, before=before, code=code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout.splitlines(), done.returncode, done.stderr) == (said, status, "")


def test_what_cannot_be_written_is_left_to_python():
    program = ENDING.format(command=True, before="", code=0)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", program], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode != 0 and "No space left" in done.stderr


def test_a_process_looks_for_garbage_rarely(monkeypatch):
    given = []
    monkeypatch.setattr("gc.set_threshold", lambda *thresholds: given.append(thresholds))
    process.begin()
    assert given == [process.COLLECTIONS]
