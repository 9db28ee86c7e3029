"""What a spec names is looked up once, and nothing that was looked up travels to another process."""

import pickle

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
    spec.full_settings()
    assert spec.found_method is spec.found_method
    again = pickle.loads(pickle.dumps(spec))
    assert again == spec and "found_method" not in vars(again)
