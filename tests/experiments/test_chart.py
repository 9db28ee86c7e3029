"""Charts as tables, as JSON, and as pictures."""

import re

from graphveil.experiments.figure import FREE, Chart, ChartPanel, Series, epsilon_chart, line_style
from graphveil.statistics import Summary
from reproduce.figures import spans

ONE = Series("one", (1.0, 2.0), (Summary(0.5, 0.4, 0.6), None), "a note")
OTHER = Series("other", (1.0, 4.0), (Summary(1.0, None, None), Summary(2.0, None, None)), role="companion")
PANEL = ChartPanel("a panel", "x", "error", (ONE, OTHER), "xy")
FIGURE = Chart((PANEL,), ("One is below the other.",), title="Fig. 1")


def test_a_table_has_a_row_for_each_line_and_a_column_for_each_x():
    table = PANEL.table("note")
    assert table.head == ("x", "1", "2", "4", "note")
    assert table.rows == (("one", "0.5 [0.4, 0.6]", "-", "-", "a note"), ("other", "1", "-", "2", ""))


def test_json_has_numbers_intervals_notes_and_findings():
    told = FIGURE.to_dict()
    assert told["findings"] == ["One is below the other."]
    (panel,) = told["panels"]
    assert (panel["title"], panel["x_label"], panel["y_label"]) == ("a panel", "x", "error")
    numbers = {"x": [1.0, 2.0], "y": [0.5, None], "low": [0.4, None], "high": [0.6, None]}
    assert panel["series"][0] == {"label": "one", "role": "line", "note": "a note", **numbers}


def test_values_of_an_axis_in_words():
    chosen = {"-": [], "2": [2], "1 and 2": [1, 2], "1 to 4": [1, 2, 4], "1, 4 and 8": [1, 4, 8]}
    assert [spans(values, [1, 2, 4, 6, 8]) for values in chosen.values()] == list(chosen)


def texts(svg):
    """What an SVG file says."""
    return re.findall(r"<text[^>]*>(.*?)</text>", svg)


def test_a_picture_says_its_title_its_findings_its_axes_and_its_lines(tmp_path):
    file = tmp_path / "figure.svg"
    FIGURE.write(file)
    said = texts(file.read_text(encoding="utf-8"))
    for text in ("Fig. 1", "One is below the other.", "a panel", "x", "error", "one", "other"):
        assert text in said
    assert not any("mathdefault" in text for text in said)
    FIGURE.write(tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_bytes() == file.read_bytes()
    # A page says title and findings itself.
    assert not {"Fig. 1", "One is below the other."} & set(texts(FIGURE.svg()))


def test_a_legend_names_each_line_once_though_it_is_in_two_panels():
    more = Series("only here", (1.0,), (Summary(1.0, None, None),))
    figure = Chart((PANEL, ChartPanel("second", "x", "error", (ONE, more))))
    said = texts(figure.svg())
    assert said.count("one") == said.count("only here") == 1


def test_eleven_lines_have_different_colours_and_marks():
    styles = [line_style("method", place) for place in range(11)]
    for kind in ("color", "marker"):
        assert len({style[kind] for style in styles}) == 11


def drawn_lines(chart, panel=0):
    """The lines of a panel by their labels, without those that say nothing."""
    return {line.get_label(): line for line in chart.drawing().axes[panel].lines}


def test_a_companion_has_the_colour_of_the_line_before_it_and_a_dash():
    lines = drawn_lines(FIGURE)
    assert lines["one"].get_color() == lines["other"].get_color()
    assert (lines["one"].get_linestyle(), lines["other"].get_linestyle()) == ("-", "--")


def test_a_line_is_drawn_the_same_in_all_panels_whatever_stands_before_it():
    alone = ChartPanel("second", "x", "error", (Series("two", (1.0,), (Summary(1.0, None, None),)),))
    both = ChartPanel("first", "x", "error", (ONE, *alone.series))
    chart = Chart((both, alone))
    first, second = (drawn_lines(chart, panel)["two"] for panel in (0, 1))
    assert (first.get_color(), first.get_marker()) == (second.get_color(), second.get_marker())


def test_a_control_and_what_belongs_to_a_line_have_its_mark():
    y = (Summary(0.5, None, None),)
    series = (
        Series("a", (0.0,), y, role="method"),
        Series("b", (0.0,), y, role="method"),
        Series("control", (0.0,), y, role="control"),
        Series("structure", (0.0,), y, role="structure", mark_of="a"),
    )
    lines = drawn_lines(Chart((ChartPanel("t", "x", "y", series, ticks=("none",), limits=FREE),)))
    assert lines["control"].get_marker() == lines["b"].get_marker()
    assert lines["structure"].get_marker() == lines["a"].get_marker()


def test_values_without_a_distance_are_named_below_their_places():
    line = Series("a", (1.0,), (Summary(1.0, None, None),))
    panel = ChartPanel("t", "x", "y", (line,), ticks=("few", "many"))
    assert panel.table().head == ("x", "few", "many", "")
    assert panel.table().rows == (("a", "-", "1", ""),)
    assert {"few", "many"} <= set(texts(Chart((panel,)).svg()))


def test_a_series_without_x_is_the_same_at_every_budget():
    flat = Series("flat", (), (Summary(0.25, 0.2, 0.3),), role="structure")
    line = Series("a", (1.0, 4.0), (Summary(0.5, None, None),) * 2, role="method")
    chart = epsilon_chart([line, flat], "t")
    assert list(drawn_lines(chart)["flat"].get_ydata()) == [25.0, 25.0]
    assert chart.panels[0].table().rows[1] == ("flat", "25.0 [20.0, 30.0]", "25.0 [20.0, 30.0]", "")


def test_panels_of_one_measure_share_a_scale_and_say_once_what_it_is():
    panels = (ChartPanel("a", "x", "error", (ONE,)), ChartPanel("b", "x", "error", (ONE,)))
    assert texts(Chart(panels).svg()).count("error") == 1
    first, second = Chart(panels).drawing().axes
    assert first.get_ylim() == second.get_ylim() and first.get_ylim()[0] == 0
