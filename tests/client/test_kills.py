"""A device that is killed at any moment is never charged twice, and never has two answers to one plan."""

import os
import subprocess
import sys
from pathlib import Path

KILLS = 10


def test_killed_devices_and_processes_beside_each_other_spend_once(folder):
    project = Path(__file__).parents[2]
    path = os.pathsep.join([str(project), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "tests.client.kills", str(folder), str(KILLS)]
    done = subprocess.run(
        command,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
