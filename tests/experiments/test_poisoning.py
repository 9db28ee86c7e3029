"""Malicious users: measured runs beside exact bounds."""

import pytest

from graphveil.experiments.advice import Harm, advise_poisoning
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.unit import RunUnit, run_unit
from tests.refusals import check_refused

TOWN = {"epochs": 2, "data.users": 200, "data.neighbourhood": 10, "data.degree": 8.0}


@pytest.fixture(scope="module")
def advice():
    return advise_poisoning(Experiment.of("base", "town", epsilon=2.0, settings=TOWN), (0.1, 0.3), target=1)


def test_all_shares_are_measured_beside_none(advice):
    assert [(line.share, line.malicious) for line in advice.lines] == [(0.0, 0), (0.1, 20), (0.3, 60)]
    assert advice.forged and advice.target == 1
    told = advice.to_dict()
    assert told["lines"][1]["moved"] == [advice.influences[0].moved(0.1)]


def test_careless_and_well_placed_liars_stand_beside_those_drawn_at_random(advice):
    none, some, many = advice.lines
    assert none.careless == none.placed == Harm(none.score, none.drawn_in)
    for line in (some, many):
        assert len({line.careless, line.placed, Harm(line.score, line.drawn_in)}) == 3
    # Who pushes a class draws in more than who says nothing.
    assert many.drawn_in > many.careless.drawn_in and many.placed.drawn_in > many.careless.drawn_in
    told = advice.to_dict()["lines"][1]
    assert told["placed"] == {"score": some.placed.score, "drawn_in": some.placed.drawn_in}


def test_without_liars_the_numbers_are_those_of_a_run(advice):
    unit = run_unit(RunUnit(Experiment.of("base", "town", epsilon=2.0, settings=TOWN)))
    assert advice.lines[0].score == unit.score


NOT_MEASURED = [
    ("structure", {}, (0.1,), None, "nobody can lie"),
    ("base", {"epsilon": 1.0}, (0.0,), None, "at least one share"),
    ("base", {"epsilon": 1.0}, (1.0,), None, "share"),
    ("base", {"epsilon": 1.0, "task": "link"}, (0.1,), None, "take the task node"),
    ("base", {"epsilon": 1.0, "settings": TOWN}, (0.1,), 9, "target"),
]


def test_what_cannot_be_measured_is_refused():
    def advise(method, options, shares, target):
        return advise_poisoning(Experiment.of(method, "town", **options), shares, target)

    check_refused(advise, NOT_MEASURED)
