"""What graphveil must show on real graphs: means of five runs with the default settings, seeds 0 to 4."""

import pytest

from graphveil.experiments import Experiment, RunOptions, run_experiment
from tests.graphs.real import needs_data

TWO = RunOptions(jobs=2, keep=False)

RUNS = 5
LEAST = [
    ("nonprivate", "cora", None, 0.870),
    ("nonprivate", "citeseer", None, 0.765),
    ("nonprivate", "facebook", None, 0.935),
    ("nonprivate", "pubmed", None, 0.860),
    ("structure", "cora", None, 0.845),
    ("structure", "citeseer", None, 0.685),
    ("structure", "facebook", None, 0.930),
    ("structure", "pubmed", None, 0.825),
    ("structure", "flickr-small", None, 0.550),
    ("base", "cora", 1.0, 0.785),
    ("upgnet", "cora", 0.01, 0.830),
    ("upgnet", "cora", 1.0, 0.833),
    ("upgnet", "citeseer", 1.0, 0.678),
    ("upgnet", "facebook", 0.01, 0.930),
    ("upgnet", "facebook", 1.0, 0.930),
    ("lpgnn", "cora", 1.0, 0.833),
    ("lpgnn", "facebook", 1.0, 0.923),
    ("ldpge", "cora", 0.01, 0.845),
    ("ldpge", "cora", 1.0, 0.845),
    ("ldpge", "citeseer", 1.0, 0.685),
    ("ldpge", "pubmed", 1.0, 0.780),
    ("ldpge", "facebook", 0.01, 0.910),
]
# PPGNN's Table III, and more on cora.
LEAST_PERSONAL = [
    ("cora", 0.01, 0.83),
    ("cora", 0.1, 0.83),
    ("cora", 1.0, 0.83),
    ("pubmed", 1.0, 0.754),
]
# Areas under the curve that LDP-GE's document prints, for cora the one that its program reached.
LEAST_LINKS = [
    ("cora", 0.835),
    ("citeseer", 0.776),
    ("pubmed", 0.795),
    ("facebook", 0.967),
    ("wikipedia", 0.991),
]


@pytest.mark.parametrize(
    ("method", "data", "epsilon", "least"),
    [pytest.param(*case, marks=needs_data(case[1]), id=" ".join(map(str, case[:3]))) for case in LEAST],
)
def test_the_mean_of_five_runs_is_at_least(method, data, epsilon, least, shows):
    result = run_experiment(Experiment.of(method, data, epsilon=epsilon, runs=RUNS, control=False), TWO)
    shows(f"mean {result.mean:.4f}, at least {least}")
    assert result.mean >= least


@pytest.mark.parametrize(
    ("data", "least"), [pytest.param(*case, marks=needs_data(case[0]), id=case[0]) for case in LEAST_LINKS]
)
def test_links_are_told_at_least_as_well_as_the_document_prints(data, least, shows):
    result = run_experiment(
        Experiment.of("ldpge", data, epsilon=1.0, task="link", runs=RUNS, control=False), TWO
    )
    shows(f"area {result.mean:.4f}, at least {least}")
    assert result.mean >= least


@pytest.mark.parametrize(
    ("data", "epsilon", "least"),
    [
        pytest.param(*case, marks=needs_data(case[0]), id=" ".join(map(str, case[:2])))
        for case in LEAST_PERSONAL
    ],
)
def test_users_who_choose_their_level_are_told_at_least_as_well_as_printed(data, epsilon, least, shows):
    result = run_experiment(
        Experiment.of("ppgnn", data, epsilon=epsilon, runs=RUNS, control=False),
        TWO,
    )
    shows(f"mean {result.mean:.4f}, at least {least}")
    assert result.mean >= least


def test_in_a_town_levels_of_one_s_own_beat_the_strictest_budget_for_all(shows):
    personal = run_experiment(Experiment.of("ppgnn", "town", epsilon=0.5, runs=RUNS), TWO)
    strict = run_experiment(Experiment.of("base", "town", epsilon=0.5, runs=RUNS, control=False), TWO)
    printed = run_experiment(
        Experiment.of(
            "ppgnn", "town", epsilon=0.5, runs=RUNS, control=False, settings={"weights": "printed"}
        ),
        TWO,
    )
    shows(f"own levels {personal.mean:.4f}, strictest {strict.mean:.4f}, printed weights {printed.mean:.4f}")
    assert personal.mean >= strict.mean + 0.03
    assert personal.gain.low > 0
    assert personal.mean >= printed.mean


@needs_data("cora")
def test_on_cora_a_budget_of_one_buys_next_to_nothing(shows):
    result = run_experiment(Experiment.of("base", "cora", epsilon=1.0, runs=RUNS), TWO)
    shows(f"gain {result.gain.mean:.4f}, less than 0.02")
    assert abs(result.gain.mean) < 0.02


def test_in_a_town_a_budget_of_two_buys_at_least_five_points(shows):
    result = run_experiment(Experiment.of("base", "town", epsilon=2.0, runs=RUNS), TWO)
    shows(f"gain {result.gain.mean:.4f}, at least 0.05")
    assert result.gain.mean >= 0.05
