"""The page about workers says what the code computes."""

from pathlib import Path

from benchmarks.traffic import halo_rows, table
from graphveil.graphs.town import Town

PAGE = (Path(__file__).parents[2] / "docs" / "parts.md").read_text(encoding="utf-8")


def test_the_page_has_the_computed_numbers_and_names_the_options():
    told = PAGE.split("<!-- traffic -->\n")[1].split("<!-- end -->")[0]
    assert told.strip() == table()
    assert f"{halo_rows(Town(users=10**6), 2):,.0f}" in PAGE
    options = ("--workers", "--checkpoint-every", "--max-memory", "--engine ray")
    assert [option for option in options if option not in PAGE] == []
