"""Figures of the classes of a run: which are taken for which, and how well each is found."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from graphveil.errors import InputError
from graphveil.experiments.drawings import class_figure, confusion_figure
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.unit import RunUnit
from graphveil.graphs.metrics import ClassScore
from graphveil.methods.tasks import Outcome

SPEC = Experiment.of("base", "town", epsilon=4.0)
OUTCOME = Outcome(np.zeros((1, 2), dtype=np.float32), 0.0, 0.0, {})


def counted(**counts):
    """A run whose users count so."""
    users = {name: lambda *_, count=count: count for name, count in counts.items()}
    graph = SimpleNamespace(multilabel=False)
    return SimpleNamespace(unit=RunUnit(SPEC), graph=graph, users=SimpleNamespace(**users))


def confusion(counts):
    return texts(confusion_figure(counted(confusion=np.asarray(counts)), OUTCOME))


def texts(drawing):
    return re.findall(r"<text[^>]*>(.*?)</text>", drawing.svg())


def test_cells_have_percent_of_their_row():
    said = confusion([[3, 1], [0, 8]])
    assert {"75", "25", "0", "100", "0 (4)", "1 (8)"} <= set(said)
    assert "base on town, ε = 4: percent of each class" in said


def test_a_class_that_nobody_has_is_drawn_without_a_warning():
    assert confusion([[0, 0], [0, 1]]).count("0") == 4


def test_many_classes_have_shades_alone():
    assert "100" not in confusion(np.eye(20, dtype=np.int64))


def test_each_class_has_a_line_and_what_it_is_about():
    scores = [ClassScore(0, 4, 2, 1), ClassScore(1, 3, 0, 0)]
    said = texts(class_figure(counted(per_class=scores), OUTCOME))
    assert {"0 (4)", "1 (3)", "precision", "recall", "F1"} <= set(said)


def test_no_classes_are_refused():
    with pytest.raises(InputError, match="no classes"):
        class_figure(counted(per_class=()), OUTCOME)
