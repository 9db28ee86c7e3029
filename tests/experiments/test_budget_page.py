"""Advice on a budget as a page: everything in one file, with the chart."""

import re
from dataclasses import replace

import numpy as np
import pytest

from graphveil.experiments.advice import BudgetLine, advise_budget
from graphveil.experiments.experiment import Experiment
from graphveil.methods.veil_advice import VolunteerRows


@pytest.fixture(scope="module")
def advice():
    settings = {"data.users": 400, "data.labelled": 0.5, "data.validated": 0.25, "epochs": 5}
    return advise_budget(Experiment.of("veil", "town", epsilon=4.0, settings=settings), (1.0, 4.0))


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


def test_the_table_has_a_line_a_budget(advice):
    table = advice.sections[0].table
    assert [row[0] for row in table.rows] == ["1", "4"]
    assert all(len(row) == len(table.head) for row in table.rows)


def test_sentences_say_what_is_known_and_what_is_only_stored(advice):
    said = " ".join(advice.grounds())
    assert "400 users" in said and "Nobody was asked" in said and "stored fact" in said
    assert "volunteers gave" not in said


def test_what_two_points_need_is_said_or_that_it_is_too_much(advice):
    lines = (BudgetLine(1.0, 0.1, -1, 2, None, None), BudgetLine(4.0, 1.0, -1, 3, 12_000, 120))
    told = replace(advice, lines=lines).sections[0].table.rows
    assert told[0][4:6] == ("> 10 times", "> 200")
    assert told[1][4:6] == ("12,000", "120")


def test_budgets_of_one_verdict_share_a_sentence(advice):
    lines = tuple(BudgetLine(epsilon, 0.1, -1, 2, None, None) for epsilon in (1.0, 2.0))
    said = replace(advice, lines=lines).headline
    assert said == "on town, at ε = 1, 2 do not collect: asking nobody is as good"


def test_the_chart_is_over_volunteers_where_there_are_some(advice):
    settings = {"data.users": 400, "data.labelled": 0.5, "data.validated": 0.25, "epochs": 5}
    with_panel = advise_budget(
        Experiment.of("veil", "town", epsilon=4.0, panel=50, settings=settings), (4.0,)
    )
    assert "fewer volunteers" in with_panel.page() and "fewer users" in advice.page()
    assert with_panel.sections[0].table.rows[0][4] == "-"


def test_volunteers_who_are_there_are_enough_at_the_most(advice):
    lines = (BudgetLine(4.0, 3.0, 1, 5, 400, 50), BudgetLine(8.0, 3.0, 1, 5, 400, 60))
    told = replace(advice, lines=lines, volunteers=50).sections[0].table.rows
    assert [row[5] for row in told] == ["≤ 50", "60"]


def test_a_single_volunteer_is_one(advice):
    said = replace(advice, volunteers=1, nats=0.5).grounds()
    assert said[1].startswith("1 volunteer gave their raw rows")


def test_a_page_that_rests_on_volunteers_rows_says_so_at_its_end(advice):
    assert "follows from public numbers." in advice.page()
    view = replace(advice.view, volunteers=VolunteerRows(np.zeros((2, 4)), np.array([0, 1]), 0.5))
    text = replace(advice, volunteers=2, nats=0.5, view=view).page()
    assert re.search("follows from public numbers and volunteers(&#x27;|'|&#39;) rows.", text)
