"""A unit that somebody else computes has the same numbers, or is refused."""

from dataclasses import replace

import pytest

from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.runner import compute_remote_unit
from graphveil.experiments.unit import RunUnit, run_unit
from graphveil.graphs import load

SPEC = Experiment.of("base", "town", epsilon=2.0, settings={"epochs": 2, "data.users": 200})
CONTROL = RunUnit(SPEC, "control", 1)


def numbers(unit):
    return replace(unit, seconds={}, peak_mb=0.0)


def test_it_is_the_unit_that_this_process_computes():
    there = compute_remote_unit(CONTROL, CONTROL.digest)
    assert numbers(there) == numbers(run_unit(CONTROL))


def test_other_data_are_refused():
    with pytest.raises(InputError, match="town was changed .* or is another one on "):
        compute_remote_unit(RunUnit(SPEC), "0" * 64)


def test_data_that_are_sent_along_are_not_compared():
    given = load("town", seed=0, users=200)
    unit = RunUnit(SPEC, given=given)
    assert unit.digest is None
    there = compute_remote_unit(unit, None)
    assert numbers(there) == numbers(run_unit(unit))
