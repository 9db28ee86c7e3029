"""A kind of study of one's own: one file says how its results are shown, and the rest is as for any other."""

import pytest

from graphveil.experiments.experiment import Experiment
from graphveil.experiments.measures import find_measure
from graphveil.experiments.page import Section
from graphveil.experiments.runner import RunOptions, run_study
from graphveil.experiments.study import Cell, Study
from graphveil.experiments.study_result import KINDS, StudyKind
from graphveil.experiments.table import Column, Table


def ranked(result):
    return sorted(result.outcomes, key=lambda outcome: -outcome.parts["method"].mean)


def ranking(result):
    rows = [(*outcome.cell.labels, outcome.parts["method"].mean) for outcome in ranked(result)]
    unit = result.study.measure.unit
    return [Section(result.study.title, table=Table(("town", Column("users", "number", unit)), rows))]


def ranking_dict(result):
    return {"ranking": [outcome.cell.labels[0] for outcome in ranked(result)]}


@pytest.fixture
def kind():
    KINDS.add("ranking", StudyKind(ranking, ranking_dict))
    yield "ranking"
    KINDS.remove("ranking")


def test_a_kind_from_outside_is_run_and_shown(kind):
    towns = {
        name: Experiment.of("structure", "town", data_options={"users": users})
        for name, users in (("small", 200), ("large", 400))
    }
    cells = [Cell(town, (name,), measure=find_measure("users")) for name, town in towns.items()]
    result = run_study(Study("towns", "Towns", tuple(cells), kind=kind), RunOptions(keep=False))
    assert result.tables[0].texts == [("large", "400"), ("small", "200")]
    assert result.to_dict() == {"ranking": ["large", "small"]}
