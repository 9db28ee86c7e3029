"""Results of studies: kinds of one's own, and panels."""

from pathlib import Path

import pytest

from graphveil.cli import status
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
    cells = []
    for name, users in (("small", 200), ("large", 400)):
        town = Experiment.of("structure", "town", data_options={"users": users})
        cells.append(Cell(town, (name,), measure=find_measure("users")))
    result = run_study(Study("towns", "Towns", tuple(cells), kind=kind), RunOptions(keep=False))
    assert result.tables[0].texts == [("large", "400"), ("small", "200")]
    assert result.to_dict() == {"ranking": ["large", "small"]}


pytestmark = pytest.mark.usefixtures("forget_outside")

METHOD = f"{Path(__file__).parents[1] / 'volunteering.py'}:Volunteering"


def test_a_sweep_over_volunteers_shows_what_they_are_worth_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    file, drawn = tmp_path / "panels.toml", tmp_path / "panels.svg"
    file.write_text(
        f'title = "Volunteers"\n[base]\nmethod = "{METHOD}"\ndata = "town"\nepsilon = 2.0\nruns = 2\n'
        "[base.data_options]\nusers = 400\nlabelled = 0.2\n"
        '[[axes]]\nfield = "panel"\nvalues = [3, 6]\n'
    )
    assert status(["sweep", str(file), "--out", str(drawn)]) == 0
    assert "volunteers alone" in capsys.readouterr().out
    assert drawn.stat().st_size > 0
