"""Ctrl-C while the command is loaded."""

import sys

import pytest

from graphveil.interrupts import is_command, quiet_interrupt


def interrupted():
    with quiet_interrupt():
        raise KeyboardInterrupt


def test_the_command_ends_in_one_line_with_status_130(monkeypatch, capsys):
    monkeypatch.setattr(sys, "orig_argv", ["python", "-P", "-m", "graphveil", "demo"])
    with pytest.raises(SystemExit) as ended:
        interrupted()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "\nInterrupted: nothing was begun.\n"


def test_an_interrupt_of_another_program_is_its_own(monkeypatch, capsys):
    monkeypatch.setattr(sys, "orig_argv", ["python", "mine.py"])
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["python", "-m", "graphveil"], True),
        (["/usr/bin/python3", "/home/me/.venv/bin/graphveil", "run"], True),
        (["python", "C:/Scripts/graphveil.exe"], True),
        (["python", "-m", "pytest", "graphveil"], False),
        (["python", "-c", "import graphveil"], False),
        (["python"], False),
    ],
)
def test_the_command_is_known_by_how_python_was_started(words, expected):
    assert is_command(words) is expected
