"""Lines of veil's tables come from results of the experiments that they name."""

import json
from collections import Counter
from xml.etree import ElementTree

import pytest

from docs import veil_lines
from docs.results_file import experiment, read
from docs.tables import HERE
from docs.veil_figure import veil_figure
from docs.veil_lines import (
    FEW,
    LINES,
    PANEL,
    PRIVATE,
    REAL,
    SHORT,
    TABLES,
    computed,
    declared,
    short_table,
    take,
)
from graphveil.errors import GraphveilError
from graphveil.experiments.experiment import Experiment

EVERY = [line for table in TABLES for line in LINES[table]]


def told(**more):
    """What `graphveil run --json` prints of citeseer with 300 volunteers, as far as it is read."""
    summary = {"mean": 0.7, "low": 0.69, "high": 0.71}
    gain = {"mean": 0.02, "low": 0.01, "high": 0.03}
    return {
        "method": "veil",
        "data": "citeseer",
        "epsilon": 4.0,
        "seed": 0,
        "version": "9",
        "runs": [0.7] * 5,
        **summary,
        "control": summary,
        "structure": summary,
        "unasked": summary,
        "gain": gain,
        "gain_over_structure": gain,
        "gain_over_unasked": gain,
        "privacy": {"panel": {"users": 300, "raw": True}},
        **more,
    }


@pytest.fixture
def measured(folder):
    place = folder / "measured"
    place.mkdir()
    (place / "citeseer-panel-4.json").write_text(json.dumps(told()))
    return place


def refusal(line):
    """Why the experiment of a line cannot be run; nothing if it can."""
    try:
        Experiment.of(**experiment(line.row())).check()
    except GraphveilError as error:
        return str(error)
    return ""


def test_every_line_is_an_experiment_that_can_be_run_and_none_is_twice_in_a_table():
    failed = [f"{line.name}: {words}" for line in EVERY if (words := refusal(line))]
    assert not failed, "\n".join(failed)
    rows = Counter(
        (table, json.dumps(line.row(), sort_keys=True)) for table in TABLES for line in LINES[table]
    )
    twice = [row for row, count in rows.items() if count > 1]
    assert not twice, "\n".join(map(str, twice))
    assert set(SHORT) <= {line.name for line in EVERY}


def test_a_line_with_few_labels_and_volunteers_says_so():
    (line,) = (line for line in EVERY if line.name == "cocs-panel-4")
    given = experiment(line.row())
    assert (given["data_options"], given["panel"], given["epsilon"]) == ({"split": FEW}, 100, 4.0)


def test_numbers_come_from_the_result_of_a_line(measured):
    take(measured, "abc")
    (row,) = read(PANEL)
    assert (row["data"], row["mean"], row["gain_low"], row["over_structure"], row["over_unasked_high"]) == (
        *("citeseer", "70.00", "1.00"),
        *("2.00", "3.00"),
    )
    assert (row["version"], row["source"]) == ("9", "abc")
    assert read(PRIVATE) == read(REAL) == []


def test_lines_without_a_result_keep_what_they_had(measured):
    take(measured, "abc")
    (measured / "citeseer-panel-4.json").unlink()
    take(measured, "def")
    assert [row["source"] for row in read(PANEL)] == ["abc"]
    assert len(declared(PANEL)) == len(LINES[PANEL])
    assert len(computed(declared(PANEL))) == 1


@pytest.mark.parametrize(
    "other",
    [{"epsilon": 2.0}, {"seed": 100}, {"runs": [0.7]}, {"data": "cora"}, {"privacy": {"panel": None}}],
    ids=str,
)
def test_the_result_of_another_experiment_is_refused(measured, other):
    (measured / "citeseer-panel-4.json").write_text(json.dumps(told(**other)))
    with pytest.raises(AssertionError, match="citeseer-panel-4"):
        take(measured, "abc")


def test_the_short_table_has_lines_that_are_there(measured, monkeypatch):
    take(measured, "abc")
    monkeypatch.setattr(veil_lines, "SHORT", {"citeseer-panel-4": "volunteers", **SHORT})
    assert short_table().splitlines()[2:] == [
        "| citeseer | half | volunteers | 4 | 70.0 | 70.0 | +2.0 ± 1.0 | +2.0 ± 1.0 | +2.0 ± 1.0 |"
    ]


def test_the_drawing_is_the_one_that_its_code_makes_well_formed_and_for_light_and_dark():
    assert (HERE / "veil.svg").read_text(encoding="utf-8") == veil_figure() + "\n"
    root = ElementTree.fromstring(veil_figure())
    assert root.tag.endswith("svg")
    assert "prefers-color-scheme: dark" in veil_figure()
