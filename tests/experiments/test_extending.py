"""What CONTRIBUTING promises of extensions: an option is one field, a measure and a task are one class each, from outside."""

from dataclasses import dataclass, replace

import pytest
import typer
from typer.testing import CliRunner

import graphveil as gv
from graphveil.cli.options import with_options
from graphveil.experiments.measures import MEASURES, Measure, Reading
from graphveil.methods.base import Base
from graphveil.methods.tasks import TASKS, NodeTask
from graphveil.methods.terms import option
from graphveil.number_format import PERCENT
from graphveil.statistics import Summary

SMALL = {"epochs": 2, "data.users": 300}


@dataclass(frozen=True)
class Weather:
    """A record of options."""

    rain: bool = option(False, "Whether it rains.")


@with_options
def walk(*, weather: Weather) -> None:
    """Go for a walk."""
    typer.echo(f"rain: {weather.rain}")


def test_an_option_is_one_field():
    app = typer.Typer()
    app.command()(walk)
    assert CliRunner().invoke(app, ["--rain"]).output == "rain: True\n"
    assert "Whether it rains." in CliRunner().invoke(app, ["--help"]).output


def best_run(result):
    return Reading({"method": Summary(max(result.scores()))})


@pytest.fixture
def measure():
    MEASURES.add("best-run", Measure("best-run", PERCENT, best_run, words="best run"))
    yield "best-run"
    MEASURES.remove("best-run")


def test_a_measure_is_one_entry(measure):
    options = {"runs": 2, "control": False, "settings": SMALL, "keep": False}
    found = gv.sweep("base", "town", over={"epsilon": [4.0]}, measure=measure, **options)
    result = gv.run("base", "town", epsilon=4.0, **options)
    assert found.outcomes[0].parts["method"].mean == max(result.scores())


class Mistakes(NodeTask):
    """How many users are taken for another class."""

    name = "mistakes"
    summary = "users who are taken for another class"

    def metric(self, graph):
        return "mistakes"

    def test_score(self, graph, users, outcome):
        return 1 - super().test_score(graph, users, outcome)


class Careful(Base):
    """base, which learns the new task alone: it refuses any other that its job names."""

    name = "careful"
    can = replace(Base.can, tasks=("mistakes",))


@pytest.fixture
def task():
    TASKS.add("mistakes", Mistakes())
    yield "mistakes"
    TASKS.remove("mistakes")


def test_a_task_is_one_class(task):
    options = {"epsilon": 4.0, "control": False, "settings": SMALL}
    mistakes = gv.run(Careful(), "town", task=task, **options)
    hits = gv.run("base", "town", keep=False, **options)
    assert mistakes.metric == "mistakes"
    assert mistakes.mean == pytest.approx(1 - hits.mean)
