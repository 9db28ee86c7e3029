"""Real sweeps, which learn, killed at random moments: with one process, with several, and two sweeps on one file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kills import SWEEP, Diary, campaign, check_computed_once, check_true, check_whole

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a sweep, and the cache beside it."""
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(PROJECT), os.environ.get("PYTHONPATH", "")]))
    (tmp_path / "many.toml").write_text(SWEEP)
    return tmp_path


def starter(place, diary, *more, figure="many.svg"):
    """Starts a sweep in a process of its own, and returns its number."""

    def start():
        options = ["--out", str(place / figure), "--json", *more]
        command = [
            sys.executable,
            "-m",
            "tests.kills",
            "one",
            str(diary.file),
            "sweep",
            "many.toml",
            *options,
        ]
        silent = subprocess.DEVNULL
        # Whoever starts it waits for it by its number.
        return subprocess.Popen(command, cwd=place, stdout=silent, stderr=silent).pid

    return start


@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
@pytest.mark.parametrize("seed", range(3))
def test_one_process_that_learns_loses_nothing_and_computes_nothing_again(place, seed):
    diary = Diary(place / "diary")
    assert campaign(starter(place, diary), diary, place / "many.toml", seed) > 0
    check_computed_once(diary)


@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
@pytest.mark.parametrize("seed", range(2))
def test_several_processes_lose_nothing(place, seed):
    diary = Diary(place / "diary")
    assert campaign(starter(place, diary, "--jobs", "2"), diary, place / "many.toml", seed) > 0


@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
def test_two_sweeps_on_one_file_lose_nothing(place):
    own, other = Diary(place / "own"), Diary(place / "other")
    # The other one goes on beside it, and is not killed.
    beside = starter(place, other, figure="other.svg")()
    campaign(starter(place, own), own, place / "many.toml", 0)
    _, state = os.waitpid(beside, 0)
    assert os.waitstatus_to_exitcode(state) == 0
    check_true(other)
    check_whole(place / "many.toml")
