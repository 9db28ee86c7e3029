"""One run of few epochs."""

from graphveil.experiments import Experiment
from graphveil.experiments.study import shorten


def test_it_is_one_run_of_at_most_100_epochs():
    spec = Experiment.of("base", "town", epsilon=1.0, runs=7, settings={"lr": 0.1})
    short = shorten(spec)
    assert (short.runs, short.settings) == (1, {"lr": 0.1, "epochs": 100})
    assert short.having(runs=7, settings=spec.settings) == spec


def test_fewer_epochs_stay_as_they_are():
    spec = Experiment.of("base", "town", epsilon=1.0, settings={"epochs": 3})
    assert shorten(spec).settings == {"epochs": 3}
