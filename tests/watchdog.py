"""Ends what a test run has started and removes its folders as soon as the run is gone, SIGKILL included (Linux).

A watchdog is a process beside each process of pytest. It waits until that one has ended and ends all that carry its mark in
their environment. Forks have no environment of their own: the kernel kills them together with the process they come from.
"""

import contextlib
import ctypes
import os
import secrets
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MARK = "GRAPHVEIL_TEST_RUN"
SUPPORTED = sys.platform == "linux"
MEMORY = Path("/dev/shm")
PATIENCE = 5.0
PR_SET_PDEATHSIG = 1


def start():
    """Mark everything that this process starts from now on, and let nothing of it outlive this process."""
    run = f"{os.getpid()}-{secrets.token_hex(4)}"
    if SUPPORTED:
        # Neither a signal for the group nor an open pipe may connect it with the run, and no other run may end it.
        subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(os.getpid()), run, tempfile.gettempdir()],
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ).returncode = 0  # it outlives this process: nobody waits for it
        libc = ctypes.CDLL(None)
        os.register_at_fork(after_in_child=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
    os.environ[MARK] = run


def folder_prefix():
    """Return how the name of a folder begins that is removed with the run, in the folder of temporary files or in memory."""
    return f"graphveil-{os.environ.get(MARK, 'no-run')}-"


def marked(run):
    """Return the processes that were started by a run."""
    mark, found = f"{MARK}={run}".encode(), []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            pass  # it has just ended, or is somebody else's
    return found


def end(run):
    """End the processes of a run, by force where they take long."""
    until = time.monotonic() + PATIENCE
    while left := marked(run):
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM if time.monotonic() < until else signal.SIGKILL)
        time.sleep(0.1)


def main(parent, run, temporary):
    try:
        watched = os.pidfd_open(parent)
    except ProcessLookupError:
        watched = None
    # A number may have been given to another process since.
    if watched is not None and os.getppid() == parent:
        select.select([watched], [], [])
    end(run)
    for place in (Path(temporary), MEMORY):
        for folder in place.glob(f"graphveil-{run}-*"):
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
