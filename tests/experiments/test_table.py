"""Tables: what stands where, in each form."""

import json
from io import BytesIO

import pytest

from graphveil.experiments.table import TABLE_SUFFIXES, Column, Table
from graphveil.number_format import PERCENT
from graphveil.statistics import Summary


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
    # Words of cells can be changed.
    assert small().with_words(str.upper).rows[0] == ("BASE", "7.5", "A <B>")


def typed():
    numbers = (Column("score", "summary", PERCENT), Column("share", "number", PERCENT))
    columns = (Column("who"), Column("users", "integer"), *numbers)
    return Table(columns, [("ada", 1200, Summary(0.5, 0.45, 0.56), 0.25), ("a|b", 3, None, "all of it")])


def test_numbers_are_printed_in_the_unit_of_their_column():
    assert typed().texts == [("ada", "1,200", "50.0 [45.0, 56.0]", "25.0"), ("a|b", "3", "-", "all of it")]


def test_markdown_sets_numbers_right_and_keeps_bars_out_of_cells():
    assert typed().markdown().splitlines() == [
        "| who | users | score | share |",
        "| --- | ---: | ---: | ---: |",
        "| ada | 1,200 | 50.0 [45.0, 56.0] | 25.0 |",
        "| a\\|b | 3 | - | all of it |",
    ]


def test_csv_has_numbers_as_they_are_and_a_column_for_each_end_of_an_interval():
    assert typed().csv().splitlines() == [
        "who,users,score_mean,score_low,score_high,share",
        "ada,1200,0.5,0.45,0.56,0.25",
        "a|b,3,,,,all of it",
    ]


def test_json_has_an_object_for_each_row():
    first, second = json.loads(typed().json())
    score = {"mean": 0.5, "low": 0.45, "high": 0.56}
    assert first == {"who": "ada", "users": 1200, "score": score, "share": 0.25}
    assert second["score"] is None


def test_parquet_has_the_types_of_the_columns_though_there_is_no_row():
    reader = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow: graphveil[parquet]")
    table = reader.read_table(BytesIO(Table(typed().columns, ()).parquet()))
    assert [str(field.type) for field in table.schema] == ["string", "int64", *["double"] * 4]


def test_a_file_has_the_form_that_its_name_says_and_ends_in_a_line(tmp_path):
    for suffix in set(TABLE_SUFFIXES) - {".parquet"}:
        small().write(tmp_path / f"x{suffix}")
        text = (tmp_path / f"x{suffix}").read_text()
        assert "base" in text and text.endswith("\n") and not text.endswith("\n\n"), suffix
