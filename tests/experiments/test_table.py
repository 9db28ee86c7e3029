"""Tables: what stands where, in text and in HTML."""

from graphveil.experiments.table import Table


def small():
    return Table.of(
        ["who", "score", "note"], [["base", "7.5", "a <b>"], ["veil", "10.0", "c\x1bd"]], text=["note"]
    )


def test_text_sets_numbers_right_and_words_left():
    assert small().text().splitlines() == [
        "who     score    note",
        "base      7.5    a <b>",
        "veil     10.0    c\x1bd",
    ]


def test_html_marks_numbers_and_shows_no_markup_of_others():
    html = small().html()
    assert '<td class="number">7.5</td>' in html and '<th scope="col">who</th>' in html
    assert "a &lt;b&gt;" in html and "c\\u001bd" in html and "\x1b" not in html


def test_words_of_cells_can_be_changed():
    assert small().with_words(str.upper).rows[0] == ("BASE", "7.5", "A <B>")
