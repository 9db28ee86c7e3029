"""Where labels are private, nobody trains because of a label."""

import numpy as np
import pytest

import graphveil as gv
from graphveil import InputError
from graphveil.cli import status
from graphveil.experiments.experiment import Experiment
from graphveil.graphs import FewLabelSplit, GivenSplit, RandomSplit, Split
from graphveil.graphs.splits import SplitRecipe, check_private_labels

pytestmark = pytest.mark.usefixtures("own_cache")
TOWN = {"users": 400, "features": 16, "telling": 4}
COMMAND = ["run", "base", "--data", "town", "--epsilon", "1", "--runs", "1", "--no-control"]
OPTIONS = ["--set=epochs=2", *(f"--set=data.{key}={value}" for key, value in TOWN.items())]


def test_the_command_line_refuses_a_split_by_labels_and_takes_a_random_one(capsys):
    private = [*COMMAND, *OPTIONS, "--label-epsilon", "1", "--set", "data.split=few"]
    assert status(private) == 2
    assert "take split='random'" in capsys.readouterr().err
    assert status([*COMMAND, *OPTIONS, "--set", "data.labelled=0.3", "--label-epsilon", "1"]) == 0


@pytest.mark.parametrize("split", ["few", FewLabelSplit(3, 10)])
def test_a_spec_refuses_a_split_by_labels(split):
    told = {"epsilon": 1.0, "data_options": {"split": split}}
    with pytest.raises(InputError, match="reads labels that are private"):
        Experiment.of("base", "town", label_epsilon=1.0, **told).check()
    Experiment.of("base", "town", **told).check()


def test_a_given_graph_that_was_split_by_labels_is_refused_unless_labels_are_public():
    graph, users = gv.load("town", split=FewLabelSplit(10, 50), **TOWN)
    for ask in (gv.run, gv.embed):
        with pytest.raises(InputError, match="reads labels that are private"):
            ask("base", graph, users, epsilon=1.0, label_epsilon=1.0)
    result = gv.run("base", graph, users, epsilon=1.0, control=False, settings={"epochs": 2})
    assert len(result.scores()) == 1


class Own(SplitRecipe):
    def draw(self, labels: np.ndarray, seed: int) -> Split:
        return Split(labels == 0, labels == 1, labels == 2)


def test_a_recipe_counts_as_reading_labels_unless_it_says_that_it_does_not():
    with pytest.raises(InputError, match="Own reads labels that are private"):
        check_private_labels(Own())
    for recipe in (RandomSplit(), GivenSplit([1, 0, 0], [0, 1, 0], [0, 0, 1]), None):
        check_private_labels(recipe)


def test_a_random_split_is_the_same_whatever_the_labels():
    one, other = (np.random.default_rng(kind).integers(0, 3, 60) for kind in (0, 1))
    draws = {seed: [RandomSplit().draw(labels, seed) for labels in (one, other)] for seed in range(20)}
    same = [
        (first.train == second.train).all() and (first.test == second.test).all()
        for first, second in draws.values()
    ]
    assert [seed for seed, alike in zip(draws, same, strict=True) if not alike] == []
