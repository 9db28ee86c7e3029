"""Measures: what comes out of an experiment besides its score."""

from dataclasses import replace

import numpy as np
import pytest

from graphveil.experiments.experiment import Experiment
from graphveil.experiments.measures import MEASURES, Measure, Reading, find_measure
from graphveil.experiments.result import Result
from graphveil.experiments.runner import RunOptions, run_experiment, run_study
from graphveil.experiments.study import Cell, Study
from graphveil.number_format import NUMBER
from graphveil.settings import peak_megabytes
from graphveil.statistics import Summary
from tests.experiments.known import unit_of
from tests.packages import install
from tests.refusals import check_refused

TOWN = {"users": 200, "features": 16, "telling": 4, "labelled": 0.2, "validated": 0.2}
TOWN = {f"data.{name}": value for name, value in TOWN.items()}
SMALL = Experiment.of("base", "town", epsilon=8.0, runs=2, settings={"epochs": 5, **TOWN})
RAW = Experiment.of("nonprivate", "town", runs=1, settings={"epochs": 5, **TOWN})


def unit(part, run, score, seconds=1.0, peak=100.0):
    stages = {"report": seconds / 2, "denoise": 0.0, "train": seconds / 2, "total": 99.0}
    return unit_of(part, run, score, seconds=stages, peak_mb=peak)


RESULT = Result.from_units(
    SMALL,
    (
        unit("method", 0, 0.5, 1.0, 100.0),
        unit("method", 1, 0.7, 3.0, 300.0),
        unit("control", 0, 0.4, 9.0, 900.0),
        unit("control", 1, 0.4),
        unit("structure", 0, 0.3),
    ),
)


def means(name, result=RESULT):
    return {part: found.mean for part, found in find_measure(name).read(result).parts.items()}


def test_the_measures_are_these_and_each_reads_or_measures_apart():
    names = "score spread seconds peak_mb norm_error class_bias degree_bias jaccard degree_correlation"
    names += " attack attack-balanced users links features classes degree"
    assert list(MEASURES) == names.split()
    for name, measure in MEASURES.items():
        assert measure.name == name
        assert (measure.read is None) != (measure.apart is None)
    assert {name for name, measure in MEASURES.items() if measure.alone} == {"seconds", "peak_mb"}


def test_numbers_that_every_run_has():
    assert means("score") == pytest.approx({"method": 0.6, "control": 0.4, "structure": 0.3})
    assert means("seconds") == {"method": 2.0}
    assert means("peak_mb") == {"method": 200.0}
    # One run has no spread.
    assert means("spread") == pytest.approx({"method": np.std([0.5, 0.7], ddof=1), "control": 0.0})
    assert find_measure("seconds").unit.interval(Summary(2.0, 1.0, 3.0)) == "2.0 [1.0, 3.0] s"


def test_what_was_measured_besides():
    assert find_measure("norm_error").read(RESULT) == Reading({}, "")
    also = [
        replace(unit("method", 0, 0.5), also={"norm_error": 0.2, "norm_constant": 0.3}),
        replace(unit("control", 0, 0.5), also={"norm_error": 0.4, "norm_constant": 0.3}),
    ]
    found = find_measure("norm_error").read(Result.from_units(SMALL, also))
    told = {part: NUMBER.interval(one) for part, one in found.parts.items()}
    assert told == {"method": "0.2", "control": "0.4"}
    assert found.note == "one guess for everybody 0.3"


def test_an_attack_on_reports_stands_beside_its_control_and_no_privacy():
    accuracy, balanced = (find_measure(name).apart(SMALL) for name in ("attack", "attack-balanced"))
    assert set(accuracy.parts) == set(balanced.parts) == {"method", "control"}
    assert accuracy.parts["method"].low is not None
    assert accuracy.note.startswith("without privacy ")
    assert "always the commonest value" in accuracy.note
    assert balanced.note.endswith("50 is nothing learned")
    assert abs(balanced.parts["control"].mean - 0.5) < 0.05
    # Without privacy it needs no control.
    found = find_measure("attack:3").apart(RAW)
    assert set(found.parts) == {"method"}
    assert found.note.startswith("always the commonest value")
    # Attributes at random have the mean correlation.
    found = find_measure("degree_correlation").apart(SMALL)
    assert 0 < found.parts["method"].mean < 0.3
    assert found.note == "attributes at random"


def test_unknown_measures_are_refused():
    unknown = [
        ("speed", "no measure is named 'speed': choose one of score, spread"),
        ("sprad", "did you mean 'spread'?"),
        ("score:5", "no measure is named 'score:5'"),
        ("attack:x", "attack: takes the number of an attribute, like attack:5, got 'attack:x'"),
    ]
    check_refused(find_measure, unknown)
    wrong = Experiment.of("base", "town", epsilon=-1.0)
    names = [(name, "epsilon") for name in ("attack", "degree_correlation")]
    check_refused(lambda name: find_measure(name).of(wrong), names)
    said = "the measure 'mine' must have one of read and apart"
    check_refused(
        lambda given: Measure("mine", NUMBER, **given),
        [({}, said), ({"read": Reading, "apart": Reading}, said)],
    )


OUTSIDE = """
from graphveil.experiments.measures import Measure, Reading
from graphveil.number_format import PERCENT
from graphveil.statistics import Summary

def worst(result):
    return Reading({"method": Summary(min(result.scores()), None, None)}, "the worst run")

WORST = Measure("worst", PERCENT, worst)
OTHER = 5
"""


@pytest.fixture
def file(python_file, forget_measures):
    """A file with a measure."""
    return python_file(OUTSIDE)


def test_a_measure_of_a_file_reads_a_result(file):
    measure = find_measure(f"{file}:WORST")
    assert measure.name == f"{file}:WORST"
    assert measure.read(RESULT) == Reading({"method": Summary(0.5, None, None)}, "the worst run")
    said = "mine.py:OTHER must be a Measure of experiments.measures, got a int"
    check_refused(find_measure, [(f"{file}:OTHER", said)])


def test_a_measure_of_an_installed_package_is_found_by_its_name(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, {"graphveil.measures": {"poorest": "WORST"}}, OUTSIDE)
    try:
        assert find_measure("poorest").read(RESULT).note == "the worst run"
    finally:
        MEASURES.forget("poorest")


def test_a_run_alone_has_its_own_memory_and_the_same_score(tmp_path):
    file = tmp_path / "results.sqlite"
    together = run_experiment(RAW, RunOptions(file=file))
    ballast = np.ones(100 << 20, dtype=np.float32)
    # What the store holds did not run alone, so it is run again; from then on it is found, by whoever asks.
    study, options = Study("alone", "", (Cell(RAW, measure=find_measure("seconds")),)), RunOptions(file=file)
    alone = run_study(study, options).outcomes[0].result
    assert [unit.alone for unit in (*together.units, *alone.units)] == [False, True]
    assert run_study(study, options).outcomes[0].result.units == alone.units
    assert run_experiment(RAW, options).units == alone.units
    assert alone.scores() == together.scores()
    assert alone.units[0].peak_mb < peak_megabytes() - 100
    assert ballast[-1] == 1


def test_a_graph_is_counted_without_asking_anybody(tmp_path):
    # Four users in a square with one diagonal, given in any order, one link twice and one to oneself.
    file = tmp_path / "square.npz"
    edges = np.array([[0, 1], [1, 2], [3, 2], [0, 3], [0, 2], [2, 0], [1, 1]], dtype=np.int32)
    np.savez(
        file,
        edges=edges,
        x=np.eye(4, 5, dtype=np.float32),
        y=np.array([0, 1, 2, 1]),
        range=np.array([0.0, 1.0]),
    )
    spec = Experiment.of("structure", str(file))
    names = ("users", "links", "features", "classes", "degree")
    counted = {name: find_measure(name).apart(spec).parts["method"].mean for name in names}
    assert counted == {"users": 4, "links": 5, "features": 5, "classes": 3, "degree": 2.5}
    unit = find_measure("links").unit
    assert (unit.number(114615892), find_measure("degree").unit.number(3.9)) == ("114,615,892", "3.90")
