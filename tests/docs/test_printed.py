"""Files of printed tables hold the experiments of the papers, and their tables show both numbers."""

import pytest

from docs import printed as page
from docs import rerun
from docs.printed import FULL, PRINTED, PrintedTable, lines, table
from docs.results_file import experiment, read, write
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.measures import Reading
from graphveil.experiments.unit import parts_of
from graphveil.number_format import MEGABYTES, PERCENT
from graphveil.statistics import Summary
from tests.docs.conftest import line
from tests.experiments.known import paper_of


@pytest.fixture(autouse=True, scope="module")
def papers_read_once():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "find_paper", paper_of)
        yield


SOME = {
    "upgnet/table2": (24, {"cora", "citeseer"}),
    "togl/table3": (2, {"cora"}),
    "togl/table5": (4, {"cora"}),
    "togl/table7": (4, {"co-phy"}),
    "heterorr/fig13": (6, {"cora"}),
    "heterorr/fig14": (3, {"town-labels"}),
}


def test_the_graphs_and_columns_that_are_named_are_run_in_full():
    cells = {printed: table(printed).cells for printed in SOME}
    assert {
        name: (len(found), {each.experiment.data for each in found}) for name, found in cells.items()
    } == SOME
    known = {name: {each.labels[1] for each in paper_of(name).tables[0].cells} for name in SOME}
    assert [name for name in SOME if {each.labels[1] for each in cells[name]} - known[name]] == []
    tables = {f"togl/{each.name}" for each in paper_of("togl").tables}
    # Seconds and memory are to be measured on a machine that does nothing else.
    assert tables - {"togl/table1", "togl/table8"} <= set(FULL)


def test_the_lines_of_a_file_are_the_experiments_of_the_paper():
    failed = []
    for name in FULL:
        for row, cell in zip(lines(name), table(name).cells, strict=True):
            printed = "" if cell.printed is None else f"{cell.printed:g}"
            if Experiment.of(**experiment(row)) != cell.experiment or row["printed"] != printed:
                failed.append((name, cell.labels))
    assert not failed, "\n".join(map(str, failed))


SHARED = ("line", "column", "method", "data", "epsilon", "more", "runs", "printed", "printed_spread")


def wrong_lines(name):
    """Lines of a file that are not those of the paper, or have no score, no interval or no score of a part."""
    rows, expected = read(name), lines(PRINTED[name].printed)
    if len(rows) != len(expected):
        yield f"{len(rows)} lines for {len(expected)} cells"
    for place, (row, other) in enumerate(zip(rows, expected, strict=False), 2):
        yield from (f"{key} of line {place}" for key in SHARED if row[key] != other[key])
        needed = ["mean"]
        if not row.get("measure"):
            parts = parts_of(Experiment.of(**experiment(row)))
            needed += ["low", *(part for part in parts if part != "method")]
        yield from (f"no {key} in line {place}" for key in needed if not row[key])


def test_a_file_has_a_line_for_each_printed_number_and_all_runs_of_the_document():
    failed = {name: found for name in PRINTED if (found := list(wrong_lines(name)))}
    assert not failed, "\n".join(map(str, failed.items()))


def test_a_table_shows_theirs_and_ours_in_their_form(folder):
    numbers = {"mean": "80.04", "low": "79.5", "high": "80.6", "control": "80.1", "structure": "85.7"}
    gained = {"gain": "-0.06", "gain_low": "-0.5", "gain_high": "0.4"}
    spreads = {"printed": "64.5", "printed_spread": "1.2", "spread": "0.44", "spread_form": "sd"}
    row = line(line="cora, MBM", column="ε = 1", **numbers, **gained, **spreads)
    write("upgnet-table2", [row, {**row, "column": "ε = 2", "printed": "", "printed_spread": ""}])
    assert PrintedTable("upgnet/table2").table().splitlines() == [
        "|  |  | printed | ours likewise | ours | control | gain | structure |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| cora, MBM | ε = 1 | 64.5 ± 1.2 | 80.0 ± 0.4 | 80.0 [79.5, 80.6] | 80.1 | -0.1 ± 0.5 | 85.7 |",
        "|  | ε = 2 | - | 80.0 ± 0.4 | 80.0 [79.5, 80.6] | 80.1 | -0.1 ± 0.5 | 85.7 |",
    ]


def test_what_is_no_score_stands_in_its_unit_without_parts_that_it_has_not(folder):
    row = line(line="TOGL", spread_form="", printed_spread="")
    first = {"column": "seconds", "measure": "seconds", "printed": "24", "mean": "61.25", "note": "alone"}
    second = {"column": "memory", "measure": "peak_mb", "mean": "812.4"}
    write("togl-table8", [row | first, row | second])
    assert PrintedTable("togl/table8").table().splitlines() == [
        "|  |  | printed | ours |  |",
        "| --- | --- | ---: | ---: | --- |",
        "| TOGL | seconds | 24.0 s | 61.2 s | alone |",
        "|  | memory | - | 812 MB |  |",
    ]


def test_a_reading_is_kept_in_its_unit_with_its_parts_and_its_note():
    attacked = Reading({"method": Summary(0.987, 0.98, 0.99), "control": Summary(0.98, None, None)}, "a note")
    expected = {"note": "a note", "mean": "98.7", "low": "98", "high": "99", "control": "98"}
    assert rerun.read_off(attacked, PERCENT) == {**expected, "control_low": "", "control_high": ""}
    held = Reading({"method": Summary(34493.0, None, None)})
    assert rerun.read_off(held, MEGABYTES) == {"note": "", "mean": "34493", "low": "", "high": ""}


def test_a_line_of_another_measure_is_measured_again(folder):
    row = line(method="structure", data="town", runs="1", seed="0", measure="users")
    write("togl-table7", [{**row, "more": '{"data_options": {"users": 200}}'}])
    rerun.rerun("togl-table7", 1)
    (found,) = read("togl-table7")
    assert (found["mean"], found["version"]) == ("200", rerun.__version__)
