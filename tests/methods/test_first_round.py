from graphveil.experiments.experiment import Experiment
from graphveil.experiments.unit import RunUnit, open_unit
from graphveil.methods.togl import FirstRound

TOWN = Experiment.of(
    "togl", "town", epsilon=4.0, runs=1, data_options={"users": 400}, settings={"split": 0.25}
)


def plans(whole):
    return FirstRound(whole).questions(open_unit(RunUnit(TOWN)).job).features


def test_it_asks_once_with_the_share_of_the_first_round():
    assert [plan.epsilon for plan in plans(whole=False)] == [1.0]


def test_the_whole_budget_is_for_that_one_question():
    assert [plan.epsilon for plan in plans(whole=True)] == [4.0]
