"""Commands that really learn, killed at random moments: with one process, with several, and two of them on one file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kills import CAMPAIGNS, FEW, Diary, campaign

PROJECT = Path(__file__).parents[2]
KILLS = 10


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a sweep, and the cache beside it."""
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(PROJECT), os.environ.get("PYTHONPATH", "")]))
    return tmp_path


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_what_is_killed_ten_times_loses_nothing_and_keeps_nothing_twice(name, place):
    # Whether anything learned does not matter to what deletes and exports.
    how = "tiny" if name in ("delete", "export") else "real"
    command = [sys.executable, "-m", "tests.kills", name, how, str(place), str(KILLS)]
    done = subprocess.run(command, check=False, cwd=place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
def test_several_processes_lose_nothing(place):
    diary, sweep = Diary(place / "diary"), place / "few.toml"
    sweep.write_text(FEW)
    command = [sys.executable, "-m", "tests.kills", "one", str(diary.file), "sweep", str(sweep)]
    options = ["--out", str(place / "few.svg"), "--json", "--jobs", "2"]

    def start():
        silent = subprocess.DEVNULL
        # Whoever starts it waits for it by its number.
        return subprocess.Popen([*command, *options], cwd=place, stdout=silent, stderr=silent).pid

    campaign(start, diary, sweep, 0, kills=3)
