from html.parser import HTMLParser

from graphveil.experiments.runs.statistics import Summary
from graphveil.experiments.show.page import Section, Table, page
from graphveil.experiments.show.plot import Line, accuracy_over_epsilon

LINES = [
    Line("reports", (1.0, 2.0), (Summary(0.6, 0.5, 0.7), Summary(0.8, 0.75, 0.85))),
    Line("structure", (), (Summary(0.5, None, None),)),
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
        [Section("Part", ("a < b",), accuracy_over_epsilon(LINES, "plot"), table)],
        "end",
    )
    parser = Collector()
    parser.feed(html)
    assert [link for link in parser.links if not link.startswith("#")] == []
    assert {"Title & more", "a < b", "<b>", "end"} <= set(parser.text)


def test_the_same_lines_give_the_same_picture():
    assert accuracy_over_epsilon(LINES, "plot") == accuracy_over_epsilon(LINES, "plot")
    assert accuracy_over_epsilon(LINES, "plot").startswith("<svg")
