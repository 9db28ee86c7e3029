"""Figures of one run, by name, for Python and the command line."""

import re

import numpy as np
import pytest

from graphveil.cli import status
from graphveil.errors import InputError
from graphveil.experiments import drawings
from graphveil.experiments.drawings import RUN_FIGURES, embedding_map
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.runner import run_experiment
from graphveil.experiments.unit import RunUnit, learn_unit

TOWN = {
    "users": 240,
    "features": 8,
    "telling": 4,
    "labelled": 0.2,
    "validated": 0.2,
    "neighbourhood": 20,
    "degree": 8,
}
SPEC = Experiment.of("base", "town", epsilon=4.0, runs=1, settings={"epochs": 4}, data_options=TOWN)


@pytest.fixture(scope="module")
def learned():
    return learn_unit(RunUnit(SPEC))


@pytest.mark.parametrize("kind", RUN_FIGURES)
def test_every_kind_is_drawn_and_says_which_run_it_is(kind, learned, monkeypatch):
    monkeypatch.setattr(drawings, "MOST_ON_MAP", 40)
    said = re.findall(r"<text[^>]*>(.*?)</text>", RUN_FIGURES[kind](*learned).svg())
    assert any(text.startswith("base on town, ε = 4") for text in said)


def test_a_result_draws_every_kind_into_a_file(tmp_path):
    result = run_experiment(SPEC)
    for kind in ("score", "classes"):
        result.plot(tmp_path / f"{kind}.svg", kind)
        assert "base on town" in (tmp_path / f"{kind}.svg").read_text()
    with pytest.raises(
        InputError, match="no figure of a result is named 'pie': choose one of confusion, .*, score"
    ):
        result.plot(tmp_path / "pie.svg", "pie")
    with pytest.raises(InputError, match="has the unsupported format"):
        result.plot(tmp_path / "classes.jpg", "classes")


def test_a_curve_has_every_epoch_and_ends_in_what_was_taken(learned):
    _, outcome = learned
    curve = outcome.curve
    assert len(curve.validation) == len(curve.training) == 4
    epoch, score = curve.better[-1]
    assert curve.validation[epoch] == min(curve.validation) == outcome.validation_loss
    assert score == outcome.validation_score


def test_who_is_taken_for_another_is_counted(learned):
    ready, outcome = learned
    wrong = int((outcome.scores.argmax(axis=1) != ready.users.raw.labels).sum())
    svg = RUN_FIGURES["graph"](ready, outcome).svg()
    assert f">predicted, {wrong} of 240 wrong</text>" in svg


def test_a_method_without_a_curve_says_so(learned):
    ready, outcome = learned
    bare = type(outcome)(outcome.scores, 0.0, 0.0, {})
    with pytest.raises(InputError, match="keeps no training curve"):
        RUN_FIGURES["training"](ready, bare)
    with pytest.raises(InputError, match="nothing to map"):
        RUN_FIGURES["map"](ready, bare)


def test_the_command_writes_the_figure(tmp_path, capsys):
    file = tmp_path / "town.svg"
    sets = [part for key, value in TOWN.items() for part in ("--set", f"data.{key}={value}")]
    given = [
        "plot",
        "base",
        "--data",
        "town",
        "--epsilon",
        "4",
        "--set",
        "epochs=2",
        *sets,
        "--out",
        str(file),
    ]
    assert status(given) == 0
    assert file.read_text(encoding="utf-8").startswith("<svg")
    assert capsys.readouterr().out == f"The figure is in {file}.\n"


def test_the_command_refuses_a_kind_that_is_none(tmp_path, capsys):
    given = [
        "plot",
        "base",
        "--data",
        "town",
        "--epsilon",
        "4",
        "--kind",
        "pie",
        "--out",
        str(tmp_path / "x.svg"),
    ]
    assert status(given) == 2
    assert "kind must be one of confusion, classes" in capsys.readouterr().err


def test_rows_of_the_confusion_are_test_users(learned):
    ready, outcome = learned
    counts = ready.users.confusion(np.asarray(outcome.scores.argmax(axis=1), dtype=np.int64), ready.graph)
    assert counts.sum() == ready.graph.test.sum()


def test_a_map_of_an_embedding_without_known_classes_says_so(learned, monkeypatch):
    monkeypatch.setattr(drawings, "MOST_ON_MAP", 40)
    ready, outcome = learned
    drawn = embedding_map(SPEC, outcome.embedding, ready.job.graph.without_labels()).svg()
    assert "t-SNE, no class is known</text>" in drawn and ">class 0</text>" not in drawn
