"""Figures: the same content, the same bytes, whatever the process is set to."""

import re

import matplotlib
import pytest
from matplotlib.text import Text

from graphveil.experiments.figure import Drawing
from tests.hostile_words import HOSTILE, obeyed
from tests.together import together


def drawn(label="a", size=(4.0, 3.0)):
    drawing = Drawing(size)
    drawing.axes[0].plot([0, 1], [0, 1], marker="o", label=label)
    drawing.axes[0].set_xlabel(label)
    drawing.legend(columns=1)
    return drawing


def test_the_same_drawing_has_the_same_bytes():
    assert drawn().svg() == drawn().svg()
    assert drawn().png() == drawn().png()


def test_two_figures_on_a_page_share_no_name_of_a_part():
    names = [set(re.findall(r'\bid="(\w+)"', drawn(label).svg())) for label in "ab"]
    assert names[0] and not names[0] & names[1]


def test_every_name_that_is_used_is_there():
    svg = drawn().svg()
    used = set(re.findall(r'(?:href="|url\()#(\w+)', svg))
    assert used and all(f'id="{name}"' in svg for name in used)


def test_texts_have_their_size_whatever_the_process_prefers():
    expected = drawn().png()
    for size in (6.0, 20.0):
        with matplotlib.rc_context({"font.size": size}):
            assert drawn().png() == expected


def test_dollar_signs_are_shown_as_they_are():
    drawing = drawn("$x^2$")
    drawing.svg()
    shown = [text for text in drawing.figure.findobj(Text) if "$" in text.get_text()]
    assert shown and not any(text.get_parse_math() for text in shown)


@pytest.mark.filterwarnings("ignore:Glyph")
@together("words", HOSTILE.values(), HOSTILE)
def test_what_others_wrote_is_letters_and_nothing_else(words):
    svg = drawn(words).svg().replace("\n", " ")
    assert "harm" in svg and obeyed(svg) == []


def test_the_end_of_a_files_name_says_what_is_written(tmp_path):
    for name, start in (("x.svg", b"<svg"), ("x.png", b"\x89PNG")):
        drawn().write(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)


def test_rows_of_panels_are_counted_row_by_row():
    drawing = Drawing((4.0, 3.0), 2, rows=2, shared=False)
    places = [axes.get_position() for axes in drawing.axes]
    assert places[0].x0 < places[1].x0 and places[0].y0 > places[2].y0
    assert [len(axes.get_shared_y_axes().get_siblings(axes)) for axes in drawing.axes] == [1] * 4


def test_a_legend_has_the_lines_of_all_panels_each_once():
    drawing = Drawing((4.0, 3.0), 2)
    for axes, labels in zip(drawing.axes, ("ab", "bc"), strict=True):
        for label in labels:
            axes.plot([0, 1], [0, 1], label=label)
    drawing.legend(columns=1)
    (legend,) = drawing.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b", "c"]


def test_a_heading_breaks_sentences_into_lines_above_all_panels():
    drawing = Drawing((4.0, 3.0))
    drawing.heading("A title", ["words " * 20])
    title, lines = drawing.figure.texts[-1], drawing.figure.texts[:-1]
    assert title.get_text() == "A title" and len(lines) > 1
    assert all(1 < line.get_position()[1] < title.get_position()[1] for line in lines)
    assert " ".join(line.get_text() for line in reversed(lines)) == ("words " * 20).strip()
