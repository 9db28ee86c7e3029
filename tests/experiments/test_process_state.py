"""What the library leaves of settings that a whole process shares: everything as it was."""

import pytest
import torch

import graphveil as gv
from graphveil.experiments.attribute_study import rank_attributes
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.unit import validate_unit
from tests.fixtures import printed_by

SMALL = {"data_options": {"users": 400}, "settings": {"epochs": 2}}
TOGL = Experiment.of("togl", "town", epsilon=4.0, runs=1, **SMALL)
CALLS = {
    "run": lambda: gv.run("base", "town", epsilon=1.0, runs=1, **SMALL),
    "embed": lambda: gv.embed("base", "town", epsilon=1.0, **SMALL),
    "validate": lambda: validate_unit(TOGL, 0),
    "rank": lambda: rank_attributes(TOGL),
}
UNTOUCHED = """
import sys
import matplotlib
import graphveil as gv
from graphveil.experiments.figure import Series, epsilon_chart
from graphveil.statistics import Summary
def settings():
    # To ask for the backend is to choose one, which loads pyplot.
    return {key: matplotlib.rcParams[key] for key in matplotlib.rcParams if key != "backend"}
before = settings()
found = gv.run("base", "town", epsilon=1.0, runs=1, data_options={"users": 400}, settings={"epochs": 2})
epsilon_chart([Series("town", (1.0,), (Summary(0.5, None, None),))], "town").svg()
print(settings() == before, "matplotlib.pyplot" in sys.modules)
"""


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("call", CALLS)
def test_there_are_as_many_threads_as_before(call, two_threads):
    CALLS[call]()
    assert torch.get_num_threads() == 2


WATCHED = {
    "run": lambda seen: gv.run("base", "town", epsilon=1.0, runs=1, inside=seen, **SMALL),
    "embed": lambda seen: gv.embed("base", "town", epsilon=1.0, inside=seen, **SMALL),
    "rank": lambda seen: rank_attributes(TOGL, watch=seen),
}


@pytest.mark.parametrize("call", WATCHED)
def test_everything_is_learned_on_one_thread(call, two_threads):
    seen = set()
    WATCHED[call](lambda *_: seen.add(torch.get_num_threads()))
    assert seen == {1}


def test_random_numbers_of_torch_go_on_where_they_were():
    state = torch.get_rng_state()
    CALLS["run"]()
    assert torch.equal(torch.get_rng_state(), state)


def test_running_and_drawing_leave_matplotlib_as_it_was_and_pyplot_unloaded():
    assert printed_by(UNTOUCHED).strip() == "True False"


def test_what_takes_long_to_load_is_loaded_before_seconds_are_counted():
    code = """
import sys
import graphveil as gv
seen = []
gv.run("base", "town", epsilon=1.0, runs=1, data_options={"users": 400}, settings={"epochs": 1},
       inside=lambda *_: seen.append({"torch", "graphveil.learn.backbones"} <= set(sys.modules)))
print(seen[0])
"""
    assert printed_by(code).strip() == "True"
