"""Result: what the units of an experiment say together, with one run, with several, and where some are missing."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import graphveil as gv
from graphveil.errors import InputError
from graphveil.experiments import Experiment, Result
from graphveil.experiments import result as module
from graphveil.experiments.unit import UnitResult
from graphveil.privacy.record import Cost, Privacy

SECONDS = {"report": 1.0, "denoise": 2.0, "train": 3.0, "total": 6.0}
# The 97.5% quantiles of Student's t with one and with two degrees of freedom, from a table.
T_1, T_2 = 12.7062047, 4.30265273


def unit(part, run, score, *, detail="", epsilon=1.0, peak=10.0, seconds=SECONDS, **also):
    spent = Cost(epsilon=epsilon)
    privacy = Privacy(features=spent, total=spent)
    return UnitResult(part, run, score, detail, privacy, seconds, peak, also)


def result(*units, interrupted=False, **options):
    given = {"method": "base", "data": "town", "epsilon": 1.0, **options}
    return Result.from_units(
        Experiment.of(**given), units, version="0.1.0", seconds=60.0, interrupted=interrupted
    )


def runs(part, *scores):
    return [unit(part, run, score) for run, score in enumerate(scores)]


def test_units_and_scores_of_a_part_come_in_the_order_of_runs():
    found = result(unit("method", 2, 0.75), unit("control", 0, 0.2), unit("method", 0, 0.5))
    assert [(each.part, each.run) for each in found.of("method")] == [("method", 0), ("method", 2)]
    assert found.of("structure") == []
    assert (found.scores(), found.scores("control"), found.mean) == ([0.5, 0.75], [0.2], 0.625)


# Gains


@pytest.mark.parametrize(("part", "name"), [("control", "gain"), ("structure", "gain_over_structure")])
def test_a_gain_is_the_mean_of_differences_run_by_run(part, name):
    found = getattr(result(*runs("method", 0.5, 0.75), *runs(part, 0.25, 0.375)), name)
    # The differences are 0.25 and 0.375.
    assert found.mean == 0.3125
    assert (found.high - found.low) / 2 == pytest.approx(T_1 * 0.0625)
    # Runs without their counterpart are left out.
    units = [*runs("method", 0.5, 0.75, 1.0), unit(part, 1, 0.25), unit(part, 7, 0.9)]
    found = getattr(result(*units), name)
    assert (found.mean, found.low, found.high) == (0.5, None, None)
    assert getattr(result(*runs("method", 0.5), unit(part, 1, 0.2)), name) is None


def test_pairs_are_runs_of_the_same_number_in_whatever_order_they_ended():
    units = [*runs("method", 0.5, 0.75, 0.625), *reversed(runs("control", 0.25, 0.5, 0.375))]
    found = result(*units).gain
    assert (found.mean, found.low, found.high) == (0.25, 0.25, 0.25)


def test_the_verdict_rests_on_the_gains_that_there_are():
    method, control, structure = (
        runs(*each) for each in (("method", 0.75, 0.75), ("control", 0.5, 0.5), ("structure", 0.625, 0.625))
    )
    alone = "features at ε = 1 add 25.0 ± 0.0 points over the control"
    assert result(*method, *control, *structure).verdict == f"{alone}; 12.5 ± 0.0 above asking nobody"
    assert result(*method, *control).verdict == alone
    assert result(method[0], control[0]).verdict.endswith("no verdict from one run")
    assert result(*method, *structure).verdict is None
    assert result(*method, *control, method="structure", epsilon=None).verdict is None


# As a dictionary


def test_several_runs_have_a_mean_and_a_t_interval():
    found = result(*runs("method", 0.25, 0.5, 0.75)).to_dict()
    assert (found["runs"], found["mean"]) == ([0.25, 0.5, 0.75], 0.5)
    reach = T_2 * 0.25 / math.sqrt(3)
    assert (found["low"], found["high"]) == (pytest.approx(0.5 - reach), pytest.approx(0.5 + reach))


def test_one_run_has_a_mean_and_no_interval():
    found = result(*runs("method", 0.5), *runs("control", 0.25)).to_dict()
    assert (found["runs"], found["mean"], found["low"], found["high"]) == ([0.5], 0.5, None, None)
    assert found["control"] == {"runs": [0.25], "mean": 0.25, "low": None, "high": None}
    assert found["gain"] == {"mean": 0.25, "low": None, "high": None}


def test_what_did_not_run_is_null():
    found = result(*runs("method", 0.5, 0.5)).to_dict()
    missing = ("control", "structure", "gain", "gain_over_structure", "verdict")
    assert [found[key] for key in missing] == [None] * 5


def test_an_interrupted_experiment_says_what_is_there():
    units = [*runs("method", 0.5, 0.75, 1.0), *runs("control", 0.25, 0.5)]
    whole = result(*units, interrupted=True, runs=10)
    found = whole.to_dict()
    assert (found["runs"], found["control"]["runs"]) == ([0.5, 0.75, 1.0], [0.25, 0.5])
    assert found["gain"]["mean"] == 0.25 and found["structure"] is None
    assert json.loads(whole.to_json()) == found


def test_what_was_asked_for_is_told():
    found = result(*runs("method", 0.5), mechanism="piecewise", backbone="sage", seed=7).to_dict()
    asked = {"method": "base", "data": "town", "task": "node", "metric": "accuracy", "epsilon": 1.0}
    asked |= {"mechanism": "piecewise", "backbone": "sage", "seed": 7, "version": "0.1.0"}
    assert {key: found[key] for key in asked} == asked
    # Structure has neither mechanism nor backbone.
    found = result(*runs("method", 0.5), method="structure", epsilon=None).to_dict()
    assert (found["mechanism"], found["backbone"]) == (None, None)


def test_structure_is_named_by_what_was_chosen_most_often():
    names = ["degrees", "label propagation", "label propagation"]
    units = [unit("structure", run, 0.5, detail=name) for run, name in enumerate(names)]
    found = result(*runs("method", 0.5), *units).to_dict()["structure"]
    assert found == {"name": "label propagation", "mean": 0.5, "low": 0.5, "high": 0.5}


def test_of_several_runs_the_dearest_privacy_is_told():
    units = [unit("method", run, 0.5, epsilon=epsilon) for run, epsilon in enumerate([1.0, 3.0, 2.0])]
    dearer = unit("control", 0, 0.5, epsilon=9.0)
    assert result(*units, dearer).to_dict()["privacy"]["features"]["epsilon"] == 3.0


def test_seconds_and_the_peak_are_those_of_one_run_of_the_method_and_of_everything():
    slower = {"report": 3.0, "denoise": 4.0, "train": 9.0, "total": 16.0}
    units = [unit("method", 0, 0.5), unit("method", 1, 0.5, seconds=slower)]
    control = unit("control", 0, 0.5, seconds=dict.fromkeys(SECONDS, 100.0))
    found = result(*units, control).to_dict()["seconds"]
    assert found == {"report": 2.0, "denoise": 3.0, "train": 6.0, "total": 60.0}
    # The peak is that of any part.
    units = [unit("method", 0, 0.5, peak=20.0), unit("control", 0, 0.5, peak=30.0)]
    assert result(*units).to_dict()["peak_mb"] == 30.0


def test_what_was_measured_besides_is_told_for_method_and_control():
    units = [unit("method", run, 0.5, norm_error=error) for run, error in enumerate([0.25, 0.75])]
    found = result(*units, unit("control", 0, 0.5, norm_error=1.0)).to_dict()
    low, high = (pytest.approx(0.5 + sign * T_1 * 0.25) for sign in (-1, 1))
    assert found["also"]["norm_error"] == {"mean": 0.5, "low": low, "high": high, "runs": [0.25, 0.75]}
    assert found["control"]["also"]["norm_error"]["runs"] == [1.0]
    # Where nothing else was measured nothing is told of it.
    found = result(*runs("method", 0.5), *runs("control", 0.5)).to_dict()
    assert "also" not in found and "also" not in found["control"]


# In Python


def test_a_result_shows_itself_in_two_lines():
    found = result(*runs("method", 0.5, 0.75), *runs("control", 0.25, 0.25))
    first, second = repr(found).splitlines()
    assert first == (
        "Result(base on town, ε = 1: accuracy 62.5 (-96.3 to 221.3, 2 runs), control 25.0, gain +37.5 ± 158.8)"
    )
    assert second == found.verdict


def test_one_run_without_a_control_is_one_line():
    assert repr(result(unit("method", 0, 0.5))) == "Result(base on town, ε = 1: accuracy 50.0 (1 run))"
    assert "1 run, interrupted)" in repr(result(unit("method", 0, 0.5), interrupted=True))


def test_the_table_is_plain_text():
    lines = result(unit("method", 0, 0.5), unit("control", 0, 0.25)).table().splitlines()
    assert lines[:4] == [
        "accuracy on town          mean    95% interval",
        "base, multibit, ε = 1     50.0         one run",
        "control, ε = 0            25.0         one run",
        "gain over the control    +25.0         one run",
    ]


SMALL = {"users": 200, "features": 16, "telling": 4, "labelled": 0.2, "validated": 0.2}


@pytest.fixture(scope="module")
def learned():
    graph, users = gv.load("town", **SMALL)
    options = {"runs": 2, "settings": {"epochs": 3}, "control": False}
    return gv.run("base", graph, users, epsilon=4.0, **options)


def test_predictions_and_scores_of_classes_are_those_that_a_run_was_scored_by(learned):
    for run in (0, 1):
        assert learned.predictions(run).score == learned.scores()[run]
    matrix, each = learned.confusion(1), learned.per_class(1)
    assert matrix.sum() == learned.predictions(1).tested
    assert np.trace(matrix) / matrix.sum() == learned.scores()[1]
    counts = zip(matrix.sum(axis=1), matrix.sum(axis=0), np.diag(matrix), strict=True)
    assert [(one.have, one.predicted, one.right) for one in each] == list(counts)


def test_a_run_is_learned_again_once(learned, monkeypatch):
    learned.predictions(0)
    monkeypatch.setattr(module, "learn_unit", lambda *_: pytest.fail("learned twice"))
    learned.confusion(0)


def test_a_run_that_comes_to_another_score_or_is_not_there_is_refused(learned):
    units = [replace(unit, score=0.123) for unit in learned.units]
    other = Result.from_units(learned.experiment, units, given=gv.load("town", **SMALL))
    for asked in (other.predictions, other.model):
        with pytest.raises(InputError, match="run 0 comes to another score than it had"):
            asked()
    for asked in (learned.predictions, learned.model):
        with pytest.raises(InputError, match="run must be one of 0, 1, got 2"):
            asked(2)
    assert learned.model(1).seed == 1


def test_a_result_is_drawn(tmp_path):
    found = result(*runs("method", 0.5, 0.75), *runs("control", 0.25, 0.25))
    for name, start in (("town.svg", b"<svg"), ("town.png", b"\x89PNG")):
        found.plot(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    with pytest.raises(InputError, match="no figure of a result is named 'pie'"):
        found.plot(tmp_path / "town.svg", kind="pie")
