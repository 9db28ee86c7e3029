"""Advice on a budget: from public numbers alone, never from the graph's own lines, and right where it was measured."""

import dataclasses
import re

import numpy as np
import pytest

from graphveil.errors import InputError
from graphveil.experiments.advice import WORTH, BudgetLine, advise_budget, may_surprise
from graphveil.experiments.experiment import Experiment
from graphveil.graphs import Users, load
from graphveil.methods.veil_advice import VolunteerRows

SMALL = {"data.users": 400, "data.labelled": 0.5, "data.validated": 0.25, "data.nearby": 0.3}
FAST = {"epochs": 5}


def spec(**more):
    return Experiment.of("veil", "town", epsilon=4.0, settings={**SMALL, **FAST}, **more)


@pytest.fixture(scope="module")
def given():
    return load("town", users=400, labelled=0.5, validated=0.25, nearby=0.3)


@pytest.fixture(scope="module")
def advice(given):
    return advise_budget(spec(), (1.0, 4.0), given=given)


@pytest.fixture(scope="module")
def with_panel(given):
    return advise_budget(spec(panel=60), (1.0, 4.0), given=given)


def test_private_rows_and_test_labels_change_nothing(given, advice):
    graph, users = given
    random = np.random.default_rng(0)
    rows, labels = users.raw.features, users.raw.labels.copy()
    labels[graph.test] = (labels[graph.test] + 1) % graph.class_count
    rows = random.integers(0, 2, rows.shape).astype(rows.dtype)
    others = Users(rows, labels, neighbours=users.raw.neighbours)
    again = advise_budget(spec(), (1.0, 4.0), given=(graph, others))
    assert again.to_dict() == advice.to_dict()


def test_nobody_is_asked(given, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("somebody was asked")

    monkeypatch.setattr("graphveil.graphs.users.SimulatedUsers.report", refuse)
    assert advise_budget(spec(), (4.0,), given=given).lines


def test_every_budget_has_a_line_within_its_interval(advice):
    assert [line.epsilon for line in advice.lines] == [1.0, 4.0]
    for line in advice.lines:
        assert line.low <= line.gain <= line.high
    assert advice.lines[0].gain <= advice.lines[1].gain
    assert advice.volunteers == 0 and advice.nats is None


def test_volunteers_rows_are_read_where_there_are_some(with_panel, given):
    assert with_panel.volunteers == 60
    assert with_panel.nats > 0
    graph, users = given
    rows = np.zeros_like(users.raw.features)
    blank = Users(rows, users.raw.labels, neighbours=users.raw.neighbours)
    nothing = advise_budget(spec(panel=60), (4.0,), given=(graph, blank))
    assert nothing.nats == pytest.approx(0, abs=0.02)
    assert nothing.lines[0].gain < with_panel.lines[1].gain


def test_a_graph_that_was_measured_is_left_out_of_its_own_curve(given, advice):
    graph, users = given
    named = dataclasses.replace(graph, name="cora")
    own = advise_budget(spec(), (4.0,), given=(named, users))
    assert own.to_dict()["left_out"] and own.model.without == "cora"
    assert not advice.to_dict()["left_out"] and own.model.graphs < advice.model.graphs


def test_a_verdict_follows_from_gain_and_interval():
    cases = [(0.2, -0.3, 2.0, "no"), (0.2, -0.3, 3.0, "open"), (2.5, 0.1, 5, "yes"), (2.5, -0.1, 5, "open")]
    cases.append((1, 0, 2, "open"))
    lines = [BudgetLine(4.0, gain, low, high) for gain, low, high, _ in cases]
    assert [line.collect for line in lines] == [collect for *_, collect in cases]
    refused = [line.verdict == "do not collect: asking nobody is as good" for line in lines]
    assert refused == [collect == "no" for *_, collect in cases]


def test_few_labels_leave_a_verdict_open_above_a_small_budget(advice):
    line = BudgetLine(4.0, 0.2, -0.3, 2.0, surprising=True)
    assert line.collect == "open"
    here = advice.view.at(4.0)
    few = dataclasses.replace(here, numbers=dataclasses.replace(here.numbers, trained=10))
    assert not may_surprise(here) and may_surprise(few)
    assert not may_surprise(dataclasses.replace(few, epsilon=2.0))
    assert not may_surprise(dataclasses.replace(few, panel=10))


def test_needed_users_are_the_fewest_that_the_curve_gives_two_points(advice):
    for line in advice.lines:
        here = advice.view.at(line.epsilon)
        if line.users_needed is None:
            assert advice.model.predict(here.with_users(10.0)).gain < WORTH
        elif line.users_needed > advice.numbers.users:
            times = line.users_needed / advice.numbers.users
            assert advice.model.predict(here.with_users(times * 1.01)).gain >= WORTH
            assert advice.model.predict(here.with_users(times * 0.95)).gain < WORTH


def test_no_budget_and_weights_from_a_file_are_refused(given, tmp_path):
    with pytest.raises(InputError, match="no budget is given"):
        advise_budget(spec(), (), given=given)
    file = tmp_path / "weights.npz"
    classes, features = given[0].class_count, given[0].feature_count
    np.savez(file, weights=np.zeros((classes, features)), bias=np.zeros(classes))
    public = spec().having(settings={**SMALL, **FAST, "teach": "public", "weights": str(file)})
    with pytest.raises(InputError, match="cannot use weights"):
        advise_budget(public, (4.0,), given=given)


# As a page


def test_a_page_stands_alone_and_has_table_and_chart(advice):
    text = advice.page()
    assert text.startswith("<!doctype html>") and text.count("<svg") == 1 and text.count("<table>") == 1
    assert not re.search(r'(src|href)="(?!#)', text)
    assert "do not collect" in text or "collect:" in text or "open:" in text


def test_the_chart_has_the_budgets_that_were_asked_for_over_ten_times_fewer_and_more_users(advice):
    (panel,) = advice.chart().panels
    assert {"ε = 1", "ε = 4"} <= {series.label for series in panel.series}
    assert (panel.x[0], panel.x[-1]) == (40.0, 4000.0)
    at_hand = {series.label: series.at(400.0) for series in panel.series}
    for line in advice.lines:
        assert at_hand[f"ε = {line.epsilon:g}"].mean == line.gain


def test_the_table_has_a_line_a_budget_and_sentences_say_what_is_only_stored(advice):
    table = advice.sections[0].table
    assert [row[0] for row in table.rows] == ["1", "4"]
    assert all(len(row) == len(table.head) for row in table.rows)
    said = " ".join(advice.grounds())
    assert "400 users" in said and "Nobody was asked" in said and "stored fact" in said
    assert "volunteers gave" not in said


def test_what_two_points_need_is_said_or_that_it_is_too_much(advice):
    lines = (BudgetLine(1.0, 0.1, -1, 2, None, None), BudgetLine(4.0, 1.0, -1, 3, 12_000, 120))
    told = dataclasses.replace(advice, lines=lines).sections[0].table.rows
    assert told[0][4:6] == ("> 10 times", "> 200")
    assert told[1][4:6] == ("12,000", "120")


def test_budgets_of_one_verdict_share_a_sentence(advice):
    lines = tuple(BudgetLine(epsilon, 0.1, -1, 2, None, None) for epsilon in (1.0, 2.0))
    said = dataclasses.replace(advice, lines=lines).headline
    assert said == "on town, at ε = 1, 2 do not collect: asking nobody is as good"


def test_the_chart_is_over_volunteers_where_there_are_some(advice, with_panel):
    assert "fewer volunteers" in with_panel.page() and "fewer users" in advice.page()
    assert with_panel.sections[0].table.rows[0][4] == "-"


def test_volunteers_who_are_there_are_enough_at_the_most(advice):
    lines = (BudgetLine(4.0, 3.0, 1, 5, 400, 50), BudgetLine(8.0, 3.0, 1, 5, 400, 60))
    told = dataclasses.replace(advice, lines=lines, volunteers=50).sections[0].table.rows
    assert [row[5] for row in told] == ["≤ 50", "60"]
    said = dataclasses.replace(advice, volunteers=1, nats=0.5).grounds()
    assert said[1].startswith("1 volunteer gave their raw rows")


def test_a_page_that_rests_on_volunteers_rows_says_so_at_its_end(advice):
    assert "follows from public numbers." in advice.page()
    view = dataclasses.replace(advice.view, volunteers=VolunteerRows(np.zeros((2, 4)), np.array([0, 1]), 0.5))
    text = dataclasses.replace(advice, volunteers=2, nats=0.5, view=view).page()
    assert re.search("follows from public numbers and volunteers(&#x27;|'|&#39;) rows.", text)
