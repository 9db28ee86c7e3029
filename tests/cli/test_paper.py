import json
import re

import pytest

from graphveil.cli import status
from graphveil.errors import InputError
from graphveil.experiments import ResultStore
from graphveil.experiments import paper_result as result_module
from graphveil.experiments import papers as paper_module
from graphveil.experiments import runner as runner_module
from graphveil.experiments import store as reuse
from graphveil.experiments.figure import Chart, ChartPanel, Series
from graphveil.experiments.store import RESULTS
from graphveil.statistics import Summary
from tests.cli.support import not_refused

PAPER = """
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
set.settings.data = { users = 200, features = 16, telling = 4, labelled = 0.2, validated = 0.2 }
[[tables.one.columns]]
label = "lastfm"
set = { data = "lastfm" }
[[tables.one.rows]]
label = "MB"
printed = [50.0, 60.5]
[[tables.one.rows]]
label = "1B"
set = { mechanism = "onebit" }
printed = [40.0, 30.5]
slow = ["town"]
[[tables.one.rows]]
label = "odd"
set = { settings."mechanism.speed" = 3 }
printed = [20.0, "-"]
"""


@pytest.fixture(autouse=True)
def own_paper(monkeypatch, tmp_path, own_folder):
    monkeypatch.setenv("GRAPHVEIL_DATA", str(tmp_path))
    (tmp_path / "small.toml").write_text(PAPER)
    monkeypatch.setattr(paper_module, "packaged", lambda _: {"small": tmp_path / "small.toml"})


def test_without_a_name_papers_and_tables_are_listed(capsys):
    assert status(["paper"]) == 0
    out = capsys.readouterr().out
    assert "small: A paper (Somebody)" in out
    assert "small/one" in out
    assert status(["paper", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["papers"] == {"small": {"one": "Table I"}}


def test_theirs_ours_and_control_stand_side_by_side(capsys, tmp_path):
    assert status(["paper", "small/one"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "Table I"
    assert lines[3].split() == ["row", "column", "theirs", "ours", "control", "structure", "note"]
    first = lines[4].split()
    assert first[:3] == ["MB", "town", "50.0"]
    assert len([word for word in first if word.startswith("[")]) == 3
    assert "60.5" in lines[5]
    assert "lastfm is not here: `graphveil data get lastfm`" in lines[5]
    assert (
        "one run of at most 100 epochs, as every user answers every value; --all takes all runs" in lines[6]
    )
    assert "40.0" in lines[6]
    assert "multibit has no setting 'speed'" in lines[8]
    assert lines[-1] == "a note"
    records = ResultStore(tmp_path / "cache" / RESULTS).results()
    assert [(record.mechanism, len(record.runs)) for record in records] == [("multibit", 2), ("onebit", 1)]


@pytest.mark.parametrize(
    ("spread", "head", "words"),
    [
        ("", ["theirs", "ours"], "The document's numbers have no interval here"),
        (
            'spread = "sd"\n',
            ["theirs", "ours", "likewise", "ours"],
            "±: a standard deviation over runs, theirs and ours",
        ),
        (
            'spread = "bootstrap"\n',
            ["theirs", "ours", "likewise", "ours"],
            "±: half of a 95% bootstrap interval (1000 resamples), theirs and ours",
        ),
    ],
)
def test_a_table_says_what_stands_around_its_numbers(spread, head, words, capsys, tmp_path):
    (tmp_path / "small.toml").write_text(PAPER.replace('note = "a note"\n', f'note = "a note"\n{spread}'))
    assert status(["paper", "small", "--data", "town"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[3].split() == ["row", "column", *head, "control", "structure", "note"]
    assert lines[4].count(" ± ") == (1 if spread else 0)
    assert f"{words}; […] are 95% t-intervals of our means." in lines


def test_runs_of_another_version_are_reused_only_if_they_may_be(capsys, monkeypatch):
    quick = ["paper", "small", "--quick", "--data", "town"]
    with monkeypatch.context() as context:
        context.setattr(reuse, "source_digest", lambda: "e" * 64)
        assert status(quick) == 0
    first, compute = capsys.readouterr().out, runner_module.compute_unit

    def refused_only(unit, *rest):
        """The cell whose mechanism refuses its options has left nothing to reuse."""
        return compute(unit, *rest) if unit.spec.mechanism_options else pytest.fail("ran again")

    with monkeypatch.context() as context:
        context.setattr(runner_module, "compute_unit", refused_only)
        assert status([*quick, "--any-version"]) == 0
    printed = capsys.readouterr()
    assert printed.out == first
    assert "Reused runs of another version: 2 (graphveil" in printed.err
    assert status(quick) == 0
    assert "Not reused, runs of another version (--any-version does): 2 (graphveil" in capsys.readouterr().err


def test_quick_is_marked_and_not_kept(capsys, tmp_path):
    assert status(["paper", "small", "--quick", "--all", "--data", "town", "--json"]) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 1
    fields = json.loads(out)
    assert fields["quick"] is True
    (table,) = fields["tables"]
    multibit, onebit, odd = table["cells"]
    assert (multibit["printed"], multibit["data"], multibit["note"]) == (50.0, "town", None)
    assert len(multibit["ours"]["runs"]) == 1
    assert multibit["ours"]["control"]
    assert onebit["ours"]["mechanism"] == "onebit"
    assert odd["ours"] is None
    assert ResultStore(tmp_path / "cache" / RESULTS).results() == []
    assert status(["paper", "small", "--quick", "--data", "town"]) == 0
    assert "Quick: one run of at most 5 epochs" in capsys.readouterr().out


MEASURED = """
[[tables.one.rows]]
label = "attack"
set = { settings.epochs = 2 }
measure = "attack-balanced"
printed = [18.7, "-"]
[[tables.one.rows]]
label = "lost"
set = { settings."mechanism.speed" = 3 }
measure = "attack"
printed = [20.0, "-"]
"""


def test_an_attack_stands_among_scores(capsys, tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(PAPER + MEASURED)
    assert status(["paper", "small", "--quick", "--data", "town", "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["tables"][0]["cells"]
    assert [cell["measure"] for cell in cells] == ["score"] * 3 + ["attack-balanced", "attack"]
    attack, lost = cells[3:]
    assert attack["ours"] is None
    assert attack["unit"] == "percent"
    assert 0.3 < attack["measured"]["method"]["mean"] < 0.9
    assert 0.3 < attack["measured"]["control"]["mean"] < 0.7
    assert "50 is nothing learned" in attack["note"]
    assert lost["measured"] is None
    assert lost["note"].startswith("not run: ")
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
BUDGETS = """
title = "over budgets"
spread = "sd"
[base]
method = "base"
data = "town"
runs = 2
[base.settings]
epochs = 2
data = { users = 200, features = 16, telling = 4, labelled = 0.2, validated = 0.2 }
[[axes]]
field = "epsilon"
values = [1, 2, 4]
[[axes]]
label = "mechanism"
[[axes.choices]]
label = "MB"
set = { mechanism = "multibit" }
[[axes.choices]]
label = "odd"
set = { settings."mechanism.speed" = 3 }
"""


@pytest.fixture
def swept(tmp_path):
    """A paper with a sweep, one line of which cannot be run, and with one on a graph that is not here."""
    (tmp_path / "small.toml").write_text(SWEPT)
    (tmp_path / "budgets.toml").write_text(BUDGETS)
    far = BUDGETS.replace('"town"', '"lastfm"').replace("data = { users", "# data = { users")
    (tmp_path / "far.toml").write_text(far.partition("[[axes]]\nlabel")[0])


@pytest.mark.usefixtures("swept")
def test_a_figure_that_is_a_sweep_is_run_printed_and_drawn(capsys, tmp_path):
    assert status(["paper", "small/budgets", "--runs", "1"]) == 0
    out = capsys.readouterr().out
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
    assert [record.epsilon for record in ResultStore(tmp_path / "cache" / RESULTS).results()] == [
        1.0,
        2.0,
        4.0,
    ]


@pytest.mark.usefixtures("swept")
def test_a_page_has_quick_sweeps_and_says_what_is_not_there(capsys, tmp_path):
    assert status(["paper", "--every", "--quick", "--page", "all.html"]) == 0
    out = capsys.readouterr().out
    assert "Not run: Fig. 2: a scheme." in out
    page = (tmp_path / "all.html").read_text()
    assert "0 tables and 1 figure of 1 paper." in page
    assert "Not run: Fig. 2: a scheme." in page
    assert "small/budgets: Fig. 1" in page and page.count("<svg") == 1
    assert "Quick: one run of at most 5 epochs" in page
    assert "about 50" in page
    # A row for each line, a column for each x; the line that could not be run is left out, and said above.
    table = page.partition("over budgets: accuracy")[2].partition("</table>")[0]
    assert [re.sub("<[^>]*>", "", cell) for cell in re.findall("<th.*?</th>", table)] == ["ε", "1", "4"]
    assert [re.search("<td>(.*?)</td>", row)[1] for row in table.split("<tr>")[2:]] == ["MB", "control"]
    assert "Not run: ε = 1, odd: " in page
    assert "small/far: lastfm is not here" in page.rpartition("Not run")[2]
    # Nothing is drawn beside the page, and nothing is kept.
    assert list(tmp_path.glob("*.svg")) == []
    assert ResultStore(tmp_path / "cache" / RESULTS).results() == []


@pytest.mark.usefixtures("swept")
def test_a_sweep_is_listed_and_is_json(capsys):
    assert status(["paper"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1][:4] == ["small/budgets", "Fig.", "1;", "sweep"]
    assert lines[3] == ["Fig.", "2", "not", "run:", "a", "scheme"]
    assert status(["paper", "small", "--quick", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    budgets, far = told["figures"]
    assert told["others"] == {"Fig. 2": "a scheme"}
    assert (budgets["swept"]["quick"], len(budgets["swept"]["cells"])) == (True, 2)
    assert budgets["points"][0][:2] == ["ε = 4, MB", "about 50"]
    assert budgets["left_out"] is None
    assert far["left_out"].startswith("lastfm is not here")


@pytest.mark.usefixtures("swept")
def test_an_interrupted_sweep_says_how_far_it_came(capsys, monkeypatch, tmp_path):
    compute, seen = runner_module.compute_unit, []

    def run_unit(*arguments):
        if len(seen) == 3:
            raise KeyboardInterrupt
        seen.append(arguments[0])
        return compute(*arguments)

    monkeypatch.setattr(runner_module, "compute_unit", run_unit)
    assert status(["paper", "small", "--quick", "--page", "x.html"]) == 130
    told = capsys.readouterr()
    assert "Interrupted: 1 of 4 cells are here." in told.out
    assert "Interrupted: 0 of 2 figures are finished; every finished run is kept" in told.err
    page = (tmp_path / "x.html").read_text()
    assert "Interrupted: 1 of 4 cells are here." in page
    assert "small/far: not finished" in page


def test_an_interrupt_shows_what_there_is(capsys, monkeypatch):
    compute, seen = runner_module.compute_unit, []

    def run_unit(*arguments):
        if len(seen) == 3:
            raise KeyboardInterrupt
        seen.append(arguments[0])
        return compute(*arguments)

    monkeypatch.setattr(runner_module, "compute_unit", run_unit)
    assert status(["paper", "small", "--all", "--quick"]) == 130
    told = capsys.readouterr()
    assert "the same command goes on from there" in told.err
    assert "not finished" in told.out
    monkeypatch.setattr(
        runner_module, "compute_unit", lambda *arguments: seen.append(0) or compute(*arguments)
    )
    assert status(["paper", "small", "--all", "--quick"]) == 0
    # The control of the second cell, and the one that is refused.
    assert len(seen) == 3 + 2


MISTAKES = [
    (["paper", "nobody"], "no paper is named 'nobody': choose one of small"),
    (["paper", "small/two"], "small has no table named 'two': choose one of one"),
    (["paper", "small", "--data", "cora"], "no table here has 'cora': choose from town, lastfm"),
    (["paper", "small", "--jobs", "0"], "jobs must be an integer of at least 1"),
    (["paper", "--quick"], "name a paper, or give --every"),
    (["paper", "--page", "x.html"], "name a paper, or give --every"),
    (["paper", "small", "--every"], "--every runs all papers, so none is named"),
    (["paper", "--every", "--out", "x.svg"], "--out is for one figure"),
    (["paper", "--every", "--data", "cora"], "no paper has a table on 'cora': choose from town, lastfm"),
    (
        ["paper", "small", "--page", "x.pdf"],
        "x.pdf has the unsupported format .pdf: use .html with --page",
    ),
    (["paper", "small", "--page", "nowhere/x.html"], "nowhere is not a folder"),
    (["paper", "nothing.toml"], "nothing.toml cannot be read"),
    (["paper", "nothing.toml/one"], "nothing.toml cannot be read"),
    (["paper", "own/paper.toml/two"], "paper has no table named 'two': choose one of one"),
    (["paper", "small", "--out", "x.svg"], "--out is for one figure, this draws 0: name one (none here)"),
]


def test_a_mistake_exits_with_2_and_one_line(capsys, own_file, monkeypatch):
    monkeypatch.setattr(runner_module, "compute_unit", lambda *_: pytest.fail("ran"))
    assert not_refused(MISTAKES, capsys) == []


@pytest.fixture
def own_file(tmp_path):
    """A paper of one's own, in a folder that no packaged one is in."""
    (tmp_path / "own").mkdir()
    file = tmp_path / "own" / "paper.toml"
    file.write_text(PAPER.replace("A paper", "My paper"))
    return file


@pytest.mark.parametrize("part", ["", "/one"])
def test_a_paper_of_ones_own_runs_from_its_file(part, capsys, own_file):
    quick = ["--quick", "--data", "town", "--json"]
    assert status(["paper", f"own/paper.toml{part}", *quick]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["paper"], told["title"]) == ("paper", "My paper")
    assert [table["name"] for table in told["tables"]] == ["one"]
    assert status(["paper", f"{own_file}{part}", *quick]) == 0


def test_every_paper_runs_one_after_the_other(capsys, own_file, tmp_path, monkeypatch):
    known = {"small": tmp_path / "small.toml", "paper": own_file}
    monkeypatch.setattr(paper_module, "packaged", lambda _: known)
    assert status(["paper", "--every", "--quick", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["papers"]
    assert [(paper["paper"], paper["quick"]) for paper in told] == [("small", True), ("paper", True)]
    # A paper that has no table on a graph is left out.
    own_file.write_text(PAPER.replace("town", "town-labels"))
    assert status(["paper", "--every", "--quick", "--data", "town"]) == 0
    out = capsys.readouterr().out
    assert out.count("(Somebody)") == 1


def test_quick_papers_leave_slow_cells_out(capsys):
    assert status(["paper", "--every", "--quick", "--data", "town", "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["papers"][0]["tables"][0]["cells"]
    assert cells[1]["note"] == "slow: left out of --quick, run with --all"


def test_after_an_interrupt_no_other_paper_runs_and_that_is_said(capsys, own_file, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    known = {"small": tmp_path / "small.toml", "paper": own_file}
    monkeypatch.setattr(paper_module, "packaged", lambda _: known)
    monkeypatch.setattr(runner_module, "compute_unit", interrupt)
    assert status(["paper", "--every", "--page", "x.html", "--json"]) == 130
    printed = capsys.readouterr()
    told = json.loads(printed.out)["papers"]
    assert [(paper["paper"], paper["interrupted"]) for paper in told] == [("small", True), ("paper", True)]
    assert {cell["note"] for cell in told[1]["tables"][0]["cells"] if cell["data"] == "town"} == {
        "not finished"
    }
    assert (
        "Interrupted: 0 of 6 cells of tables are finished; every finished run is kept, and the same command goes on"
        in printed.err
    )
    page = (tmp_path / "x.html").read_text()
    assert "Interrupted: what is missing was not finished." in page
    assert "paper/one: not finished" in page.partition("Not run")[2]


def test_nothing_quick_is_kept_for_reports(tmp_path, own_file, capsys):
    for arguments in (["--every"], ["own/paper.toml"], ["small/one", "--runs", "2", "--page", "x.html"]):
        assert status(["paper", *arguments, "--quick", "--data", "town"]) == 0
    assert ResultStore(tmp_path / "cache" / RESULTS).results() == []
    capsys.readouterr()
    assert status(["results", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"results": []}


def test_a_page_has_all_that_ran_and_says_that_it_is_quick(capsys, figures, tmp_path):
    (tmp_path / "small.toml").write_text(FIGURES + SETTINGS)
    assert status(["paper", "--every", "--quick", "--page", "all.html"]) == 0
    assert "The page is in all.html." in capsys.readouterr().out
    page = (tmp_path / "all.html").read_text()
    top, _, rest = page.partition("<main>")
    assert "Quick: at most 5 epochs" in top and "None of these numbers compares with anything" in top
    assert "1 table and 1 figure of 1 paper." in top
    assert "small/one: Table I" in rest and "small/errors: Fig. 1" in rest and "A line rises." in rest
    assert rest.count("<svg") == 1
    assert "small/walks: lastfm is not here" in rest.partition("Not run")[2]


@pytest.mark.usefixtures("swept")
def test_what_to_do_about_a_missing_graph_stands_once_on_a_page(capsys, tmp_path):
    (tmp_path / "small.toml").write_text(PAPER + "[figures" + SWEPT.partition("[figures")[2])
    assert status(["paper", "small", "--quick", "--page", "all.html"]) == 0
    page = (tmp_path / "all.html").read_text()
    assert page.count("lastfm.npz") == 1
    end = page.partition(">Graphs that are not here</h2>")[2]
    assert end.startswith(
        "<p>lastfm is not here: `graphveil data get lastfm`, or put lastfm.npz into the folder"
    )
    # Three cells of the table, each with what is printed of it.
    assert page.count("<td>not here</td>") == 3 and "60.5" in page
    assert "small/far: lastfm is not here" in page.partition("Not run</h2>")[2]


def test_a_page_without_missing_graphs_speaks_of_none(capsys, tmp_path):
    assert status(["paper", "small", "--quick", "--data", "town", "--page", "all.html"]) == 0
    assert "not here" not in (tmp_path / "all.html").read_text()


@pytest.mark.parametrize(("columns", "count"), [(["town"], 3), (["town", "lastfm"], 6)])
def test_columns_of_a_table_can_be_named(columns, count, capsys):
    asked = [word for column in columns for word in ("--column", column)]
    assert status(["paper", "small/one", "--quick", "--json", *asked]) == 0
    cells = json.loads(capsys.readouterr().out)["tables"][0]["cells"]
    assert (len(cells), sorted({cell["column"] for cell in cells})) == (count, sorted(columns))


def test_figures_have_no_columns_and_are_left_out(capsys, figures, tmp_path):
    (tmp_path / "small.toml").write_text(FIGURES + SETTINGS)
    assert status(["paper", "small", "--quick", "--column", "town", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [table["name"] for table in told["tables"]] == ["one"]
    assert (told["figures"], figures) == ([], [])


NO_COLUMNS = [
    (["small/one", "--column", "cora"], "no table here has a column 'cora': choose from town; lastfm"),
    (["--every", "--column", "town"], "--column is for the tables of one paper: name it"),
    (["--column", "town"], "name a paper, or give --every"),
]


def test_a_column_that_cannot_be_is_refused(capsys):
    assert not_refused([(["paper", *words], said) for words, said in NO_COLUMNS], capsys) == []


def test_a_figure_alone_refuses_a_column(capsys, figures):
    assert status(["paper", "small/errors", "--column", "town"]) == 2
    assert "small/errors has no table, so no columns: leave --column out" in capsys.readouterr().err
    assert figures == []


def test_a_page_that_is_not_quick_does_not_say_so(capsys, tmp_path):
    assert status(["paper", "small", "--data", "town", "--page", "all.html"]) == 0
    page = (tmp_path / "all.html").read_text()
    assert "Quick" not in page
    assert "1 table and 0 figures of 1 paper." in page


def test_the_number_of_runs_can_be_set_and_must_make_sense(capsys):
    assert status(["paper", "small", "--runs", "0"]) == 2
    assert "--runs must be an integer of at least 1" in capsys.readouterr().err


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
def figures(tmp_path, monkeypatch):
    """A paper with two computed figures, which are what is said here, so that nothing takes long."""
    (tmp_path / "small.toml").write_text(FIGURES)
    seen = []

    def computed(_, terms):
        seen.append(terms)
        terms.progress("half", 0.5)
        line = Series("a line", (1.0, 2.0), (Summary(0.25, 0.2, 0.3), Summary(0.5, None, None)), "its note")
        return Chart((ChartPanel("a panel", "ε", "error", (line,)),), ("A line rises.",))

    monkeypatch.setattr(result_module, "compute_figure", computed)
    return seen


def test_figures_are_listed_beside_tables(capsys, figures, tmp_path):
    (tmp_path / "small.toml").write_text(FIGURES + SETTINGS)
    assert status(["paper"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["small/one", "Table", "I;", "town,", "lastfm"],
        ["small/errors", "Fig.", "1"],
        ["small/walks", "Fig.", "2;", "lastfm"],
    ]
    assert status(["paper", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "papers": {"small": {"one": "Table I", "errors": "Fig. 1", "walks": "Fig. 2"}},
        "others": {"small": {}},
    }


def test_a_figure_is_printed_as_a_table_and_drawn(capsys, figures, tmp_path):
    assert status(["paper", "small/errors"]) == 0
    out = capsys.readouterr().out
    assert [line.split() for line in out.splitlines() if "0.25" in line] == [
        ["a", "line", "0.25", "[0.2,", "0.3]", "0.5", "its", "note"]
    ]
    assert "a panel: error" in out and "A line rises." in out and "about errors" in out
    assert "The figure is in small-errors.svg." in out
    assert (tmp_path / "small-errors.svg").read_text().startswith("<svg")
    assert [(terms.quick, terms.runs) for terms in figures] == [(False, None)]


def test_a_figure_is_drawn_where_it_was_asked_for(capsys, figures, tmp_path):
    assert status(["paper", "small/errors", "--out", "errors.png", "--quick", "--runs", "3", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (figure,) = told["figures"]
    assert (told["tables"], figure["name"], figure["file"]) == ([], "errors", "errors.png")
    assert figure["panels"][0]["series"][0]["y"] == [0.25, 0.5]
    assert figure["findings"] == ["A line rises."]
    assert (tmp_path / "errors.png").read_bytes().startswith(b"\x89PNG")
    assert [(terms.quick, terms.runs) for terms in figures] == [(True, 3)]


def test_all_of_a_paper_are_its_tables_and_its_figures(capsys, figures, tmp_path):
    (tmp_path / "small.toml").write_text(FIGURES + SETTINGS)
    assert status(["paper", "small", "--quick", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [table["name"] for table in told["tables"]] == ["one"]
    errors, walks = told["figures"]
    assert errors["left_out"] is None
    assert "panels" not in walks
    assert walks["left_out"].startswith(
        "lastfm is not here: `graphveil data get lastfm`, or put lastfm.npz into"
    )


def test_a_graph_chooses_cells_and_is_what_a_figure_is_computed_from(capsys, figures, tmp_path):
    (tmp_path / "small.toml").write_text(FIGURES + SETTINGS)
    assert status(["paper", "small", "--quick", "--data", "town", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {cell["data"] for cell in told["tables"][0]["cells"]} == {"town"}
    assert [(figure["name"], figure["data"]) for figure in told["figures"]] == [("walks", "town")]
    assert [terms.data for terms in figures] == ["town"]


def test_a_figure_may_be_computed_from_a_graph_that_no_table_has(capsys, figures, tmp_path):
    (tmp_path / "small.toml").write_text(FIGURES + SETTINGS)
    own = tmp_path / "own.npz"
    own.touch()
    assert status(["paper", "small", "--quick", "--data", str(own), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["tables"] == [] and [figure["data"] for figure in told["figures"]] == [str(own)]


def test_a_figure_that_cannot_be_computed_says_why(capsys, figures, monkeypatch):
    def refuse(_, terms):
        raise InputError("this graph has no links")

    monkeypatch.setattr(result_module, "compute_figure", refuse)
    assert status(["paper", "small/errors"]) == 0
    assert "not computed: this graph has no links" in capsys.readouterr().out


def test_an_interrupt_leaves_out_the_figures_that_are_not_finished(capsys, figures, monkeypatch, tmp_path):
    def interrupt(_, terms):
        raise KeyboardInterrupt

    monkeypatch.setattr(result_module, "compute_figure", interrupt)
    assert status(["paper", "small"]) == 130
    told = capsys.readouterr()
    assert told.out.count("not finished") == 2
    assert "Interrupted: 0 of 2 figures are finished; figures are computed anew." in told.err
    assert list(tmp_path.glob("*.svg")) == []


NO_FIGURES = [
    (["small/two"], "small has no table or figure named 'two': choose one of errors, walks"),
    (["small", "--out", "x.svg"], "this draws 2: name one (small/errors, small/walks)"),
    (["small/errors", "--out", "x.pdf"], "x.pdf has the unsupported format .pdf"),
    (["small/errors", "--data", "town"], "small/errors is computed without a graph: leave --data out"),
    (["small/walks", "--data", "cora"], "cora is not here: `graphveil data get cora`, or put cora.npz"),
    (["small/walks", "--data", "town", "--data", "cora"], "walks is of one graph: name one with --data"),
    (["small/walks", "--runs", "0"], "--runs must be an integer of at least 1"),
]


def test_a_mistake_about_figures_exits_with_2_and_one_line(capsys, figures):
    assert (
        not_refused(
            [(["paper", *words], said) for words, said in NO_FIGURES], capsys, changed=lambda: figures
        )
        == []
    )
