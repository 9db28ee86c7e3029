"""ppgnn: levels are simulated, booked by user and never told; weights and mechanisms are as asked for."""

import numpy as np
import pytest

import graphveil as gv
from graphveil.experiments import Experiment, run_experiment
from graphveil.experiments.unit import RunUnit, open_unit
from graphveil.graphs import load
from graphveil.methods import METHODS
from graphveil.methods.check import Trial, declared, learn, make_job, small_data
from graphveil.methods.ppgnn import level_errors
from tests.methods.suite import chosen_trials, run_trial
from tests.refusals import not_refused

PPGNN = METHODS.find("ppgnn")
SMALL = {"users": 300}


def experiment_of(**options):
    return Experiment.of("ppgnn", "town", data_options=SMALL, **{"epsilon": 0.5, **options})


@pytest.mark.parametrize(("name", "settings", "trial"), chosen_trials("ppgnn"))
def test_other_settings_pass_the_suite(name, settings, trial):
    run_trial(name, settings, trial)


def test_every_user_is_booked_the_own_level_s_budget():
    graph, users = small_data()
    trial = Trial()
    asked, ledger = declared(PPGNN, graph, users, trial)
    PPGNN.run(make_job(PPGNN, graph, asked, trial))
    np.testing.assert_allclose(ledger.spent, 2.0 ** (users.raw.levels - 1))
    np.testing.assert_allclose(ledger.remaining, 0)
    assert ledger.total("features").epsilon == 8.0


@pytest.mark.parametrize(
    "paid", [{"label_epsilon": 1.5}, {"norm_epsilon": 1.5, "norm_bound": 9.0}], ids=["labels", "norms"]
)
def test_labels_and_norms_cost_besides_and_norms_are_part_of_every_level_s_budget(paid):
    ready = open_unit(RunUnit(experiment_of(levels=3, settings={"epochs": 2}, **paid)))
    ready.method.run(ready.job)
    spent, levels = ready.ledger.spent, ready.users.raw.levels
    asked = ready.graph.train | ready.graph.validation
    np.testing.assert_allclose(spent, 0.5 * 2.0 ** (levels - 1) + 1.5 * asked)
    features = ready.privacy().to_dict()["features"]
    with_norms = {"epsilon": 3.5, "delta": 0.0, "norm": 1.5, "per_level": [2.0, 2.5, 3.5]}
    assert features == (
        with_norms if "norm_epsilon" in paid else {"epsilon": 2.0, "delta": 0.0, "per_level": [0.5, 1.0, 2.0]}
    )


@pytest.mark.parametrize(
    ("distribution", "found"),
    [("strict", {1}), ("relaxed", {4}), ("bimodal", {1, 4}), ("uniform", {1, 2, 3, 4})],
)
def test_levels_are_distributed_as_asked(distribution, found):
    ready = open_unit(RunUnit(experiment_of(levels=4, level_distribution=distribution)))
    assert set(ready.users.raw.levels.tolist()) == found


def test_levels_come_from_a_file_or_with_the_users(tmp_path):
    given = np.arange(300) % 3 + 1
    np.save(tmp_path / "levels.npy", given)
    ready = open_unit(RunUnit(experiment_of(levels=3, level_distribution=str(tmp_path / "levels.npy"))))
    np.testing.assert_array_equal(ready.users.raw.levels, given)
    graph, users = load("town", **SMALL)
    data = (graph, users.with_levels(given))
    ready = open_unit(RunUnit(experiment_of(levels=3), given=data))
    np.testing.assert_array_equal(ready.users.raw.levels, given)
    drawn = open_unit(RunUnit(experiment_of(levels=3, level_distribution="strict"), given=data))
    assert set(drawn.users.raw.levels.tolist()) == {1}


def test_what_is_said_of_privacy_names_every_level_and_what_the_level_reveals():
    result = run_experiment(experiment_of(budgets=(0.5, 1.0, 3.0), settings={"epochs": 2}, control=False))
    privacy = result.to_dict()["privacy"]
    assert privacy["features"] == {"epsilon": 3.0, "delta": 0.0, "per_level": [0.5, 1.0, 3.0]}
    assert 0.05 < privacy["level"]["epsilon"] < 3.0
    printed = run_experiment(experiment_of(mechanism="ppm-printed", settings={"epochs": 2}, control=False))
    assert printed.to_dict()["privacy"]["level"]["epsilon"] is None


@pytest.mark.parametrize(("mechanism", "alike"), [("multibit", True), ("ppm", False)])
def test_weights_matter_where_levels_differ(mechanism, alike):
    graph, users = small_data()
    one, other = (
        learn(PPGNN, graph, users, Trial({"weights": weights}, options={"mechanism": mechanism})).scores
        for weights in ("printed", "inverse-variance")
    )
    assert np.array_equal(one, other) if alike else not np.allclose(one, other)


def test_levels_that_make_no_sense_are_refused():
    wrong = [
        ({"method": "base", "mechanism": "ppm"}, "take ppgnn"),
        ({"method": "base", "levels": 3}, "levels is for users who choose"),
        ({"mechanism": "multibit", "gamma": 0.2}, "gamma is for users who choose"),
        ({"budgets": (1.0, 2.0)}, "start with epsilon"),
        ({"budgets": (0.5, 0.4)}, "that rise"),
        ({"levels": 1}, "levels must be"),
        ({"level_distribution": "normal"}, "no distribution of levels"),
    ]
    given = {"method": "ppgnn", "data": "town", "epsilon": 0.5}
    failed = not_refused(lambda options: Experiment.of(**given | options).check(), wrong)
    assert not failed, failed


SHARES = np.array([0.5, 0.3, 0.2])


@pytest.fixture(scope="module")
def graph():
    return load("town", users=300)[0]


def personal(**more):
    return gv.mechanism("ppm", epsilon=1.0, dims=4, range=(0, 1), levels=3, binary=True, **more)


def test_the_error_of_a_report_is_what_reports_show(graph):
    mechanism = personal()
    errors = level_errors(graph, mechanism, SHARES)
    random = np.random.default_rng(0)
    rows = (random.random((40_000, 4)) < 0.5).astype(float)
    for level in (1, 2, 3):
        reports = mechanism.randomize((np.full(len(rows), level), rows), gv.SeededBits(level))
        error = np.sqrt(((mechanism.estimate(reports, SHARES).dense() - rows) ** 2).mean())
        assert errors[level - 1].own == pytest.approx(error, rel=0.03)


def test_stricter_levels_have_larger_errors_and_fewer_or_more_others_change_them(graph):
    errors = level_errors(graph, personal(gamma=0.5), SHARES)
    assert [each.level for each in errors] == [1, 2, 3]
    assert [each.budget for each in errors] == [1.0, 2.0, 4.0]
    assert errors[0].own > errors[1].own > errors[2].own
    assert len({each.mean for each in errors}) == 1
    assert errors[-1].without is None
    errors = level_errors(graph, personal(), np.array([0.1, 0.85, 0.05]))
    assert errors[1].without > errors[0].without
    dense = load("town", users=300, degree=40)[0]
    assert dense.degrees.mean() > graph.degrees.mean()
    assert level_errors(dense, personal(), SHARES)[0].mean < level_errors(graph, personal(), SHARES)[0].mean
