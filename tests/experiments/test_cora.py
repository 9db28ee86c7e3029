"""One real graph, briefly: the whole way from a file to a verdict."""

from graphveil.experiments import Experiment, run_experiment
from tests.graphs.real import needs_data


@needs_data("cora")
def test_raw_features_of_cora_are_learned_from():
    assert run_experiment(Experiment.of("nonprivate", "cora", settings={"epochs": 150})).mean > 0.85


@needs_data("cora")
def test_reports_of_cora_are_learned_from():
    result = run_experiment(Experiment.of("base", "cora", epsilon=1.0, settings={"epochs": 150}))
    assert result.mean > 0.76
    assert result.scores("structure")[0] > 0.82
