import numpy as np
import pytest

from graphveil.denoise.energy import energy_over_hops
from graphveil.experiments import Experiment, report
from graphveil.experiments import energy as smoothing
from graphveil.experiments.report import (
    gain_verdict,
    lines,
    report_html,
    report_table,
    results_headline,
    write_report,
)
from graphveil.experiments.result import Result
from graphveil.graphs import load
from graphveil.methods import Job, feature_plan
from tests.experiments.test_page import Collector

TOWN = {"users": 300, "features": 16, "telling": 4}


def record(epsilon=1.0, **changes):
    fields = {
        "method": "base",
        "data": "town",
        "epsilon": epsilon,
        "mechanism": "multibit",
        "backbone": "gcn",
    }
    fields |= {"version": "0.1.0", "time": "2026-01-01T00:00:00+00:00", "runs": (0.7, 0.8)}
    fields |= {"mean": 0.75, "low": 0.7, "high": 0.8, "control": {"mean": 0.65, "low": 0.6, "high": 0.7}}
    fields["structure"] = {"name": "label propagation", "mean": 0.6, "low": 0.5, "high": 0.7}
    fields["gain"] = {"mean": 0.1, "low": 0.05, "high": 0.15}
    fields["privacy"] = {"features": {"epsilon": epsilon}, "trust": "local"}
    fields["spec"] = {"runs": 2, "settings": {"epochs": 3}, "data_options": TOWN}
    return Result.model_validate(fields | changes)


def plain():
    nothing = {"control": None, "structure": None, "gain": None, "privacy": {"trust": "local"}}
    return record(None, method="nonprivate", mechanism=None, **nothing)


def row(*records, place=0):
    table = report_table(records)
    return dict(zip(table.head, table.rows[place], strict=True))


def text_of(html):
    parser = Collector()
    parser.feed(html)
    return " ".join(parser.text), parser.links


def test_a_row_says_everything_about_a_result():
    assert row(record()) == {
        "method": "base (epochs=3)",
        "mechanism": "multibit",
        "backbone": "gcn",
        "ε": "1",
        "mean": "75.0",
        "interval": "70.0 to 80.0",
        "control": "65.0",
        "structure": "60.0",
        "gain": "+10.0 ± 5.0",
        "verdict": "adds",
        "privacy": "features ε = 1; local",
        "runs": "2",
    }


GAINS = {(0.01, 0.2): "adds", (-0.2, -0.01): "costs", (-0.1, 0.1): "nothing measurable"}
GAINS[None, None] = "none from one run"


def test_the_verdict_follows_from_the_gain_s_interval():
    for (low, high), words in GAINS.items():
        told = record(gain={"mean": 0.0, "low": low, "high": high})
        assert row(told)["verdict"] == gain_verdict(told) == words
    assert gain_verdict(record(gain=None)) is None


def test_budgets_of_labels_and_links_have_columns_where_there_are_any():
    private = record(spec={"budgets": {"label_epsilon": 2.0}})
    assert row(private)["label ε"] == "2"
    assert row(private, record(), place=1)["label ε"] == "-"
    assert "link ε" not in row(private)
    printed = record(spec=None, privacy={"labels": {"epsilon": 3.0}})
    assert row(printed)["label ε"] == "3"


def test_what_does_not_apply_is_a_dash_and_no_privacy_is_said():
    cells = row(plain())
    for name in ("mechanism", "ε", "control", "structure", "gain", "verdict"):
        assert cells[name] == "-"
    assert cells["privacy"] == "none: features are read"
    assert row(record(interrupted=True))["runs"] == "2, interrupted"


def test_a_curve_needs_two_budgets_and_comes_with_control_structure_and_no_privacy():
    assert lines([record(), plain()]) == []
    drawn = lines([record(2.0), plain(), record(1.0)])
    assert [line.label for line in drawn] == [
        "base (epochs=3), multibit, gcn",
        "its control (ε = 0)",
        "nonprivate (epochs=3), gcn",
        "structure: label propagation",
    ]
    assert drawn[0].x == drawn[1].x == (1.0, 2.0)
    assert [line.role for line in drawn] == ["method", "control", "no privacy", "structure"]
    # Different settings are different curves.
    other = record(2.0, spec={"settings": {"epochs": 9}, "data_options": TOWN})
    assert lines([record(1.0), other]) == []


def test_what_the_structure_gives_with_private_labels_is_a_level_of_its_own():
    spec = {"settings": {"epochs": 3}, "budgets": {"label_epsilon": 2.0}}
    drawn = lines([record(1.0), record(2.0), record(1.0, spec=spec), record(2.0, spec=spec)])
    levels = [line.label for line in drawn if not line.x]
    assert levels == ["structure: label propagation", "structure: label propagation, label ε = 2"]


def test_at_the_same_budget_the_result_with_the_most_runs_is_drawn():
    many = record(1.0, runs=[0.5] * 5, mean=0.5, spec={"runs": 5, "settings": {"epochs": 3}})
    few = record(1.0, spec={"runs": 2, "settings": {"epochs": 3}})
    other = record(2.0, spec={"settings": {"epochs": 3}})
    assert lines([many, few, other])[0].y[0].mean == 0.5


def test_the_page_holds_everything_and_fetches_nothing():
    html = report_html([record(1.0), record(4.0), plain()], title="A & B", hops=4)
    text, links = text_of(html)
    assert links == [] and html.count("<svg") == 2
    for words in (
        "A & B",
        "3 results on 1 graph",
        "town (features=16, telling=4, users=300): accuracy, node",
        "The control is the same method with the same mechanism, blinded",
        "The gain is the difference to the control",
        "energy over hops, multibit",
        "over-smoothing",
        "Theorem 4",
        "HOA's energy is",
        "The control, whose reports carry nothing",
    ):
        assert words in text


def test_the_same_results_in_any_order_give_the_same_bytes():
    results = [record(1.0), record(4.0), plain(), record(1.0, data="elsewhere", spec=None)]
    pages = [report_html(order, hops=2) for order in (results, results[::-1], results + results)]
    assert pages[0] == pages[1] == pages[2]


def test_a_graph_that_cannot_be_loaded_is_named_and_skipped(tmp_path):
    said = []
    gone = record(data=str(tmp_path / "gone.npz"), spec=None)
    text, _ = text_of(report_html([gone, record()], hops=2, tell=said.append))
    assert "gone.npz cannot be loaded here" in text
    assert "energy over hops, multibit" in text
    assert any("cannot be loaded here" in sentence for sentence in said)


def test_a_budget_that_cannot_be_asked_is_named_and_the_others_are_shown(monkeypatch):
    text, _ = text_of(report_html([record(1.0), record(1.0, mechanism="nobody")], hops=2))
    assert "no mechanism is named 'nobody'" in text
    assert "energy over hops, multibit" in text
    # A dense matrix that is too large is not made.
    monkeypatch.setattr(smoothing, "MAX_GIGABYTES", 1e-6)
    text, _ = text_of(report_html([record(mechanism="laplace")], hops=2))
    assert "laplace reports every value" in text


def test_without_energy_nothing_is_loaded_and_names_are_shown_as_they_are(monkeypatch):
    monkeypatch.setattr(smoothing, "load", lambda *_, **__: pytest.fail("loaded"))
    text, _ = text_of(report_html([record()], energy=False))
    assert "energy" not in text
    results = [record(epsilon, method="<b>$x$</b>", spec=None, data="$a_$.npz") for epsilon in (1.0, 2.0)]
    html = report_html(results, energy=False)
    assert "<b>" not in html and "&lt;b&gt;$x$" in html


def test_the_energy_is_that_of_the_reports_of_a_run():
    graph, users = load("town", **TOWN)
    spec = smoothing.experiment_of(record(2.0, seed=3))
    plan = feature_plan(Job.of(graph, users, None, 3, epsilon=2.0))
    for blind in (False, True):
        asked = users.declare(plan.claim.epsilon, seed=3, blind=blind)
        expected = energy_over_hops(asked.report(plan).estimate(), graph, 3).relative
        found = smoothing.collect(spec, graph, users, 3, blind=blind)
        np.testing.assert_array_equal(found.energies.hoa, expected.hoa)
        assert found.label == ("control" if blind else "ε = 2")


def test_bipartite_components_are_said_and_drawn_apart(tmp_path):
    random = np.random.default_rng(0)
    ring = [[i, (i + 1) % 7] for i in range(7)] + [[7, 8]]
    file = tmp_path / "mine.npz"
    np.savez(file, edges=ring, x=random.random((9, 3)), y=np.arange(9) % 2, range=(0, 1))
    text, _ = text_of(report_html([record(data=str(file), spec=None)], hops=4))
    assert "Of the 2 components" in text and "1 are bipartite" in text
    assert "HOA/SKA, not bipartite" in text


def test_writing_writes_the_page(tmp_path):
    write_report(tmp_path / "x.html", [record()], energy=False)
    assert (tmp_path / "x.html").read_text(encoding="utf-8") == report_html([record()], energy=False)
    html = report_html([record(metric="roc_auc")], energy=False)
    assert "roc_auc, node" in html and report.TITLE in html


def test_reports_of_users_who_chose_a_level_have_an_energy_too():
    spec = Experiment.of("ppgnn", "town", epsilon=0.5, levels=3)
    curve = smoothing.collect(spec, *load("town", users=300), hops=3)
    assert (curve.energies.hoa > 0).all()


# One sentence for any number of results


def gained(gain=(0.1, 0.05, 0.15), over=None, **changes):
    def scores(three):
        return None if three is None else dict(zip(("mean", "low", "high"), three, strict=True))

    return record(gain=scores(gain), gain_over_structure=scores(over), **changes)


def test_one_result_is_told_with_both_of_its_gains():
    assert results_headline([gained(over=(-0.05, -0.06, -0.04))]) == (
        "base on town at ε = 1: +10.0 ± 5.0 points over its control, and -5.0 ± 1.0 over asking nobody."
    )
    assert results_headline([gained((0.0, -0.1, 0.1))]).endswith(": nothing measurable.")


def test_several_results_become_one_sentence():
    results = [
        gained(over=(-0.1, -0.2, -0.05)),
        gained((0.2, 0.1, 0.3), (0.1, 0.05, 0.15), epsilon=4.0, method="veil"),
        gained((-0.2, -0.3, -0.1)),
        gained((0.0, -0.1, 0.1)),
    ]
    assert results_headline(results) == (
        "Of 4 private results, 2 clearly add to the control, 1 clearly costs something, and 1 clearly beats asking nobody; "
        "the largest gain is that of veil at ε = 4 on town, +20.0 ± 10.0 points."
    )
    said = "1 result, none beside a control: nonprivate reaches 75.0 on town."
    assert (results_headline([plain()]), results_headline([])) == (said, "No results.")
