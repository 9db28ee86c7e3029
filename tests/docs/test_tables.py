"""The documentation's tables are those that its results give."""

import json
from collections.abc import Iterator
from functools import cache

import pytest

from docs import layouts, rerun, results_file
from docs.demo_figure import demo_figure
from docs.layouts import EARLIER_NOTE, LAYOUTS, SOME_EARLIER, Crossed, Listed, gain, number, signed, text
from docs.links_figure import links_figure
from docs.printed import PRINTED
from docs.results_file import EARLIER, experiment, names, read, source_digest, write
from docs.tables import PAGES, SOURCES, named, rewritten
from graphveil.errors import GraphveilError
from graphveil.experiments import Experiment, run_experiment
from graphveil.methods import METHODS
from tests.docs.conftest import line

# Half a minute of fits: tests/slow has it.
LONG = ("advised-all",)
INTERVALS = {"mean": ("low", "high"), "gain": ("gain_low", "gain_high")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_the_tables_that_its_results_give(page):
    content = page.read_text(encoding="utf-8")
    assert rewritten(content, LONG) == content, "run `python -m docs.tables`"


def test_every_table_is_on_one_page_and_every_file_is_one():
    assert sorted(name for page in PAGES for name in named(page.read_text("utf-8"))) == sorted(SOURCES)
    assert {*LAYOUTS, *PRINTED} <= set(names()) <= set(SOURCES)


@cache
def refusal(told: str) -> str:
    """Why an experiment, given as JSON, cannot be run; nothing if it can. Many lines differ in numbers alone."""
    try:
        Experiment.of(**json.loads(told)).check()
    except GraphveilError as error:
        return f"cannot be computed again: {error}"
    return ""


def wrong_with(row: dict[str, str]) -> Iterator[str]:
    if not row["version"] or (row["version"] == EARLIER) != (row["source"] == ""):
        yield f"is of version {row['version']!r} and source {row['source']!r}"
    if row["method"] and (refused := refusal(json.dumps(experiment(row)))):
        yield refused
    for key, (low, high) in INTERVALS.items():
        if row[key] and row[low] and not float(row[low]) <= float(row[key]) <= float(row[high]):
            yield f"has {key} {row[key]} outside [{row[low]}, {row[high]}]"


@pytest.mark.parametrize("name", names())
def test_lines_say_what_code_computed_them_can_be_computed_again_and_lie_in_their_intervals(name):
    found = [f"line {place} {words}" for place, row in enumerate(read(name), 2) for words in wrong_with(row)]
    assert not found, "\n".join(found)


def test_another_number_changes_the_page(folder):
    write("hops", [line(line="HOA", column="2", mean="12.3", version=EARLIER)])
    page = rewritten("a\n<!-- table: hops -->\nold\n<!-- end -->\nb")
    assert page == (
        "a\n<!-- table: hops -->\n\n| K | 2 |\n| --- | ---: |\n| HOA | 12.3 |\n\n"
        f"{EARLIER_NOTE}\n\n<!-- end -->\nb"
    )


def test_results_are_marked_where_they_are_of_an_earlier_version(folder):
    write("a", [line(line="x", version=EARLIER), line(line="y", version="1", source="d")])
    table = Listed("a", (("", text("line")),), left=1).table()
    assert table.splitlines()[2:] == ["| x ° |", "| y |", "", SOME_EARLIER]
    write("a", [line(line="x", version="1", source="d")])
    assert Listed("a", (("", text("line")),), left=1).table().splitlines()[2:] == ["| x |"]


def test_crossed_results_have_structure_and_gaps(folder):
    shared = {"version": "1", "source": "d"}
    write(
        "a",
        [
            line(line="x", column="cora", mean="1", structure="9", **shared),
            line(line="y", column="pubmed", mean="2", structure="8", **shared),
        ],
    )
    assert Crossed("a", "", number("mean")).table().splitlines()[2:] == ["| x | 1.0 |  |", "| y |  | 2.0 |"]
    assert Crossed("a", "", number("mean"), structure=True).table().splitlines()[2:] == [
        "| x | 1.0 |  | 9.0 |",
        "| y |  | 2.0 | 8.0 |",
    ]


def test_differences_have_a_sign_unless_they_round_to_nothing_and_gains_half_of_their_interval():
    assert [signed(value) for value in (0.04, -0.04, 0.06, -1.0)] == ["0.0", "0.0", "+0.1", "-1.0"]
    assert gain(line(gain="1.0", gain_low="0.5", gain_high="1.5")) == "+1.0 ± 0.5"
    assert gain(line()) == "-"


def test_a_table_is_computed_again_where_it_is_asked_for(folder):
    small = {"users": 200, "features": 16, "telling": 4, "labelled": 0.2, "validated": 0.2}
    more = json.dumps({"settings": {"epochs": 2}, "data_options": small})
    asked = line(method="base", data="town", epsilon="2", more=more, runs="2", seed="0", version=EARLIER)
    write("reach", [asked, {**asked, "data": "cora", "mean": "1.0"}])
    rerun.rerun("reach", 1, ["town"])
    new, old = read("reach")
    assert (new["version"], new["source"]) == (rerun.__version__, source_digest())
    told = run_experiment(Experiment.of(**experiment(asked))).to_dict()
    assert {key: new[key] for key in ("mean", "low", "high")} == {
        key: f"{100 * told[key]:.2f}" for key in ("mean", "low", "high")
    }
    for part in ("control", "structure", "gain"):
        assert new[part] == f"{100 * told[part]['mean']:.2f}"
    assert (old["version"], old["mean"]) == (EARLIER, "1.0")


def test_the_searched_values_are_those_of_the_methods():
    table = SOURCES["searched"]()
    for name in METHODS.own():
        for key in METHODS.find(name).grid:
            assert any(row.startswith(f"| `{key}` |") and name in row for row in table.splitlines())


def test_a_digest_depends_on_the_source(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text("1")
    monkeypatch.setattr(results_file, "SOURCE", tmp_path)
    before = source_digest()
    (tmp_path / "a.py").write_text("2")
    assert source_digest() == source_digest(tmp_path) != before
    assert layouts.EARLIER not in (before, "")


@pytest.mark.parametrize(("name", "draw"), [("links", links_figure), ("demo", demo_figure)])
def test_a_figure_is_drawn_from_its_results(name, draw):
    assert (PAGES[0].parent / "docs" / f"{name}.svg").read_text(encoding="utf-8") == draw() + "\n"
