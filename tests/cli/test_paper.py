import re

import pytest

from graphveil.errors import InputError
from graphveil.experiments import paper_result as result_module
from graphveil.experiments import papers as paper_module
from graphveil.experiments import runner as runner_module
from graphveil.experiments.figure import Chart, ChartPanel, Series
from graphveil.statistics import Summary

TOWN = "data = { users = 200, features = 16, telling = 4, labelled = 0.2, validated = 0.2 }"
PAPER = f"""
title = "A paper"
source = "Somebody"
[tables.one]
title = "Table I"
note = "a note"
[tables.one.base]
method = "base"
epsilon = 2.0
runs = 2
[tables.one.base.settings]
epochs = 2
[[tables.one.columns]]
label = "town"
set.data = "town"
set.settings.{TOWN}
[[tables.one.columns]]
label = "lastfm"
set.data = "lastfm"
[[tables.one.rows]]
label = "MB"
printed = [50.0, 60.5]
[[tables.one.rows]]
label = "1B"
set.mechanism = "onebit"
printed = [40.0, 30.5]
slow = ["town"]
[[tables.one.rows]]
label = "odd"
set.settings."mechanism.speed" = 3
printed = [20.0, "-"]
"""


@pytest.fixture(autouse=True)
def paper(monkeypatch, tmp_path, own_folder):
    """The file of the only paper there is."""
    file = tmp_path / "small.toml"
    file.write_text(PAPER)
    monkeypatch.setenv("GRAPHVEIL_DATA", str(tmp_path))
    monkeypatch.setattr(paper_module, "packaged", lambda _: {"small": file})
    return file


@pytest.fixture
def all_html(call, tmp_path):
    """Calls the command, which writes a page: that page, and what it printed."""

    def written(words, **more):
        told = call(f"paper {words} --page all.html", **more)
        return (tmp_path / "all.html").read_text(), told

    return written


def test_without_a_name_papers_and_tables_are_listed(call):
    out = call("paper").out
    assert "small: A paper (Somebody)" in out and "small/one" in out
    assert call("paper --json").json["papers"] == {"small": {"one": "Table I"}}


def test_theirs_ours_and_control_stand_side_by_side(call, kept):
    lines = call("paper small/one").lines
    assert lines[2] == "Table I"
    assert lines[3].split() == ["row", "column", "theirs", "ours", "control", "structure", "note"]
    first = lines[4].split()
    assert first[:3] == ["MB", "town", "50.0"]
    assert len([word for word in first if word.startswith("[")]) == 3
    assert "60.5" in lines[5] and "lastfm is not here: `graphveil data get lastfm`" in lines[5]
    short = "one run of at most 100 epochs, as every user answers every value; --all takes all runs"
    assert "40.0" in lines[6] and short in lines[6]
    assert "multibit has no setting 'speed'" in lines[8]
    assert lines[-1] == "a note"
    assert [(each.mechanism, len(each.runs)) for each in kept()] == [("multibit", 2), ("onebit", 1)]


LIKEWISE = ["theirs", "ours", "likewise", "ours"]


@pytest.mark.parametrize(
    ("spread", "head", "words"),
    [
        ("", ["theirs", "ours"], "The document's numbers have no interval here"),
        ("sd", LIKEWISE, "±: a standard deviation over runs, theirs and ours"),
        ("bootstrap", LIKEWISE, "±: half of a 95% bootstrap interval (1000 resamples), theirs and ours"),
    ],
)
def test_a_table_says_what_stands_around_its_numbers(spread, head, words, call, paper):
    line = f'spread = "{spread}"\n' if spread else ""
    paper.write_text(PAPER.replace('note = "a note"\n', f'note = "a note"\n{line}'))
    lines = call("paper small --data town").lines
    assert lines[3].split() == ["row", "column", *head, "control", "structure", "note"]
    assert lines[4].count(" ± ") == (1 if spread else 0)
    assert f"{words}; […] are 95% t-intervals of our means." in lines


def test_runs_of_another_version_are_reused_only_if_they_may_be(call, call_another_version, monkeypatch):
    quick, compute = "paper small --quick --data town", runner_module.compute_unit
    first = call_another_version(quick).out

    def refused_only(unit, *rest):
        """The cell whose mechanism refuses its options has left nothing to reuse."""
        return compute(unit, *rest) if unit.spec.mechanism_options else pytest.fail("ran again")

    with monkeypatch.context() as context:
        context.setattr(runner_module, "compute_unit", refused_only)
        told = call(quick, "--any-version")
    assert told.out == first
    assert "Reused runs of another version: 2 (graphveil" in told.err
    assert "Not reused, runs of another version (--any-version does): 2 (graphveil" in call(quick).err


def test_quick_is_marked_and_not_kept(call, kept, own_file):
    fields = call("paper small --quick --all --data town --json").json
    assert fields["quick"] is True
    multibit, onebit, odd = fields["tables"][0]["cells"]
    assert (multibit["printed"], multibit["data"], multibit["note"]) == (50.0, "town", None)
    assert len(multibit["ours"]["runs"]) == 1 and multibit["ours"]["control"]
    assert onebit["ours"]["mechanism"] == "onebit" and odd["ours"] is None
    told = call("paper --every --quick --data town --json").json["papers"][0]["tables"][0]["cells"][1]
    assert told["note"] == "slow: left out of --quick, run with --all"
    assert "Quick: one run of at most 5 epochs" in call("paper small --quick --data town").out
    for words in ("own/paper.toml", "small/one --runs 2 --page x.html"):
        call("paper", words, "--quick --data town")
    assert kept() == [] == call("results --json").json["results"]


MEASURED = """
[[tables.one.rows]]
label = "attack"
set.settings.epochs = 2
measure = "attack-balanced"
printed = [18.7, "-"]
[[tables.one.rows]]
label = "lost"
set.settings."mechanism.speed" = 3
measure = "attack"
printed = [20.0, "-"]
"""


def test_an_attack_stands_among_scores(call, paper):
    paper.write_text(PAPER + MEASURED)
    cells = call("paper small --quick --data town --json").json["tables"][0]["cells"]
    assert [cell["measure"] for cell in cells] == ["score"] * 3 + ["attack-balanced", "attack"]
    attack, lost = cells[3:]
    assert attack["ours"] is None and attack["unit"] == "percent"
    assert 0.3 < attack["measured"]["method"]["mean"] < 0.9
    assert 0.3 < attack["measured"]["control"]["mean"] < 0.7
    assert "50 is nothing learned" in attack["note"]
    assert lost["measured"] is None and lost["note"].startswith("not run: ")
    assert "multibit has no setting 'speed'" in lost["note"]


SWEPT = """
title = "A paper"
source = "Somebody"
[others]
"Fig. 2" = "a scheme"
[figures.budgets]
title = "Fig. 1"
note = "about budgets"
sweep = "budgets.toml"
[[figures.budgets.points]]
at = [4, "MB"]
theirs = "about 50"
[figures.far]
title = "Fig. 3"
sweep = "far.toml"
"""
BUDGETS = f"""
title = "over budgets"
spread = "sd"
[base]
method = "base"
data = "town"
runs = 2
[base.settings]
epochs = 2
{TOWN}
[[axes]]
field = "epsilon"
values = [1, 2, 4]
[[axes]]
label = "mechanism"
[[axes.choices]]
label = "MB"
set.mechanism = "multibit"
[[axes.choices]]
label = "odd"
set.settings."mechanism.speed" = 3
"""


@pytest.fixture
def swept(tmp_path, paper):
    """A paper with a sweep, one line of which cannot be run, and with one on a graph that is not here."""
    paper.write_text(SWEPT)
    (tmp_path / "budgets.toml").write_text(BUDGETS)
    far = BUDGETS.replace('"town"', '"lastfm"').replace(TOWN, "")
    (tmp_path / "far.toml").write_text(far.partition("[[axes]]\nlabel")[0])


@pytest.mark.usefixtures("swept")
def test_a_figure_that_is_a_sweep_is_run_printed_and_drawn(call, kept, tmp_path):
    out = call("paper small/budgets --runs 1").out
    lines = out.splitlines()
    assert "Not run: ε = 1, odd: " in out and "multibit has no setting 'speed'" in out
    table = lines.index("over budgets: accuracy")
    assert lines[table + 1].split()[:3] == ["ε", "MB", "control"]
    assert [line.split()[0] for line in lines[table + 2 : table + 5]] == ["1", "2", "4"]
    assert "±: a standard deviation over runs, as the document draws it" in lines
    head = next(place for place, line in enumerate(lines) if line.split()[:3] == ["in", "the", "text"])
    # Its control stands beside it, and structure.
    words = lines[head + 1].split()
    assert words[:6] == ["ε", "=", "4,", "MB", "about", "50"] and len(words) == 9
    assert "about budgets" in lines
    assert lines[-1] == "The figure is in small-budgets.svg."
    assert (tmp_path / "small-budgets.svg").read_text().startswith("<svg")
    # It is what `graphveil sweep` would keep.
    assert [record.epsilon for record in kept()] == [1.0, 2.0, 4.0]


@pytest.mark.usefixtures("swept")
def test_a_page_has_quick_sweeps_and_says_what_is_not_there(all_html, kept, tmp_path):
    page, told = all_html("--every --quick")
    assert "Not run: Fig. 2: a scheme." in told.out
    for said in ("0 tables and 1 figure of 1 paper.", "Not run: Fig. 2: a scheme.", "about 50"):
        assert said in page
    assert "small/budgets: Fig. 1" in page and page.count("<svg") == 1
    assert "Quick: one run of at most 5 epochs" in page
    # A row for each line, a column for each x; the line that could not be run is left out, and said above.
    table = page.partition("over budgets: accuracy")[2].partition("</table>")[0]
    assert [re.sub("<[^>]*>", "", cell) for cell in re.findall("<th.*?</th>", table)] == ["ε", "1", "4"]
    assert [re.search("<td>(.*?)</td>", row)[1] for row in table.split("<tr>")[2:]] == ["MB", "control"]
    assert "Not run: ε = 1, odd: " in page
    assert "small/far: lastfm is not here" in page.rpartition("Not run")[2]
    # Nothing is drawn beside the page, and nothing is kept.
    assert list(tmp_path.glob("*.svg")) == []
    assert kept() == []


@pytest.mark.usefixtures("swept")
def test_a_sweep_is_listed_and_is_json(call):
    lines = [line.split() for line in call("paper").lines]
    assert lines[1][:4] == ["small/budgets", "Fig.", "1;", "sweep"]
    assert lines[3] == ["Fig.", "2", "not", "run:", "a", "scheme"]
    told = call("paper small --quick --json").json
    budgets, far = told["figures"]
    assert told["others"] == {"Fig. 2": "a scheme"}
    assert (budgets["swept"]["quick"], len(budgets["swept"]["cells"])) == (True, 2)
    assert budgets["points"][0][:2] == ["ε = 4, MB", "about 50"]
    assert budgets["left_out"] is None
    assert far["left_out"].startswith("lastfm is not here")


@pytest.mark.usefixtures("swept")
def test_an_interrupted_sweep_says_how_far_it_came(all_html, counted):
    counted["stop"] = 3
    page, told = all_html("small --quick", ends=130)
    assert "Interrupted: 0 of 2 figures are finished; every finished run is kept" in told.err
    for said in (told.out, page):
        assert "Interrupted: 1 of 4 cells are here." in said
    assert "small/far: not finished" in page


def test_an_interrupt_shows_what_there_is_and_the_same_command_goes_on(call, counted):
    counted["stop"] = 3
    told = call("paper small --all --quick", ends=130)
    assert "the same command goes on from there" in told.err
    assert "not finished" in told.out
    counted["stop"] = None
    call("paper small --all --quick")
    # The control of the second cell, and the one that is refused.
    assert len(counted["units"]) == 3 + 2


MISTAKES = [
    ("paper nobody", "no paper is named 'nobody': choose one of small"),
    ("paper small/two", "small has no table named 'two': choose one of one"),
    ("paper small --data cora", "no table here has 'cora': choose from town, lastfm"),
    ("paper small --runs 0", "--runs must be an integer of at least 1"),
    ("paper small/one --column cora", "no table here has a column 'cora': choose from town; lastfm"),
    ("paper --every --column town", "--column is for the tables of one paper: name it"),
    ("paper --column town", "name a paper, or give --every"),
    ("paper small --jobs 0", "jobs must be an integer of at least 1"),
    ("paper --quick", "name a paper, or give --every"),
    ("paper --page x.html", "name a paper, or give --every"),
    ("paper small --every", "--every runs all papers, so none is named"),
    ("paper --every --out x.svg", "--out is for one figure"),
    ("paper --every --data cora", "no paper has a table on 'cora': choose from town, lastfm"),
    ("paper small --page x.pdf", "x.pdf has the unsupported format .pdf: use .html with --page"),
    ("paper small --page nowhere/x.html", "nowhere is not a folder"),
    ("paper nothing.toml", "nothing.toml cannot be read"),
    ("paper nothing.toml/one", "nothing.toml cannot be read"),
    ("paper own/paper.toml/two", "paper has no table named 'two': choose one of one"),
    ("paper small --out x.svg", "--out is for one figure, this draws 0: name one (none here)"),
]


def test_a_mistake_exits_with_2_and_one_line(refuses, own_file, monkeypatch):
    monkeypatch.setattr(runner_module, "compute_unit", lambda *_: pytest.fail("ran"))
    refuses(MISTAKES)


@pytest.fixture
def own_file(tmp_path):
    """A paper of one's own, in a folder that no packaged one is in."""
    (tmp_path / "own").mkdir()
    file = tmp_path / "own" / "paper.toml"
    file.write_text(PAPER.replace("A paper", "My paper"))
    return file


@pytest.fixture
def two_papers(paper, own_file, monkeypatch):
    """Where that is a packaged paper too."""
    monkeypatch.setattr(paper_module, "packaged", lambda _: {"small": paper, "paper": own_file})


@pytest.mark.parametrize("part", ["", "/one"])
def test_a_paper_of_ones_own_runs_from_its_file(part, call, own_file):
    for name in ("own/paper.toml", own_file):
        told = call(f"paper {name}{part} --quick --data town --json").json
        assert (told["paper"], told["title"]) == ("paper", "My paper")
        assert [table["name"] for table in told["tables"]] == ["one"]


@pytest.mark.usefixtures("two_papers")
def test_every_paper_runs_one_after_the_other(call, own_file):
    told = call("paper --every --quick --json").json["papers"]
    assert [(paper["paper"], paper["quick"]) for paper in told] == [("small", True), ("paper", True)]
    # A paper that has no table on a graph is left out.
    own_file.write_text(PAPER.replace("town", "town-labels"))
    assert call("paper --every --quick --data town").out.count("(Somebody)") == 1


@pytest.mark.usefixtures("two_papers")
def test_after_an_interrupt_no_other_paper_runs_and_that_is_said(all_html, counted):
    counted["stop"] = 0
    page, printed = all_html("--every --json", ends=130)
    told = printed.json["papers"]
    assert [(paper["paper"], paper["interrupted"]) for paper in told] == [("small", True), ("paper", True)]
    notes = {cell["note"] for cell in told[1]["tables"][0]["cells"] if cell["data"] == "town"}
    assert notes == {"not finished"}
    said = "0 of 6 cells of tables are finished; every finished run is kept, and the same command goes on"
    assert f"Interrupted: {said}" in printed.err
    assert "Interrupted: what is missing was not finished." in page
    assert "paper/one: not finished" in page.partition("Not run")[2]


def test_a_page_has_all_that_ran_and_says_that_it_is_quick(all_html, both):
    page, told = all_html("--every --quick")
    assert "The page is in all.html." in told.out
    top, _, rest = page.partition("<main>")
    assert "Quick: at most 5 epochs" in top and "None of these numbers compares with anything" in top
    assert "1 table and 1 figure of 1 paper." in top
    assert "small/one: Table I" in rest and "small/errors: Fig. 1" in rest and "A line rises." in rest
    assert rest.count("<svg") == 1
    assert "small/walks: lastfm is not here" in rest.partition("Not run")[2]


@pytest.mark.usefixtures("swept")
def test_what_to_do_about_a_missing_graph_stands_once_on_a_page(all_html, paper):
    paper.write_text(PAPER + "[figures" + SWEPT.partition("[figures")[2])
    page, _ = all_html("small --quick")
    assert page.count("lastfm.npz") == 1
    end = page.partition(">Graphs that are not here</h2>")[2]
    said = "lastfm is not here: `graphveil data get lastfm`, or put lastfm.npz into the folder"
    assert end.startswith(f"<p>{said}")
    # Three cells of the table, each with what is printed of it.
    assert page.count("<td>not here</td>") == 3 and "60.5" in page
    assert "small/far: lastfm is not here" in page.partition("Not run</h2>")[2]


@pytest.mark.parametrize(("columns", "count"), [(["town"], 3), (["town", "lastfm"], 6)])
def test_columns_of_a_table_can_be_named(columns, count, call):
    asked = [f"--column {column}" for column in columns]
    cells = call("paper small/one --quick --json", *asked).json["tables"][0]["cells"]
    assert (len(cells), sorted({cell["column"] for cell in cells})) == (count, sorted(columns))


def test_figures_have_no_columns_and_are_left_out(call, both):
    told = call("paper small --quick --column town --json").json
    assert [table["name"] for table in told["tables"]] == ["one"]
    assert (told["figures"], both) == ([], [])


def test_a_page_that_is_neither_quick_nor_lacks_a_graph_says_nothing_of_it(all_html):
    page, _ = all_html("small --data town")
    assert "Quick" not in page and "not here" not in page
    assert "1 table and 0 figures of 1 paper." in page


FIGURES = """
title = "A paper"
source = "Somebody"
[figures.errors]
title = "Fig. 1"
computed = "expected-error"
note = "about errors"
[figures.walks]
title = "Fig. 2"
computed = "walk-distance"
data = "lastfm"
"""
SETTINGS = "[tables.one]" + PAPER.partition("[tables.one]")[2]


@pytest.fixture
def figures(paper, monkeypatch):
    """A paper with two computed figures, which are what is said here, so that nothing takes long: the terms they were asked with."""
    paper.write_text(FIGURES)
    seen = []

    def computed(_, terms):
        seen.append(terms)
        terms.progress("half", 0.5)
        line = Series("a line", (1.0, 2.0), (Summary(0.25, 0.2, 0.3), Summary(0.5, None, None)), "its note")
        return Chart((ChartPanel("a panel", "ε", "error", (line,)),), ("A line rises.",))

    monkeypatch.setattr(result_module, "compute_figure", computed)
    return seen


@pytest.fixture
def both(figures, paper):
    """The same with a table besides."""
    paper.write_text(FIGURES + SETTINGS)
    return figures


def test_figures_are_listed_beside_tables(call, both):
    assert [line.split() for line in call("paper").lines[1:]] == [
        ["small/one", "Table", "I;", "town,", "lastfm"],
        ["small/errors", "Fig.", "1"],
        ["small/walks", "Fig.", "2;", "lastfm"],
    ]
    assert call("paper --json").json == {
        "papers": {"small": {"one": "Table I", "errors": "Fig. 1", "walks": "Fig. 2"}},
        "others": {"small": {}},
    }


def test_a_figure_is_printed_as_a_table_and_drawn(call, figures, tmp_path):
    out = call("paper small/errors").out
    assert [line.split() for line in out.splitlines() if "0.25" in line] == [
        ["a", "line", "0.25", "[0.2,", "0.3]", "0.5", "its", "note"]
    ]
    assert "a panel: error" in out and "A line rises." in out and "about errors" in out
    assert "The figure is in small-errors.svg." in out
    assert (tmp_path / "small-errors.svg").read_text().startswith("<svg")
    assert [(terms.quick, terms.runs) for terms in figures] == [(False, None)]


def test_a_figure_is_drawn_where_it_was_asked_for(call, figures, tmp_path):
    told = call("paper small/errors --out errors.png --quick --runs 3 --json").json
    (figure,) = told["figures"]
    assert (told["tables"], figure["name"], figure["file"]) == ([], "errors", "errors.png")
    assert figure["panels"][0]["series"][0]["y"] == [0.25, 0.5]
    assert figure["findings"] == ["A line rises."]
    assert (tmp_path / "errors.png").read_bytes().startswith(b"\x89PNG")
    assert [(terms.quick, terms.runs) for terms in figures] == [(True, 3)]


def test_all_of_a_paper_are_its_tables_and_its_figures(call, both):
    told = call("paper small --quick --json").json
    assert [table["name"] for table in told["tables"]] == ["one"]
    errors, walks = told["figures"]
    assert errors["left_out"] is None and "panels" not in walks
    said = "lastfm is not here: `graphveil data get lastfm`, or put lastfm.npz into"
    assert walks["left_out"].startswith(said)


def test_a_graph_chooses_cells_and_is_what_a_figure_is_computed_from(call, both):
    told = call("paper small --quick --data town --json").json
    assert {cell["data"] for cell in told["tables"][0]["cells"]} == {"town"}
    assert [(figure["name"], figure["data"]) for figure in told["figures"]] == [("walks", "town")]
    assert [terms.data for terms in both] == ["town"]


def test_a_figure_may_be_computed_from_a_graph_that_no_table_has(call, both, tmp_path):
    own = tmp_path / "own.npz"
    own.touch()
    told = call(f"paper small --quick --data {own} --json").json
    assert told["tables"] == [] and [figure["data"] for figure in told["figures"]] == [str(own)]


def test_a_figure_that_cannot_be_computed_or_finished_says_why(call, figures, monkeypatch, tmp_path):
    def stopped_by(error):
        def stop(*_):
            raise error

        monkeypatch.setattr(result_module, "compute_figure", stop)

    stopped_by(InputError("this graph has no links"))
    assert "not computed: this graph has no links" in call("paper small/errors").out
    stopped_by(KeyboardInterrupt())
    told = call("paper small", ends=130)
    assert told.out.count("not finished") == 2
    assert "Interrupted: 0 of 2 figures are finished; figures are computed anew." in told.err
    assert list(tmp_path.glob("*.svg")) == []


NO_FIGURES = [
    ("small/two", "small has no table or figure named 'two': choose one of errors, walks"),
    ("small --out x.svg", "this draws 2: name one (small/errors, small/walks)"),
    ("small/errors --out x.pdf", "x.pdf has the unsupported format .pdf"),
    ("small/errors --data town", "small/errors is computed without a graph: leave --data out"),
    ("small/walks --data cora", "cora is not here: `graphveil data get cora`, or put cora.npz"),
    ("small/walks --data town --data cora", "walks is of one graph: name one with --data"),
    ("small/errors --column town", "small/errors has no table, so no columns: leave --column out"),
    ("small/walks --runs 0", "--runs must be an integer of at least 1"),
]


def test_a_mistake_about_figures_exits_with_2_and_one_line(refuses, figures):
    refuses(NO_FIGURES, "paper", changed=lambda: figures)
