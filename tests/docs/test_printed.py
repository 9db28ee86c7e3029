"""Files of printed tables hold the experiments of the papers, and their tables show both numbers."""

from __future__ import annotations

import pytest

from docs import results_file
from docs.printed import FULL, GRAPHS, PRINTED, PrintedTable, lines
from docs.results_file import COLUMNS, experiment, read, write
from graphveil.experiments.papers.paper import find_tables, only
from graphveil.experiments.specs.spec import Spec


def cells(printed):
    return [cell for table in only(find_tables(printed)[1], GRAPHS) for cell in table.cells]


@pytest.mark.parametrize("printed", FULL)
def test_the_lines_of_a_file_are_the_experiments_of_the_paper(printed):
    found = lines(printed)
    assert [Spec.of(**experiment(row)) for row in found] == [cell.spec for cell in cells(printed)]
    assert [row["printed"] for row in found] == [
        "" if cell.printed is None else f"{cell.printed:g}" for cell in cells(printed)
    ]


@pytest.mark.parametrize("name", list(PRINTED))
def test_a_file_has_a_line_for_each_printed_number_and_all_runs_of_the_document(name):
    rows, expected = read(name), lines(PRINTED[name].printed)
    shared = ("line", "column", "method", "data", "epsilon", "more", "runs", "printed", "printed_spread")
    assert [[row[key] for key in shared] for row in rows] == [
        [row[key] for key in shared] for row in expected
    ]
    assert all(row["mean"] and row["low"] and row["control"] and row["structure"] for row in rows)


def test_a_table_shows_theirs_and_ours_in_their_form(tmp_path, monkeypatch):
    monkeypatch.setattr(results_file, "FOLDER", tmp_path)
    numbers = {"mean": "80.04", "low": "79.5", "high": "80.6", "control": "80.1", "structure": "85.7"}
    gained = {"gain": "-0.06", "gain_low": "-0.5", "gain_high": "0.4"}
    spreads = {"printed": "64.5", "printed_spread": "1.2", "spread": "0.44", "spread_form": "sd"}
    row = {
        **dict.fromkeys(COLUMNS, ""),
        "line": "cora, MBM",
        "column": "ε = 1",
        **numbers,
        **gained,
        **spreads,
    }
    write("upgnet-table2", [row, {**row, "column": "ε = 2", "printed": "", "printed_spread": ""}])
    assert PrintedTable("upgnet/table2").table().splitlines() == [
        "|  |  | printed | ours likewise | ours | control | gain | structure |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| cora, MBM | ε = 1 | 64.5 ± 1.2 | 80.0 ± 0.4 | 80.0 [79.5, 80.6] | 80.1 | -0.1 ± 0.5 | 85.7 |",
        "|  | ε = 2 | - | 80.0 ± 0.4 | 80.0 [79.5, 80.6] | 80.1 | -0.1 ± 0.5 | 85.7 |",
    ]
