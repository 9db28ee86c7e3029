"""What one answer of a mechanism can be."""

import re

import numpy as np
import pytest

from graphveil.errors import GraphveilError, InputError
from graphveil.experiments.drawings import mechanism_drawing, spread


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
    said = re.findall(r"<text[^>]*>(.*?)</text>", mechanism_drawing("piecewise", 2.0).svg())
    assert {"held: -1", "held: 0", "held: 1", "piecewise at ε = 2: what one answer can be"} <= set(said)


def test_a_mechanism_without_a_table_is_refused():
    with pytest.raises(InputError, match="no finite table"):
        mechanism_drawing("privunit", 1.0)


def test_an_unknown_name_is_refused():
    with pytest.raises(GraphveilError, match="nothing-such"):
        mechanism_drawing("nothing-such")


def test_what_lies_outside_is_counted_at_the_ends():
    found = spread(np.array([0.25, 0.5, 0.25]), np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 1.5, 2.0]))
    assert found.tolist() == [0.5, 0.5]
