import re
from html.parser import HTMLParser

import numpy as np

from graphveil.audit.findings import exact_epsilon
from graphveil.experiments.figure import Series, epsilon_chart
from graphveil.experiments.page import Section, page
from graphveil.experiments.statement import statement_page
from graphveil.experiments.table import Table
from graphveil.privacy.plan import plan_digest
from graphveil.statistics import Summary
from tests.audit.test_statement import FACTS, FEATURES, LINK_COST, NEIGHBOURS, stated

LINES = [
    Series("reports", (1.0, 2.0), (Summary(0.6, 0.5, 0.7), Summary(0.8, 0.75, 0.85)), role="method"),
    Series("structure", (), (Summary(0.5, None, None),), role="structure"),
]


class Collector(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.text = [], []

    def handle_starttag(self, tag, attrs):
        self.links += [value for key, value in attrs if key in ("src", "href") and not value.startswith("#")]

    def handle_data(self, data):
        self.text.append(data)


def test_a_page_fetches_nothing_and_escapes_what_it_shows():
    table = Table(("name", "score"), (("<b>", "1"),), frozenset({"score"}))
    part = Section("Part", ("a < b",), epsilon_chart(LINES, "plot"), table)
    html = page("Title & more", "Lead", [part], "end")
    parser = Collector()
    parser.feed(html)
    assert [link for link in parser.links if not link.startswith("#")] == []
    assert {"Title & more", "a < b", "<b>", "end"} <= set(parser.text)


def test_the_headline_stands_before_the_contents_and_a_picture_before_its_sentences():
    part = Section("Part", ("a sentence",), epsilon_chart(LINES, "plot"))
    html = page("T", "What it says.", [part, Section("Second"), Section("Third")], "end", about="about it")
    said = ("What it says.", "about it", "<nav", "<svg", "a sentence", ">Second</h2>")
    assert [html.index(each) for each in said] == sorted(html.index(each) for each in said)


def test_the_contents_refer_to_sections_that_are_there():
    sections = [Section("A"), Section("B & C", level=3), Section("D", level=4), Section("E")]
    html = page("T", "L", sections, "end")
    listed = re.findall(r'<a href="#([^"]+)">([^<]+)</a>', html)
    assert [title for _, title in listed] == ["A", "B &amp; C", "E"]
    assert all(f'id="{mark}">{title}</h' in html for mark, title in listed)
    # Two sections need none.
    assert "<nav" not in page("T", "L", [Section("A"), Section("B")], "end")


def test_the_digits_of_an_exact_number_unfold():
    table = Table(("exact",), ((exact_epsilon(1 - 2.0**-40, 1.0),), (exact_epsilon(0.5, 1.0),)))
    assert "<details><summary>1 (exact, rounded up)</summary>0.999999999999091</details>" in table.html()
    assert "<td>0.5</td>" in table.html()


def test_the_letters_of_a_picture_are_letters_and_its_colours_variables():
    svg = epsilon_chart(LINES, "plot").svg()
    assert svg.startswith("<svg") and ">privacy budget ε</text>" in svg
    assert epsilon_chart(LINES, "plot").svg() == svg
    variables = set(re.findall(r"var\(--([a-z]+)", svg))
    assert {"method", "structure", "ink", "paper"} <= variables
    assert not re.findall(r"(?:fill|stroke): #[0-9a-f]{6}(?!; (?:fill|stroke): var)", svg)


# The page of a privacy statement


def test_the_page_of_a_statement_has_digests_what_is_proved_and_what_is_not():
    page = statement_page(stated(FEATURES, collection=FACTS, asked=np.arange(9), answered=7))
    for told in (plan_digest(FEATURES), FEATURES.build().fingerprint, "It protects a row.", "Timing."):
        assert told in page
    assert "Privacy statement: to &lt;test&gt;" in page and "30 days" in page
    assert "a cap of ε = 4." in page and "It is for life." in page and "nobody spends more than ε = 1" in page
    # A reader sees the claim that an exact epsilon meets.
    assert "<summary>1 (exact, rounded up)</summary>" in statement_page(stated(FEATURES))


def test_what_leaks_and_what_a_link_costs_if_the_server_lies_stand_on_the_page_of_a_statement():
    assert "It leaks." in statement_page(stated(FEATURES, leaks=["It leaks."]))
    assert f"Besides, a {LINK_COST}" in statement_page(stated(FEATURES, NEIGHBOURS))
