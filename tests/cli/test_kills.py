"""A sweep of sixty runs that is killed at ten random moments loses nothing that it said was finished, and keeps nothing twice."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

# Where a file is in memory, waiting for a disk takes no time, and a killed process has written what it has written all the same.
MEMORY = "/dev/shm"
KILLS = 10


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as name:
        yield Path(name)


def test_a_killed_sweep_loses_nothing_and_keeps_nothing_twice(folder):
    command = [sys.executable, "-m", "tests.kills", "sweep", "tiny", str(folder), str(KILLS)]
    project = Path(__file__).parents[2]
    path = os.pathsep.join([str(project), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        command, check=False, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert (folder / "many.svg").is_file()
