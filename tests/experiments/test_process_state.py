"""What the library leaves of settings that a whole process shares: everything as it was."""

import subprocess
import sys

import pytest
import torch

import graphveil as gv
from graphveil.experiments.attribute_study import rank_attributes
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.unit import validate_unit

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


def test_a_method_learns_on_one_thread(two_threads):
    seen = set()
    gv.run("base", "town", epsilon=1.0, runs=1, inside=lambda *_: seen.add(torch.get_num_threads()), **SMALL)
    assert seen == {1}


def test_an_embedding_is_learned_on_one_thread(two_threads):
    seen = set()
    gv.embed("base", "town", epsilon=1.0, inside=lambda *_: seen.add(torch.get_num_threads()), **SMALL)
    assert seen == {1}


def test_attributes_are_scored_on_one_thread(two_threads):
    seen = set()
    rank_attributes(TOGL, watch=lambda _: seen.add(torch.get_num_threads()))
    assert seen == {1}


def test_random_numbers_of_torch_go_on_where_they_were():
    state = torch.get_rng_state()
    CALLS["run"]()
    assert torch.equal(torch.get_rng_state(), state)


def test_running_and_drawing_leave_matplotlib_as_it_was_and_pyplot_unloaded():
    done = subprocess.run([sys.executable, "-c", UNTOUCHED], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True False"


def test_what_takes_long_to_load_is_loaded_before_seconds_are_counted():
    code = """
import sys
import graphveil as gv
seen = []
gv.run("base", "town", epsilon=1.0, runs=1, data_options={"users": 400}, settings={"epochs": 1},
       inside=lambda *_: seen.append({"torch", "graphveil.learn.backbones"} <= set(sys.modules)))
print(seen[0])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
