import importlib

import pytest

from graphveil.audit import audit
from graphveil.audit.examine import Audit, StatedPrivacy
from graphveil.experiments import demo as demo_module
from graphveil.experiments.runner import Runner

# The command has the name of its module and hides it.
COMMAND = importlib.import_module("graphveil.cli.demo")


@pytest.fixture
def small(monkeypatch):
    """A demonstration of two budgets and a few epochs."""
    monkeypatch.setattr(demo_module, "EPSILONS", (2.0, 8.0))
    monkeypatch.setattr(demo_module, "EPOCHS", 3)


def audits_of(*real, leaks=()):
    """Audits that take no time, but for those of the mechanisms and budgets that are named."""

    def look(name, *, epsilon, **options):
        if (name, epsilon) in real:
            return audit(name, epsilon=epsilon, **options)
        return Audit(name, StatedPrivacy(epsilon), StatedPrivacy(epsilon), [], list(leaks))

    return look


def test_demo_prints_a_table_and_writes_a_report(small, tmp_path, call, monkeypatch):
    monkeypatch.setattr(demo_module, "audit", audits_of(("multibit", 2.0)))
    out = tmp_path / "report.html"
    printed = call(f"demo --out {out} --runs 2 --jobs 1").words
    for words in ("ε = 2", "ε = 8", "structure", "without privacy", "The audit: 4 of 4 claims of ε hold"):
        assert words in printed
    assert "\\n" not in printed and "control the same with blinded answers" in printed
    html = out.read_text()
    assert html.startswith("<!doctype html>")
    assert html.count("<svg") == 2 and ">The town</h2>" in html
    assert html.count('<td class="number">2,000</td>') == 2
    assert "<summary>2 (exact, rounded up)</summary>1.99999999999819" in html


def test_an_interrupt_shows_what_was_computed(small, tmp_path, call, monkeypatch):
    original = Runner.run
    calls = []

    def interrupted(*given):
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(*given)

    monkeypatch.setattr(Runner, "run", interrupted)
    out = tmp_path / "report.html"
    printed = call(f"demo --out {out} --runs 1 --jobs 1", ends=130)
    assert "ε = 2" in printed.out
    assert "Interrupted" in printed.err
    assert out.exists()


def test_an_interrupt_inside_an_experiment_ends_the_demo_with_its_runs(small, tmp_path, call, monkeypatch):
    original = Runner.run

    def interrupted(*given):
        return original(*given).model_copy(update={"interrupted": True})

    monkeypatch.setattr(Runner, "run", interrupted)
    out = tmp_path / "report.html"
    printed = call(f"demo --out {out} --runs 1 --jobs 1", ends=130)
    assert "ε = 2" in printed.out and "ε = 8" not in printed.out
    assert "is what was computed until then" in printed.err


def test_a_claim_that_does_not_hold_fails_the_demo(small, tmp_path, call, monkeypatch):
    monkeypatch.setattr(demo_module, "audit", audits_of(leaks=["everything"]))
    monkeypatch.setattr(demo_module, "EPSILONS", (2.0,))
    assert "does not hold" in call(f"demo --out {tmp_path / 'report.html'} --runs 1 --jobs 1", ends=1).err


def test_a_folder_that_is_not_there_is_refused(tmp_path, call):
    assert "is not a folder" in call(f"demo --out {tmp_path / 'nowhere' / 'report.html'}", ends=2).err
