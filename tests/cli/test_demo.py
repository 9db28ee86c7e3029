import importlib

from graphveil.cli import status
from graphveil.cli.demo import SHOWN
from graphveil.privacy.audit import Audit, Privacy

# The command has the name of its module and hides it.
COMMAND = importlib.import_module("graphveil.cli.demo")


def test_demo_shows_a_table_and_what_it_means(monkeypatch, capsys):
    monkeypatch.setattr(COMMAND, "SHOWN", ("krr", "esw"))
    assert status(["demo"]) == 0
    out = capsys.readouterr().out
    assert "krr" in out
    assert "what a report may reveal" in out


def test_demo_fails_where_a_claim_does_not_hold(monkeypatch, capsys):
    monkeypatch.setattr(
        COMMAND, "audit", lambda name, **_: Audit(name, Privacy(1.0), Privacy(2.0), [], ["all"])
    )
    assert status(["demo"]) == 1
    assert all(name in capsys.readouterr().out for name in SHOWN[-1:])
