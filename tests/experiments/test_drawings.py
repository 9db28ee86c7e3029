"""Drawings of runs and of what mechanisms answer."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

import graphveil as gv
from graphveil.cli import status
from graphveil.errors import GraphveilError, InputError
from graphveil.experiments import drawings
from graphveil.experiments.drawings import (
    RUN_FIGURES,
    class_figure,
    close_group,
    confusion_figure,
    embedding_map,
    flat_map,
    mechanism_drawing,
    spread,
    spring_layout,
)
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.runner import run_experiment
from graphveil.experiments.unit import RunUnit, learn_unit
from graphveil.graphs.metrics import ClassScore
from graphveil.methods.tasks import Outcome
from tests.refusals import check_refused

TOWN = {"users": 240, "features": 8, "telling": 4, "labelled": 0.2, "validated": 0.2}
TOWN |= {"neighbourhood": 20, "degree": 8}
SPEC = Experiment.of("base", "town", epsilon=4.0, runs=1, settings={"epochs": 4}, data_options=TOWN)


@pytest.fixture(scope="module")
def learned():
    return learn_unit(RunUnit(SPEC))


def texts(drawing):
    return re.findall(r"<text[^>]*>(.*?)</text>", drawing.svg())


@pytest.mark.parametrize("kind", RUN_FIGURES)
def test_every_kind_is_drawn_and_says_which_run_it_is(kind, learned, monkeypatch):
    monkeypatch.setattr(drawings, "MOST_ON_MAP", 40)
    said = texts(RUN_FIGURES[kind](*learned))
    assert any(text.startswith("base on town, ε = 4") for text in said)


def test_a_result_draws_every_kind_into_a_file(tmp_path):
    result = run_experiment(SPEC)
    for kind in ("score", "classes"):
        result.plot(tmp_path / f"{kind}.svg", kind)
        assert "base on town" in (tmp_path / f"{kind}.svg").read_text()
    pie = re.compile("no figure of a result is named 'pie': choose one of confusion, .*, score")
    wrong = [("pie.svg", "pie", pie), ("classes.jpg", "classes", "has the unsupported format")]
    check_refused(lambda name, kind: result.plot(tmp_path / name, kind), wrong)


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
    # Rows of the confusion are test users.
    counts = ready.users.confusion(np.asarray(outcome.scores.argmax(axis=1), dtype=np.int64), ready.graph)
    assert counts.sum() == ready.graph.test.sum()


def test_a_method_without_a_curve_says_so(learned):
    ready, outcome = learned
    bare = type(outcome)(outcome.scores, 0.0, 0.0, {})
    with pytest.raises(InputError, match="keeps no training curve"):
        RUN_FIGURES["training"](ready, bare)
    with pytest.raises(InputError, match="nothing to map"):
        RUN_FIGURES["map"](ready, bare)


def test_the_command_writes_the_figure_and_refuses_a_kind_that_is_none(tmp_path, capsys):
    sets = " ".join(f"--set data.{key}={value}" for key, value in TOWN.items())
    plot = f"plot base --data town --epsilon 4 --set epochs=2 {sets} --out {tmp_path / 'town.svg'}"
    assert status(plot.split()) == 0
    assert (tmp_path / "town.svg").read_text(encoding="utf-8").startswith("<svg")
    assert capsys.readouterr().out == f"The figure is in {tmp_path / 'town.svg'}.\n"
    assert status([*plot.split(), "--kind", "pie"]) == 2
    assert "kind must be one of confusion, classes" in capsys.readouterr().err


def test_a_map_of_an_embedding_without_known_classes_says_so(learned, monkeypatch):
    monkeypatch.setattr(drawings, "MOST_ON_MAP", 40)
    ready, outcome = learned
    drawn = embedding_map(SPEC, outcome.embedding, ready.job.graph.without_labels()).svg()
    assert "t-SNE, no class is known</text>" in drawn and ">class 0</text>" not in drawn


CONFUSED = Experiment.of("base", "town", epsilon=4.0)
OUTCOME = Outcome(np.zeros((1, 2), dtype=np.float32), 0.0, 0.0, {})


def counted(**counts):
    """A run whose users count so."""
    users = {name: lambda *_, count=count: count for name, count in counts.items()}
    graph = SimpleNamespace(multilabel=False)
    return SimpleNamespace(unit=RunUnit(CONFUSED), graph=graph, users=SimpleNamespace(**users))


def confusion(counts):
    return texts(confusion_figure(counted(confusion=np.asarray(counts)), OUTCOME))


def test_cells_have_percent_of_their_row():
    said = confusion([[3, 1], [0, 8]])
    assert {"75", "25", "0", "100", "0 (4)", "1 (8)"} <= set(said)
    assert "base on town, ε = 4: percent of each class" in said
    # A class that nobody has is drawn without a warning, and many classes have shades alone.
    assert confusion([[0, 0], [0, 1]]).count("0") == 4
    assert "100" not in confusion(np.eye(20, dtype=np.int64))


def test_each_class_has_a_line_and_what_it_is_about():
    scores = [ClassScore(0, 4, 2, 1), ClassScore(1, 3, 0, 0)]
    said = texts(class_figure(counted(per_class=scores), OUTCOME))
    assert {"0 (4)", "1 (3)", "precision", "recall", "F1"} <= set(said)
    with pytest.raises(InputError, match="no classes"):
        class_figure(counted(per_class=()), OUTCOME)


def two_cliques():
    pairs = [(a, b) for start in (0, 5) for a in range(start, start + 5) for b in range(a + 1, start + 5)]
    both = np.array([*pairs, (4, 5)])
    graph, _ = gv.from_arrays(both, np.zeros((10, 1)), np.arange(10) % 2, range=(0, 1))
    return graph


def test_a_group_stays_within_a_circle_of_friends():
    graph = two_cliques()
    for seed in range(4):
        assert close_group(graph, 5, seed).tolist() in ([0, 1, 2, 3, 4], [5, 6, 7, 8, 9])
    # It is no larger than the graph.
    assert close_group(graph, 99, 0).tolist() == list(range(10))


def test_friends_stand_nearer_to_each_other_than_to_others():
    graph = two_cliques()
    places = spring_layout(graph.pairs().T, 10, 0)
    assert np.array_equal(spring_layout(graph.pairs().T, 10, 0), places)
    middle = places.reshape(2, 5, 2).mean(axis=1)
    within = np.linalg.norm(places.reshape(2, 5, 2) - middle[:, None], axis=2).max()
    assert within < np.linalg.norm(middle[0] - middle[1])


def test_a_map_keeps_groups_apart():
    rows = np.repeat(np.eye(2) * 100, 20, axis=0) + np.random.default_rng(0).normal(size=(40, 2))
    places = flat_map(rows, 0)
    first, second = places[:20], places[20:]
    between = np.linalg.norm(first[:, None] - second[None], axis=2).min()
    assert places.shape == (40, 2) and between > 0
    nearest = np.linalg.norm(places[:, None] - places[None], axis=2) + np.diag([np.inf] * 40)
    assert ((nearest.argmin(axis=1) < 20) == (np.arange(40) < 20)).all()


def heights(drawing):
    return sorted(round(patch.get_height(), 3) for patch in drawing.axes[0].patches)


def test_bars_are_the_shares_of_the_table():
    # e / (e + 3) of answers are the own class of four, 1 / (e + 3) each other.
    own, other = 100 * np.e / (np.e + 3), 100 / (np.e + 3)
    expected = sorted([round(own, 3)] * 3 + [round(other, 3)] * 9)
    assert heights(mechanism_drawing("krr", 1.0)) == expected


def test_many_outputs_are_counted_in_intervals_that_hold_all_answers():
    drawing = mechanism_drawing("laplace", 1.0)
    for stairs in drawing.axes[0].patches:
        assert stairs.get_data().values.sum() == pytest.approx(100)


def test_it_says_what_was_held():
    said = texts(mechanism_drawing("piecewise", 2.0))
    assert {"held: -1", "held: 0", "held: 1", "piecewise at ε = 2: what one answer can be"} <= set(said)
    with pytest.raises(InputError, match="no finite table"):
        mechanism_drawing("privunit", 1.0)
    with pytest.raises(GraphveilError, match="nothing-such"):
        mechanism_drawing("nothing-such")


def test_what_lies_outside_is_counted_at_the_ends():
    found = spread(np.array([0.25, 0.5, 0.25]), np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 1.5, 2.0]))
    assert found.tolist() == [0.5, 0.5]
