import importlib

import pytest

import graphveil
from graphveil.cli import main, status
from graphveil.errors import ClaimError
from tests.cli.support import without_example

# The command has the name of its module and hides it.
COMMAND = importlib.import_module("graphveil.cli.audit")


def test_version(capsys):
    assert status(["--version"]) == 0
    assert capsys.readouterr().out == f"graphveil {graphveil.__version__}\n"


def test_without_a_command_the_commands_are_listed(capsys):
    assert status([]) == 0
    out = capsys.readouterr().out
    assert "audit" in out
    assert "mechanisms" in out


def test_help_has_an_example(capsys):
    assert (
        without_example(
            [
                "answer",
                "audit",
                "mechanisms",
                "demo",
                "tune",
                "embed",
                "sweep",
                "paper",
                "attributes",
                "attack",
            ],
            capsys,
        )
        == []
    )


def test_an_unknown_command_is_one_line_and_exit_status_2(capsys):
    assert status(["frobnicate"]) == 2
    assert capsys.readouterr().err == "Error: No such command 'frobnicate'; see --help\n"


def test_a_claim_that_a_constructor_refuses_exits_with_1(monkeypatch, capsys):
    def audit(*_, **__):
        raise ClaimError("the table has more")

    monkeypatch.setattr(COMMAND, "audit_mechanism", audit)
    assert status(["audit", "krr"]) == 1
    assert "Error: the table has more" in capsys.readouterr().err


def test_a_fault_of_ours_is_not_hidden(monkeypatch):
    def audit(*_, **__):
        raise RuntimeError("a bug")

    monkeypatch.setattr(COMMAND, "audit_mechanism", audit)
    with pytest.raises(RuntimeError, match="a bug"):
        status(["audit", "krr"])


def test_main_exits_with_the_status():
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
