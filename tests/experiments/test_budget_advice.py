"""Advice on a budget: from public numbers alone, never from the graph's own lines, and right where it was measured."""

import dataclasses

import numpy as np
import pytest

from graphveil.errors import InputError
from graphveil.experiments.advice import WORTH, BudgetLine, advise_budget, may_surprise
from graphveil.experiments.experiment import Experiment
from graphveil.graphs import Users, load

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
    others = Users(
        random.integers(0, 2, rows.shape).astype(rows.dtype), labels, neighbours=users.raw.neighbours
    )
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
    cases = [
        (0.2, -0.3, 2.0, "no"),
        (0.2, -0.3, 3.0, "open"),
        (2.5, 0.1, 5, "yes"),
        (2.5, -0.1, 5, "open"),
        (1, 0, 2, "open"),
    ]
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


def test_no_budget_is_refused(given):
    with pytest.raises(InputError, match="no budget is given"):
        advise_budget(spec(), (), given=given)


def test_weights_from_a_file_are_refused(given, tmp_path):
    file = tmp_path / "weights.npz"
    graph = given[0]
    np.savez(
        file, weights=np.zeros((graph.class_count, graph.feature_count)), bias=np.zeros(graph.class_count)
    )
    public = Experiment.of(
        "veil", "town", epsilon=4.0, settings={**SMALL, **FAST, "teach": "public", "weights": str(file)}
    )
    with pytest.raises(InputError, match="cannot use weights"):
        advise_budget(public, (4.0,), given=given)
