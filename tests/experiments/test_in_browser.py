"""Pages in a real browser: on a phone and on a desk, by day and by night, nothing is fetched, said or cut off."""

import itertools

import pytest

from graphveil.audit import audit
from graphveil.audit.findings import exact_epsilon
from graphveil.experiments.comparison import compare
from graphveil.experiments.demo import Demo
from graphveil.experiments.figure import INK, METHOD, PAPER
from graphveil.experiments.measures import Reading
from graphveil.experiments.page import Section, page
from graphveil.experiments.paper_result import FigureResult, PaperResult, papers_page
from graphveil.experiments.report import comparison_page, report_html, results_page
from graphveil.experiments.study_result import StudyResult
from graphveil.experiments.table import Table
from graphveil.statistics import Summary
from tests.browser import missing, open_browser
from tests.experiments.known import paper_of
from tests.experiments.test_chart import FIGURE
from tests.experiments.test_demo import made_up
from tests.experiments.test_report import plain, record
from tests.experiments.test_results import SCORED, kept

PHONE, DESK = 390, 1280
# As many as a page without script can have, and a cell that sorts by number and not by letter.
ROWS = (("b", "10", exact_epsilon(1 - 2.0**-40, 1.0)), ("a", "9", "0.5"), ("c", "-", "2"))
SORTED = "return [...document.querySelectorAll('tbody tr')].map(row => row.cells[0].textContent)"


@pytest.fixture(scope="module")
def browser():
    if why := missing():
        pytest.skip(why)
    with open_browser() as opened:
        yield opened


def demo_page():
    demo = made_up()
    return Demo(demo.veil, demo.base, demo.plain, (audit("krr", epsilon=4.0, quick=True),)).html()


def paper_page():
    parts = {part: Summary(0.8, 0.7, 0.9) for part in ("method", "control", "structure")}
    ours, asked = Reading(parts, "as it is run here"), paper_of("upgnet")
    table = StudyResult.of(asked.tables[0], [ours] * len(asked.tables[0].cells))
    return papers_page([PaperResult(asked, (table,), (FigureResult(asked.figures[0], FIGURE),))])


PAGES = {
    "demo": demo_page,
    "report": lambda: report_html([record(1.0), record(4.0), plain()], hops=4),
    "results": lambda: results_page([kept(1, **SCORED), kept(2, data="cora"), kept(3, task="link")], "Results"),
    "compare": lambda: comparison_page(compare([kept(1), kept(2, runs=(0.2, 0.4))]), "Compared"),
    "paper": paper_page,
    "table": lambda: page("T", "L", [Section("S", table=Table(("name", "n", "exact"), ROWS, frozenset({"n"})))], "end"),
}  # fmt: skip


# The colours of all lines of pictures, then that of the page.
COLOURS = (
    "return [...document.querySelectorAll('svg path')].map(each => getComputedStyle(each).stroke)"
    ".concat(getComputedStyle(document.body).backgroundColor)"
)


@pytest.fixture(scope="module", params=PAGES)
def seen(request, tmp_path_factory, browser):
    """What is wrong with a page on each screen, and its colours there."""
    file = tmp_path_factory.mktemp("pages") / f"{request.param}.html"
    file.write_text(PAGES[request.param](), encoding="utf-8")
    screens = itertools.product((PHONE, DESK), ("light", "dark"))
    return {screen: (browser.visit(file, *screen).problems(), browser.run(COLOURS)) for screen in screens}


def test_nothing_is_fetched_said_or_cut_off(seen):
    failed = {screen: problems for screen, (problems, _) in seen.items() if problems}
    assert not failed, "\n".join(map(str, failed.items()))


def test_pictures_follow_the_mode_of_the_screen(seen):
    for mode, colours in (("light", (METHOD.day, PAPER.day)), ("dark", (METHOD.night, PAPER.night))):
        line, paper = (rgb(colour) for colour in colours)
        *strokes, ground = seen[DESK, mode][1]
        assert ground == paper
        assert not strokes or line in strokes


def test_a_table_is_sorted_by_a_button_and_says_how(browser, tmp_path):
    file = tmp_path / "table.html"
    file.write_text(PAGES["table"](), encoding="utf-8")
    browser.visit(file, PHONE, "light")
    assert browser.run(SORTED) == ["b", "a", "c"]
    click = "const button = document.querySelectorAll('th button')[1]; button.focus(); button.click(); "
    state = "return [...document.querySelectorAll('th')].map(head => head.getAttribute('aria-sort'))"
    assert browser.run(click + SORTED) == ["a", "b", "c"]
    assert browser.run(state) == [None, "ascending", None]
    assert browser.run(click + SORTED) == ["b", "a", "c"]
    assert browser.run(state) == [None, "descending", None]


def test_without_a_script_there_is_no_button_that_does_nothing():
    assert "<button" not in PAGES["table"]().split("<script>")[0]


def test_a_printed_page_is_light_though_the_screen_is_dark(browser, tmp_path):
    file = tmp_path / "table.html"
    file.write_text(PAGES["table"](), encoding="utf-8")
    browser.visit(file, DESK, "dark", media="print")
    seen = browser.run(
        "const body = getComputedStyle(document.body); return [body.color, body.backgroundColor]"
    )
    assert seen == [rgb(INK.day), rgb(PAPER.day)]


def rgb(colour):
    return f"rgb({int(colour[1:3], 16)}, {int(colour[3:5], 16)}, {int(colour[5:7], 16)})"
