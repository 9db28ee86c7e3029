"""Names of an experiment are looked up once, and nothing that was looked up travels to another process."""

import pickle

import pytest
from pydantic import TypeAdapter

from graphveil.errors import InputError
from graphveil.experiments import Experiment
from graphveil.experiments.unit import run_unit
from graphveil.methods import method as methods


def small():
    return Experiment.of("base", "town", epsilon=1.0, settings={"epochs": 1, "data.users": 200})


def test_a_unit_looks_its_method_up_once(monkeypatch):
    asked, find = [], methods._methods.find
    spec = small()
    monkeypatch.setattr(methods._methods, "find", lambda name: asked.append(name) or find(name))
    run_unit(spec, "method", 0)
    assert asked == ["base"]


def test_another_process_gets_the_fields_alone():
    spec = small()
    _ = spec.resolved_settings
    assert spec.resolved_method is spec.resolved_method
    again = pickle.loads(pickle.dumps(spec))
    assert again == spec and "resolved_method" not in vars(again)


def test_reading_an_experiment_back_runs_no_code(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("raise SystemExit('this file was run')\n")
    stored = {"method": f"{file}:Mine", "data": f"{file}:few", "budgets": {"mechanism": f"{file}:Noise"}}
    assert TypeAdapter(Experiment).validate_python(stored).method == f"{file}:Mine"
    assert Experiment(f"{file}:Mine", "town") == TypeAdapter(Experiment).validate_python(
        {"method": f"{file}:Mine", "data": "town"}
    )
    with pytest.raises(InputError, match="this file was run"):
        Experiment.of(f"{file}:Mine", "town")


def test_fields_that_are_not_given_are_the_methods_own_once_resolved():
    stored = Experiment("ppgnn", "town")
    assert (stored.backbone, stored.budgets.mechanism) == ("", "")
    whole = stored.resolved()
    assert whole == Experiment.of("ppgnn", "town") == whole.defaults
    assert whole.budgets.mechanism == whole.resolved_method.mechanism
