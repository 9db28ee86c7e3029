"""The page about workers says what the code computes."""

from pathlib import Path

from benchmarks.traffic import halo_rows, table
from graphveil.graphs.town import Town

PAGE = (Path(__file__).parents[2] / "docs" / "parts.md").read_text(encoding="utf-8")


def test_the_table_of_large_graphs_is_the_computed_one():
    told = PAGE.split("<!-- traffic -->\n")[1].split("<!-- end -->")[0]
    assert told.strip() == table()


def test_the_formula_gives_what_the_page_expects():
    assert f"{halo_rows(Town(users=10**6), 2):,.0f}" in PAGE


def test_it_names_the_options():
    options = ("--workers", "--checkpoint-every", "--max-memory", "--engine ray")
    assert [option for option in options if option not in PAGE] == []
