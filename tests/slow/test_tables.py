"""The tables that take long to compute are those that their results give."""

from docs.tables import PAGES, rewritten


def test_the_table_of_all_advice_is_that_of_its_results():
    (page,) = (page for page in PAGES if page.name == "advice.md")
    content = page.read_text(encoding="utf-8")
    assert "table: advised-all" in content
    assert rewritten(content) == content, "run `python -m docs.tables`"
