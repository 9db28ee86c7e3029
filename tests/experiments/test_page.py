import re
from html.parser import HTMLParser

from graphveil.audit.findings import exact_epsilon
from graphveil.experiments.figure import Series, epsilon_chart
from graphveil.experiments.page import Section, page
from graphveil.experiments.table import Table
from graphveil.statistics import Summary

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
    html = page(
        "Title & more",
        "Lead",
        [Section("Part", ("a < b",), epsilon_chart(LINES, "plot"), table)],
        "end",
    )
    parser = Collector()
    parser.feed(html)
    assert [link for link in parser.links if not link.startswith("#")] == []
    assert {"Title & more", "a < b", "<b>", "end"} <= set(parser.text)


def test_the_same_lines_give_the_same_picture():
    assert epsilon_chart(LINES, "plot").svg() == epsilon_chart(LINES, "plot").svg()
    assert epsilon_chart(LINES, "plot").svg().startswith("<svg")


def test_the_headline_stands_before_the_contents_and_a_picture_before_its_sentences():
    part = Section("Part", ("a sentence",), epsilon_chart(LINES, "plot"))
    html = page("T", "What it says.", [part, Section("Second"), Section("Third")], "end", about="about it")
    places = [
        html.index(each)
        for each in ("What it says.", "about it", "<nav", "<svg", "a sentence", ">Second</h2>")
    ]
    assert places == sorted(places)


def test_the_contents_refer_to_sections_that_are_there():
    html = page(
        "T", "L", [Section("A"), Section("B & C", level=3), Section("D", level=4), Section("E")], "end"
    )
    listed = re.findall(r'<a href="#([^"]+)">([^<]+)</a>', html)
    assert [title for _, title in listed] == ["A", "B &amp; C", "E"]
    assert all(f'id="{mark}">{title}</h' in html for mark, title in listed)


def test_two_sections_need_no_contents():
    assert "<nav" not in page("T", "L", [Section("A"), Section("B")], "end")


def test_the_digits_of_an_exact_number_unfold():
    table = Table(("exact",), ((exact_epsilon(1 - 2.0**-40, 1.0),), (exact_epsilon(0.5, 1.0),)))
    assert "<details><summary>1 (exact, rounded up)</summary>0.999999999999091</details>" in table.html()
    assert "<td>0.5</td>" in table.html()


def test_the_letters_of_a_picture_are_letters_and_its_colours_variables():
    svg = epsilon_chart(LINES, "plot").svg()
    assert ">privacy budget ε</text>" in svg
    assert {"var(--method", "var(--structure", "var(--ink", "var(--paper"} <= set(
        re.findall(r"var\(--[a-z]+", svg)
    )
    assert not re.findall(r"(?:fill|stroke): #[0-9a-f]{6}(?!; (?:fill|stroke): var)", svg)
