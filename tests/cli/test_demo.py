import pytest

from graphveil.audit import audit
from graphveil.audit.examine import Audit, StatedPrivacy
from graphveil.experiments import demo as demo_module
from graphveil.experiments.runner import Runner


@pytest.fixture
def demo(monkeypatch, tmp_path, call):
    """Calls a demonstration of two budgets and a few epochs: what it printed, and its report."""
    monkeypatch.setattr(demo_module, "EPSILONS", (2.0, 8.0))
    monkeypatch.setattr(demo_module, "EPOCHS", 3)

    def demo(runs=1, ends=0):
        out = tmp_path / "report.html"
        return call(f"demo --out {out} --runs {runs} --jobs 1", ends=ends), out.read_text()

    return demo


def audits_of(*real, leaks=()):
    """Audits that take no time, but for those of the mechanisms and budgets that are named."""

    def look(name, *, epsilon, **options):
        if (name, epsilon) in real:
            return audit(name, epsilon=epsilon, **options)
        return Audit(name, StatedPrivacy(epsilon), StatedPrivacy(epsilon), [], list(leaks))

    return look


def test_demo_prints_a_table_and_writes_a_report(demo, monkeypatch):
    monkeypatch.setattr(demo_module, "audit", audits_of(("multibit", 2.0)))
    told, html = demo(runs=2)
    printed = told.words
    for words in ("ε = 2", "ε = 8", "structure", "without privacy", "The audit: 4 of 4 claims of ε hold"):
        assert words in printed
    assert "\\n" not in printed and "control the same with blinded answers" in printed
    assert html.startswith("<!doctype html>")
    assert html.count("<svg") == 2 and ">The town</h2>" in html
    assert html.count('<td class="number">2,000</td>') == 2
    assert "<summary>2 (exact, rounded up)</summary>1.99999999999819" in html


def test_an_interrupt_shows_what_was_computed(demo, monkeypatch):
    original = Runner.run
    calls = []

    def interrupted(*given):
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(*given)

    monkeypatch.setattr(Runner, "run", interrupted)
    printed, html = demo(ends=130)
    assert "ε = 2" in printed.out and "Interrupted" in printed.err and html


def test_an_interrupt_inside_an_experiment_ends_the_demo_with_its_runs(demo, monkeypatch):
    original = Runner.run

    def interrupted(*given):
        return original(*given).model_copy(update={"interrupted": True})

    monkeypatch.setattr(Runner, "run", interrupted)
    printed, _ = demo(ends=130)
    assert "ε = 2" in printed.out and "ε = 8" not in printed.out
    assert "is what was computed until then" in printed.err


def test_a_claim_that_does_not_hold_fails_the_demo(demo, monkeypatch):
    monkeypatch.setattr(demo_module, "audit", audits_of(leaks=["everything"]))
    monkeypatch.setattr(demo_module, "EPSILONS", (2.0,))
    assert "does not hold" in demo(ends=1)[0].err


def test_a_folder_that_is_not_there_is_refused(refuses):
    refuses([("demo --out nowhere/report.html", "is not a folder")])
