"""Papers: their files, their printed numbers and their cells."""

import pytest

from graphveil.errors import InputError
from graphveil.experiments.cells import Cells
from graphveil.experiments.paper import QUICK_EPOCHS, find_tables, only, papers, read_paper
from graphveil.experiments.paper_result import answers

SMALL = """
title = "A paper"
source = "Somebody"
[tables.one]
title = "Table I"
[tables.one.base]
method = "base"
data = "town"
runs = 2
[[tables.one.columns]]
label = "ε = 1"
set = { epsilon = 1.0 }
[[tables.one.columns]]
label = "ε = 2"
set = { epsilon = 2.0 }
[[tables.one.rows]]
label = "MB"
set = { mechanism = "multibit", settings.lr = 0.1 }
printed = [50.0, "-"]
slow = ["ε = 2"]
"""


def cell(table, row, column):
    return next(cell for cell in table.cells if (cell.row, cell.column) == (row, column))


def test_every_cell_of_every_paper_can_be_run():
    known = papers()
    assert [(paper.name, [table.name for table in paper.tables]) for paper in known] == [
        ("ldpge", ["table3"]),
        ("ppgnn", ["table3"]),
    ]
    for paper in known:
        for table in paper.tables:
            for one in table.cells:
                for asked in (one, one.quick()):
                    asked.spec.check()
                assert one.spec.runs == 10
                assert one.printed is not None


def test_ppgnn_has_its_printed_numbers():
    _, (table,) = find_tables("ppgnn/table3")
    assert len(table.cells) == 3 * 6 * 6
    for row, column, printed, name in (
        ("ε = 0.01, 1B", "cora", 25.9, "onebit"),
        ("ε = 0.01, LP", "lastfm", 9.0, "laplace"),
        ("ε = 0.1, GM", "facebook", 61.4, "gaussian"),
        ("ε = 0.1, MB", "wikipedia", 72.3, "multibit"),
        ("ε = 1, PPM", "wikipedia", 79.8, "ppm"),
        ("ε = 1, PPM as printed", "wikipedia", 79.8, "ppm-printed"),
    ):
        found = cell(table, row, column)
        assert (found.printed, found.spec.mechanism, found.spec.data) == (printed, name, column)
        assert found.spec.has_levels == name.startswith("ppm")
    assert len(cell(table, "ε = 1, PPM", "cora").spec.level_budgets()) == 6
    slow = {(one.spec.mechanism, one.column) for one in table.cells if one.slow}
    assert slow == {
        (name, data)
        for name in ("onebit", "laplace", "gaussian")
        for data in ("lastfm", "facebook", "wikipedia")
    }


def test_ldpge_has_its_printed_numbers():
    _, (table,) = find_tables("ldpge")
    assert len(table.cells) == 6 * 4 * 4
    for row, column, printed in (
        ("cora, LP", "ε = 1", 75.22),
        ("citeseer, PM", "ε = 5", 74.48),
        ("pubmed, MB", "ε = 2", 77.85),
        ("wikipedia, HDS", "ε = 3", 99.09),
    ):
        assert cell(table, row, column).printed == printed
    assert {one.spec.task for one in table.cells} == {"link"}
    assert cell(table, "cora, HDS", "ε = 1").spec.mechanism == "hds"


def test_what_is_not_here_or_slow_is_skipped_and_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("GRAPHVEIL_DATA", str(tmp_path))
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path))
    (tmp_path / "facebook.npz").touch()
    _, (table,) = find_tables("ppgnn/table3")
    assert "lastfm is not here" in cell(table, "ε = 1, MB", "lastfm").skipped(True)
    assert "slow" in cell(table, "ε = 1, 1B", "facebook").skipped(False)
    assert cell(table, "ε = 1, 1B", "facebook").skipped(True) == ""
    assert cell(table, "ε = 1, MB", "facebook").skipped(False) == ""


def test_a_small_paper(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    (table,) = read_paper(file).tables
    first, second = table.cells
    assert (first.printed, first.slow, second.printed, second.slow) == (50.0, False, None, True)
    assert first.spec.settings == {"lr": 0.1}
    assert first.quick().spec.settings == {"lr": 0.1, "epochs": QUICK_EPOCHS}
    assert first.quick().spec.runs == 1
    found = answers(table.cells, ["", "why"], Cells((InputError("no"),)))
    assert [answer.row() for answer in found] == [
        ["50.0", "-", "-", "-", "not run: no"],
        ["-", "-", "-", "-", "why"],
    ]
    assert answers(table.cells, ["", "why"], Cells((None,), True))[0].note == "not finished"


def test_only_some_graphs():
    _, tables = find_tables("ppgnn")
    (table,) = only(tables, ["cora", "pubmed"])
    assert table.data == ["cora", "pubmed"]
    assert only(tables, []) == tables
    with pytest.raises(InputError, match="no table here has 'town'"):
        only(tables, ["town"])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("source", "origin", "has no 'origin'"),
        ('source = "Somebody"', "", "needs source, a text"),
        ('printed = [50.0, "-"]', "printed = [50.0]", "printed must have 2 numbers, got 1"),
        ('printed = [50.0, "-"]', 'printed = [50.0, "x"]', "printed must be numbers from 0 to 100"),
        ('printed = [50.0, "-"]', "printed = [50.0, 500]", "got 500"),
        ('slow = ["ε = 2"]', 'slow = ["ε = 3"]', "slow names 'ε = 3', which is no column"),
        ('"multibit"', '"nothing"', "no mechanism is named 'nothing'"),
        ("epsilon = 2.0", "budget = 2.0", "has no 'budget'"),
        ("epsilon = 2.0", 'epsilon = "2"', "epsilon: Input should be a valid number"),
        ('label = "MB"', "", "needs label, a text"),
    ],
)
def test_a_bad_file_is_refused_with_a_sentence(old, new, words, tmp_path):
    assert old in SMALL
    file = tmp_path / "bad.toml"
    file.write_text(SMALL.replace(old, new))
    with pytest.raises(InputError) as refused:
        read_paper(file)
    assert words in str(refused.value)


def test_unknown_names_are_refused():
    with pytest.raises(InputError, match="no paper is named 'nobody': choose one of ldpge, ppgnn"):
        find_tables("nobody")
    with pytest.raises(InputError, match="ppgnn has no table named 'table9': choose one of table3"):
        find_tables("ppgnn/table9")
