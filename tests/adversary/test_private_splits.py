"""Where labels are private, nobody trains because of a label."""

import numpy as np
import pytest

import graphveil as gv
from graphveil import InputError
from graphveil.cli import status
from graphveil.experiments.experiment import Experiment
from graphveil.graphs import FewLabelSplit, GivenSplit, RandomSplit, Split
from graphveil.graphs.splits import SplitRecipe, check_private_labels

TOWN = {"users": 400, "features": 16, "telling": 4}
COMMAND = [
    "run",
    "base",
    "--data",
    "town",
    "--epsilon",
    "1",
    "--runs",
    "1",
    "--no-control",
    "--set",
    "epochs=2",
]
OPTIONS = [part for key, value in TOWN.items() for part in ("--set", f"data.{key}={value}")]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path))


def test_the_command_line_refuses_a_split_by_labels(capsys):
    private = [*COMMAND, *OPTIONS, "--label-epsilon", "1", "--set", "data.split=few"]
    assert status(private) == 2
    assert "take split='random'" in capsys.readouterr().err


def test_the_command_line_takes_a_random_split_of_private_labels():
    assert status([*COMMAND, *OPTIONS, "--set", "data.labelled=0.3", "--label-epsilon", "1"]) == 0


@pytest.mark.parametrize("split", ["few", FewLabelSplit(3, 10)])
def test_a_spec_refuses_a_split_by_labels(split):
    told = {"epsilon": 1.0, "data_options": {"split": split}}
    with pytest.raises(InputError, match="reads labels that are private"):
        Experiment.of("base", "town", label_epsilon=1.0, **told).check()
    Experiment.of("base", "town", **told).check()


@pytest.mark.parametrize("ask", [gv.run, gv.embed])
def test_a_given_graph_that_was_split_by_labels_is_refused(ask):
    graph, users = gv.load("town", split=FewLabelSplit(10, 50), **TOWN)
    with pytest.raises(InputError, match="reads labels that are private"):
        ask("base", graph, users, epsilon=1.0, label_epsilon=1.0)


def test_a_given_graph_that_was_split_by_labels_serves_public_labels():
    graph, users = gv.load("town", split=FewLabelSplit(10, 50), **TOWN)
    result = gv.run("base", graph, users, epsilon=1.0, control=False, settings={"epochs": 2})
    assert len(result.scores()) == 1


class Own(SplitRecipe):
    def draw(self, labels: np.ndarray, seed: int) -> Split:
        return Split(labels == 0, labels == 1, labels == 2)


def test_a_recipe_that_says_nothing_counts_as_reading_labels():
    with pytest.raises(InputError, match="Own reads labels that are private"):
        check_private_labels(Own())


@pytest.mark.parametrize("recipe", [RandomSplit(), GivenSplit([1, 0, 0], [0, 1, 0], [0, 0, 1]), None])
def test_recipes_that_do_not_look_at_labels_are_taken(recipe):
    check_private_labels(recipe)


def test_a_random_split_is_the_same_whatever_the_labels():
    one, other = (np.random.default_rng(kind).integers(0, 3, 60) for kind in (0, 1))
    draws = {seed: [RandomSplit().draw(labels, seed) for labels in (one, other)] for seed in range(20)}
    same = [
        (first.train == second.train).all() and (first.test == second.test).all()
        for first, second in draws.values()
    ]
    assert [seed for seed, alike in zip(draws, same, strict=True) if not alike] == []
