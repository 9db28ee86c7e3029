"""Screens of help and lists: they are what the commands print, and are shown where that is what somebody wants to see."""

import os
import subprocess
import sys

import pytest

from docs.screens import made_screens, stored_screens
from graphveil import screens
from graphveil.screens import screen_file, show_screen, stored_screen


def test_screens_are_what_commands_print():
    made, stored = made_screens(), stored_screens()
    wrong = {name for name in made.keys() | stored.keys() if made.get(name) != stored.get(name)}
    assert not wrong, f"write them anew with `python -m docs.screens`: {sorted(wrong)}"
    assert len(made) > 50 and {"--help", "run --help", "collect learn --help", *screens.LISTS} <= made.keys()


@pytest.fixture
def alone(tmp_path):
    """An environment without graphs, in which nobody asks for another look."""
    wanted = {
        name: value for name, value in os.environ.items() if name not in (*screens.LOOKS, "GRAPHVEIL_DATA")
    }
    return {**wanted, "GRAPHVEIL_CACHE": str(tmp_path), "PYTHONUTF8": "1"}


# What the command has loaded when it ends stands on stderr.
LOADED = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
from graphveil.__main__ import main
sys.argv[0] = "graphveil"
main()
"""


def called(words, environment):
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words], capture_output=True, text=True, env=environment, check=True
    )
    return done.stdout, set(done.stderr.split())


@pytest.mark.parametrize("words", [[], ["run", "--help"], ["sweep"], ["methods"], ["data", "list"]])
def test_a_screen_is_printed_without_its_styles_and_without_the_command_line(words, alone):
    printed, loaded = called(words, alone)
    assert printed == screens.STYLE.sub("", screen_file(" ".join(words) or "--help").read_text())
    assert "\x1b" not in printed and loaded & {"numpy", "pydantic", "typer", "rich", "graphveil.cli"} == set()


def test_another_width_is_made_by_the_command(alone):
    printed, loaded = called(["mechanisms"], {**alone, "COLUMNS": "200"})
    assert "graphveil.cli" in loaded and max(map(len, printed.splitlines())) > screens.WIDTH


def test_graphs_of_this_machine_are_listed(alone, tmp_path):
    (tmp_path / "mine.npz").write_bytes(b"no graph")
    printed, loaded = called(["data", "list"], alone)
    assert "mine" in printed and "graphveil.cli" in loaded


@pytest.mark.parametrize("group", sorted(screens.OFFERED.items()))
def test_what_installed_packages_offer_is_listed(group, monkeypatch, tmp_path):
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path))
    monkeypatch.delenv("GRAPHVEIL_DATA", raising=False)
    command, name = group
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [])
    assert not screens._has_more(command)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [group] * (group == name))
    assert screens._has_more(command)


@pytest.mark.parametrize(
    "words", [["run"], ["../screens/run_--help"], ["nothing", "--help"], ["methods", "veil"]]
)
def test_there_is_no_screen_for_anything_else(words):
    assert stored_screen(words) is None and not show_screen(words)
