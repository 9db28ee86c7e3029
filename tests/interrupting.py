"""Commands in processes of their own, and Ctrl-C at a moment that a test chooses."""

import os
import signal
import subprocess
import time
from dataclasses import dataclass

from tests.fixtures import PATIENCE, started

# A shell starts what runs in its background with interrupts ignored: listen to them again.
COMMAND = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from graphveil.cli import main; main()"


@dataclass(frozen=True)
class Ended:
    status: int
    out: str
    err: str
    session: int


def interrupted_when(ready, arguments):
    """Start a command and interrupt it, as a terminal does, once ``ready()`` says so. One that does not end is killed, and fails the test."""
    with started(COMMAND, *arguments, stdin=None, stderr=subprocess.PIPE, cwd=None) as process:
        until = time.monotonic() + PATIENCE
        while not ready():
            assert process.poll() is None, f"it ended by itself:\n{process.stderr.read()}"
            assert time.monotonic() < until, "it never came so far"
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    return Ended(process.returncode, out, err, process.pid)
