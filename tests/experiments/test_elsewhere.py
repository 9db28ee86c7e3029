"""A unit that somebody else computes has the same numbers, or is refused."""

from dataclasses import replace

import pytest

from graphveil.errors import InputError
from graphveil.experiments.compute import compute_remote_unit, remote_digest
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.unit import run_unit
from graphveil.graphs import load

SPEC = Experiment.of("base", "town", epsilon=2.0, settings={"epochs": 2, "data.users": 200})


def numbers(unit):
    return replace(unit, seconds={}, peak_mb=0.0)


def test_it_is_the_unit_that_this_process_computes():
    there = compute_remote_unit(SPEC, "control", 1, None, remote_digest(SPEC, "control", None))
    assert numbers(there) == numbers(run_unit(SPEC, "control", 1))


def test_other_data_are_refused():
    with pytest.raises(
        InputError, match="town was changed .* or is another one on the machine that computes"
    ):
        compute_remote_unit(SPEC, "method", 0, None, "0" * 64)


def test_data_that_are_sent_along_are_not_compared():
    given = load("town", seed=0, users=200)
    assert remote_digest(SPEC, "method", given) is None
    there = compute_remote_unit(SPEC, "method", 0, given, None)
    assert numbers(there) == numbers(run_unit(SPEC, "method", 0, None, given))
