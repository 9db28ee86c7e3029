"""Computed figures as rows of tables, as JSON, and as pictures."""

from __future__ import annotations

import re

import pytest

from graphveil.experiments.figure import line_style
from graphveil.experiments.paper_result import write_computed
from graphveil.experiments.papers import ComputedFigure, Panel, Series, spans
from graphveil.experiments.statistics import Summary

ONE = Series("one", (1.0, 2.0), (Summary(0.5, 0.4, 0.6), None), "a note")
OTHER = Series("other", (1.0, 4.0), (Summary(1.0, None, None), Summary(2.0, None, None)), role="companion")
PANEL = Panel("a panel", "x", "error", (ONE, OTHER), "xy")
FIGURE = ComputedFigure((PANEL,), ("One is below the other.",))


def test_a_table_has_a_row_for_each_line_and_a_column_for_each_x():
    assert PANEL.head() == ["x", "1", "2", "4", ""]
    assert PANEL.rows() == [["one", "0.5 [0.4, 0.6]", "-", "-", "a note"], ["other", "1", "-", "2", ""]]


def test_json_has_numbers_intervals_notes_and_findings():
    told = FIGURE.to_dict()
    assert told["findings"] == ["One is below the other."]
    (panel,) = told["panels"]
    assert (panel["title"], panel["x_label"], panel["y_label"]) == ("a panel", "x", "error")
    assert panel["series"][0] == {
        "label": "one",
        "role": "line",
        "x": [1.0, 2.0],
        "y": [0.5, None],
        "low": [0.4, None],
        "high": [0.6, None],
        "note": "a note",
    }


@pytest.mark.parametrize(
    ("chosen", "words"),
    [([], "-"), ([2], "2"), ([1, 2], "1 and 2"), ([1, 2, 4], "1 to 4"), ([1, 4, 8], "1, 4 and 8")],
)
def test_values_of_an_axis_in_words(chosen, words):
    assert spans(chosen, [1, 2, 4, 6, 8]) == words


def texts(svg):
    """What an SVG file says."""
    return re.findall(r"<text[^>]*>(.*?)</text>", svg)


def test_a_picture_says_its_title_its_findings_its_axes_and_its_lines(tmp_path):
    file = tmp_path / "figure.svg"
    write_computed(FIGURE, "Fig. 1", file)
    said = texts(file.read_text(encoding="utf-8"))
    for text in ("Fig. 1", "One is below the other.", "a panel", "x", "error", "one", "other"):
        assert text in said
    assert not any("mathdefault" in text for text in said)


def test_a_picture_is_drawn_the_same_again(tmp_path):
    for name in ("first.svg", "second.svg"):
        write_computed(FIGURE, "Fig. 1", tmp_path / name)
    assert (tmp_path / "first.svg").read_bytes() == (tmp_path / "second.svg").read_bytes()


def test_a_legend_names_each_line_once_though_it_is_in_two_panels(tmp_path):
    more = Series("only here", (1.0,), (Summary(1.0, None, None),))
    figure = ComputedFigure((PANEL, Panel("second", "x", "error", (ONE, more))))
    write_computed(figure, "Fig. 1", tmp_path / "figure.svg")
    said = texts((tmp_path / "figure.svg").read_text(encoding="utf-8"))
    assert said.count("one") == 1
    assert said.count("only here") == 1


def test_eleven_lines_have_different_colours_and_marks():
    styles = [line_style("method", place) for place in range(11)]
    for kind in ("color", "marker"):
        assert len({style[kind] for style in styles}) == 11
