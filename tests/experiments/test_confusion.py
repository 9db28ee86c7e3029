"""Which classes are taken for which, and how well each is found, drawn from plain arrays."""

import re

import numpy as np
import pytest

from graphveil.errors import InputError
from graphveil.experiments.run_figures import class_scores_drawing, confusion_drawing
from graphveil.graphs.metrics import ClassScore


def texts(drawing):
    return re.findall(r"<text[^>]*>(.*?)</text>", drawing.svg())


def test_cells_have_percent_of_their_row():
    said = texts(confusion_drawing(np.array([[3, 1], [0, 8]]), "a run"))
    assert {"75", "25", "0", "100", "0 (4)", "1 (8)"} <= set(said)
    assert "a run: percent of each class" in said


def test_a_class_that_nobody_has_is_drawn_without_a_warning():
    assert texts(confusion_drawing(np.array([[0, 0], [0, 1]]), "a run")).count("0") == 4


def test_many_classes_have_shades_alone():
    assert "100" not in texts(confusion_drawing(np.eye(20, dtype=np.int64), "a run"))


def test_counts_that_are_no_square_are_refused():
    with pytest.raises(InputError, match="square table of classes"):
        confusion_drawing(np.zeros((2, 3), dtype=np.int64), "a run")


def test_each_class_has_a_line_and_what_it_is_about():
    said = texts(
        class_scores_drawing([ClassScore(0, 4, 2, 1), ClassScore(1, 3, 0, 0)], "a run", ["cats", "dogs"])
    )
    assert {"cats (4)", "dogs (3)", "precision", "recall", "F1"} <= set(said)


def test_no_classes_are_refused():
    with pytest.raises(InputError, match="no classes"):
        class_scores_drawing([], "a run")
