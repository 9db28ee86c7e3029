"""Devices that are killed three hundred times spend once."""

import os
import subprocess
import sys
from pathlib import Path

from tests.client.support import fast_folder


def test_killed_devices_spend_once():
    project = Path(__file__).parents[2]
    path = os.pathsep.join([str(project), os.environ.get("PYTHONPATH", "")])
    with fast_folder() as folder:
        command = [sys.executable, "-m", "tests.client.kills", folder, "300"]
        environment = {**os.environ, "PYTHONPATH": path}
        done = subprocess.run(
            command, check=False, cwd=folder, env=environment, capture_output=True, text=True, timeout=1800
        )
    assert done.returncode == 0, done.stderr
