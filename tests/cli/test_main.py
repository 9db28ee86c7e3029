import importlib

import pytest

import graphveil
from graphveil.cli import main, status
from graphveil.errors import ClaimError


@pytest.fixture
def audit_raises(monkeypatch):
    """What the audit raises from now on."""

    def raises(error):
        def audit(*_, **__):
            raise error

        # The command has the name of its module and hides it.
        monkeypatch.setattr(importlib.import_module("graphveil.cli.audit"), "audit_mechanism", audit)

    return raises


def test_version(call):
    assert call("--version").out == f"graphveil {graphveil.__version__}\n"
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0


def test_without_a_command_the_commands_are_listed(call):
    out = call().out
    assert "audit" in out and "mechanisms" in out


def test_an_unknown_command_is_one_line_and_exit_status_2(call):
    assert call("frobnicate", ends=2).err == "Error: No such command 'frobnicate'; see --help\n"


def test_a_claim_that_a_constructor_refuses_exits_with_1(audit_raises, call):
    audit_raises(ClaimError("the table has more"))
    assert "Error: the table has more" in call("audit krr", ends=1).err


def test_a_fault_of_ours_is_not_hidden(audit_raises):
    audit_raises(RuntimeError("a bug"))
    with pytest.raises(RuntimeError, match="a bug"):
        status(["audit", "krr"])
