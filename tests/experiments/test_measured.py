"""Sweeps whose value is another measure than the score."""

import pytest

from graphveil.errors import InputError
from graphveil.experiments.measures import Reading
from graphveil.experiments.result import Result
from graphveil.experiments.runner import RunOptions, run_study
from graphveil.experiments.study_result import StudyResult
from graphveil.statistics import Summary
from tests.experiments.known import sweep_of, unit_of
from tests.experiments.test_sweep import AXES, SMALL
from tests.refusals import check_refused

OWN = """
from graphveil.errors import InputError
from graphveil.experiments.measures import Measure, Reading
from graphveil.number_format import SECONDS, NUMBER
from graphveil.statistics import Summary

DOUBLE = Measure("double", NUMBER, apart=lambda spec: Reading({"method": Summary(2 * spec.budgets.epsilon, None, None)}, "twice"))
BROKEN = Measure("broken", NUMBER, read=lambda result: result.nothing)
EMPTY = Measure("empty", NUMBER, read=lambda result: None)

def refuse(spec):
    raise InputError("no graph")

REFUSED = Measure("refused", NUMBER, apart=refuse)
"""


@pytest.fixture
def written(tmp_path, monkeypatch, sweep, forget_measures):
    """A sweep with some lines at its top, and a file of measures beside it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    return lambda *lines: sweep("\n".join(lines) + SMALL + AXES, "small")


def computed(sweep, parts=("method", "control", "structure")):
    """Results of all cells, as if they had run: a unit takes as many seconds as its ε, and its score follows from it."""
    found = []
    for cell in sweep.cells:
        epsilon = cell.experiment.budgets.epsilon
        seconds = {"report": epsilon / 2, "denoise": 0.0, "train": epsilon / 2, "total": 99.0}
        units = [
            unit_of(part, run, epsilon / 10 + run / 100, seconds=seconds, peak_mb=100.0 + run)
            for part in parts
            for run in range(2)
        ]
        found.append(Result.from_units(cell.experiment, tuple(units)))
    return StudyResult.of(sweep, found)


def rows(result):
    return [list(row) for row in result.tables[0].texts]


def head(result):
    return list(result.tables[0].head)


def test_the_value_is_the_score_unless_a_measure_is_named(written):
    result = computed(written())
    assert (result.study.measure.name, result.metric) == ("score", "accuracy")
    assert head(result) == ["ε", "rate = 0.01", "control", "rate = 0.1", "control", "structure"]
    assert result.finished[0, 0].parts["control"].mean == pytest.approx(0.105)


def test_seconds_have_their_unit_everywhere_and_neither_control_nor_structure(written, tmp_path):
    result = computed(written('measure = "seconds"'))
    assert head(result) == ["ε", "rate = 0.01", "rate = 0.1"]
    assert rows(result) == [["1", *["1.0 [1.0, 1.0] s"] * 2], ["4", *["4.0 [4.0, 4.0] s"] * 2]]
    told = result.to_dict()
    assert (told["measure"], told["unit"]) == ("seconds", "seconds")
    assert told["cells"][0]["measured"] == {"method": {"mean": 1.0, "low": 1.0, "high": 1.0}}
    result.chart.write(tmp_path / "small.svg")
    drawn = (tmp_path / "small.svg").read_text()
    assert "time of one run (s)" in drawn
    assert "its control" not in drawn and "accuracy" not in drawn
    # One of two parts has a control and no structure.
    result = computed(written('measure = "spread"'), ("method", "control"))
    assert head(result) == ["ε", "rate = 0.01", "control", "rate = 0.1", "control"]


def test_memory_is_drawn_in_megabytes_and_scores_in_percent(written, tmp_path):
    for measure, label in (("peak_mb", "largest memory of one run (MB)"), ("score", "accuracy (%)")):
        computed(written(f'measure = "{measure}"')).chart.write(tmp_path / "small.svg")
        assert label in (tmp_path / "small.svg").read_text()


def test_a_measure_that_does_its_own_fills_the_same_table(written):
    sweep = written('measure = "own.py:DOUBLE"')
    result = StudyResult.of(sweep, [sweep.measure.of(cell.experiment) for cell in sweep.cells])
    assert rows(result) == [["1", "2", "2"], ["4", "8", "8"]]
    assert result.sections[0].notes == ("twice",)
    assert result.metric == "own.py:DOUBLE"
    # What is not finished is missing.
    done = [Reading({"method": Summary(1.0, None, None)}), None, None, None]
    assert rows(StudyResult.of(sweep, done))[1] == ["4", "-", "-"]
    # Notes that differ stand behind their cells.
    readings = [Reading({}, "one" if cell.place[0] else "two") for cell in sweep.cells]
    assert StudyResult.of(sweep, readings).sections[0].notes == (
        "ε = 1, rate = 0.01; ε = 1, rate = 0.1: two",
        "ε = 4, rate = 0.01; ε = 4, rate = 0.1: one",
    )


def test_what_could_not_be_measured_is_raised_unless_it_is_to_be_noted(written):
    sweep = written('measure = "own.py:REFUSED"')
    with pytest.raises(InputError, match="no graph"):
        run_study(sweep)
    assert run_study(sweep, RunOptions(tolerant=True)).failed[0] == "ε = 1, rate = 0.01: no graph"


NO_MEASURES = [
    (['measure = "speed"'], "small.toml: measure: no measure is named 'speed': choose one of score"),
    (["measure = 5"], "small.toml: measure must be a text, got 5"),
    (['measure = "own.py:NONE"'], "small.toml: measure: own.py has no 'NONE': it has"),
    (['measure = "other.py:X"'], "small.toml: measure: there is no file 'other.py'"),
    (['measure = "attack:x"'], "small.toml: measure: attack: takes the number of an attribute"),
    (['measure = "seconds"', 'spread = "sd"'], "small.toml: spread is drawn around scores"),
    (['measure = "attack"', 'also = ["class_bias"]'], "small.toml: attack learns nothing"),
]


def test_a_measure_that_cannot_be_is_refused_with_file_and_field(written):
    check_refused(lambda lines: written(*lines), NO_MEASURES)
    spread = written('measure = "spread"')
    said = "small.toml, ε = 1, rate = 0.01: spread needs 2 runs or more, got 1"
    check_refused(lambda runs: spread.with_fields({"runs": runs}).prepare(), [(1, said)])


def test_a_measure_can_be_put_in_the_place_of_a_sweep_s_own():
    sweep = sweep_of("ldpge-epsilon")
    assert sweep.spread == sweep.with_measure("score").spread == "sd"
    assert sweep.with_measure("seconds").spread == ""
    with pytest.raises(InputError, match="silence: attack learns nothing"):
        sweep_of("silence").with_measure("attack")
    packaged = sweep_of("inference")
    assert packaged.measure.read is None and packaged.measure.unit.name == "percent"
    assert packaged.lines == ["mechanism = multibit", "mechanism = piecewise", "mechanism = hds"]


def test_a_measure_of_one_s_own_that_fails_is_told(written):
    cases = [
        ("BROKEN", "own.py:BROKEN fails: AttributeError: 'Result' object has no attribute 'nothing'"),
        ("EMPTY", "own.py:EMPTY must return a Reading of experiments.measures, got None"),
    ]
    check_refused(lambda name: computed(written(f'measure = "own.py:{name}"')), cases)
