"""Temporary folders: gone with their process, or removed by the next one."""

import os
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from graphveil.scale.scratch import OWNER, UNTOUCHED, Scratch, remove_left, scratch

HOLDS = """
import time
from graphveil.scale.scratch import Scratch
made = Scratch("test")
(made.folder / "something").write_text("of mine")
print(made.folder, flush=True)
time.sleep(600)
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield tmp_path
    tempfile.tempdir = None


@pytest.fixture
def holder(place):
    with subprocess.Popen([sys.executable, "-c", HOLDS], stdout=subprocess.PIPE, text=True) as process:
        yield place / process.stdout.readline().strip(), process
        process.kill()


def test_a_folder_is_there_and_gone(place):
    with scratch("test") as folder:
        assert folder.parent == place and folder.stat().st_mode & 0o077 == 0
    assert list(place.iterdir()) == []


def test_folders_of_killed_processes_are_removed_and_those_of_others_left(holder, place):
    theirs, process = holder
    with scratch("test"):
        assert (theirs / "something").exists()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert theirs.exists()
    with scratch("test") as own:
        assert [each.name for each in place.iterdir()] == [own.name]


def test_own_folders_those_without_an_owner_and_what_a_link_leads_to_are_left(place):
    first, second = Scratch("test"), Scratch("test")
    (place / "graphveil-pages-1").mkdir()
    (place / "else").mkdir()
    (place / "else" / OWNER).touch()
    remove_left(place)
    assert first.folder.exists() and second.folder.exists()
    assert (place / "graphveil-pages-1").exists() and (place / "else").exists()
    first.remove()
    second.remove()
    (place / "precious").mkdir()
    (place / "precious" / OWNER).touch()
    (place / "graphveil-test-a").symlink_to(place / "precious")
    (place / "graphveil-test-b").mkdir()
    os.symlink(place / "precious" / OWNER, place / "graphveil-test-b" / OWNER)
    remove_left(place)
    assert (place / "precious" / OWNER).exists() and (place / "graphveil-test-b").exists()


def test_what_a_dying_ray_made_anew_is_removed_if_nothing_is_in_it(place):
    husk, live, young = (place / f"graphveil-ray-{name}" for name in ("husk", "live", "young"))
    for each in (husk, live, young):
        (each / "session_1").mkdir(parents=True)
    (live / "session_1" / "log").touch()
    long_ago = time.time() - 2 * UNTOUCHED
    for each in (husk, live):
        os.utime(each, (long_ago, long_ago))
    remove_left(place)
    assert {each.name for each in place.iterdir()} == {live.name, young.name}
    assert (live / "session_1" / "log").exists()
