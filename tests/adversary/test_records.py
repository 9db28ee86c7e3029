"""What is told of a run afterwards must not be less than what was read and charged."""

from dataclasses import replace

import numpy as np
import pytest

import graphveil as gv
from graphveil.errors import PrivacyError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.result import Result
from graphveil.experiments.unit import RunUnit, open_unit
from graphveil.methods import METHODS, Capabilities, feature_plan, questions_of
from graphveil.privacy.record import Cost, privacy_record

DATA = {"users": 160}


def test_raw_features_are_recorded_where_they_are_handed_over(monkeypatch):
    ready = open_unit(RunUnit(Experiment.of("nonprivate", "town", runs=1, data_options=DATA)))
    monkeypatch.setattr(type(ready.method), "can", Capabilities())
    told = ready.privacy()
    assert told.raw == ["features"] and told.trust == "none"


def test_a_method_cannot_ask_for_more_than_it_was_given(monkeypatch):
    base = METHODS.find("base")

    def greedy(self, job):
        return questions_of(job, feature_plan(job, 50.0))

    spec = Experiment.of("base", "town", epsilon=1.0, runs=1, data_options=DATA)
    open_unit(RunUnit(spec))
    monkeypatch.setattr(type(base), "questions", greedy)
    with pytest.raises(PrivacyError, match="base asks for epsilon 50 about features, more than the 1"):
        open_unit(RunUnit(spec))


def personal(gamma):
    return gv.Plan(mechanism="ppm", epsilon=0.5, dims=64, range=(0, 1), levels=2, options={"gamma": gamma})


def test_what_a_level_leaks_and_that_it_was_asked_for_is_told():
    _, users = gv.load("town", seed=0, users=160)
    users = users.with_levels(1 + np.arange(160) % 2)
    found = []
    for gamma in (0.01, 0.9):
        ledger = users.open_ledger(by_level=(0.5, 1.0))
        users.answering(ledger, seed=0).report(personal(gamma))
        found.append(privacy_record(ledger).level.epsilon)
        assert found[-1] == pytest.approx(personal(gamma).build().level_loss.epsilon)
    assert found[0] != found[1]
    ledger = users.open_ledger(1.0)
    users.answering(ledger, seed=0).report(gv.Plan(mechanism="esw", epsilon=1.0, levels=2))
    assert "levels at ε = 1" in privacy_record(ledger).sentence


def test_of_several_runs_the_dearest_is_told():
    found = gv.run(
        "base", "town", epsilon=1.0, runs=2, control=False, settings={"epochs": 1, "data.users": 160}
    )
    units = list(found.units)
    cheap = units[0].privacy.model_copy(update={"total": Cost(epsilon=0.01)})
    told = Result.from_units(found.experiment, [replace(units[0], privacy=cheap), units[1]])
    assert told.to_dict()["privacy"]["total"]["epsilon"] == 1.0
