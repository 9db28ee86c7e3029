"""The search for settings: what it tries, what it looks at, and how it goes on."""

import json
import sqlite3
from contextlib import closing
from dataclasses import asdict, replace

import numpy as np
import pytest

import graphveil as gv
from graphveil.errors import InputError, StoreError
from graphveil.experiments import Experiment, ResultStore, tune_experiment
from graphveil.experiments import store as reuse
from graphveil.experiments import tuning as tuner
from graphveil.experiments.tuning import SearchSpace, TuningTrial, add_trial, find_trials, read_trial, suggest
from graphveil.experiments.unit import RunUnit, Validation, run_unit, validate_unit
from graphveil.graphs import Users
from graphveil.methods import METHODS
from tests.refusals import check_refused

SMALL = {"users": 200, "features": 16, "telling": 4, "labelled": 0.2, "validated": 0.2}
SPEC = Experiment.of("base", "town", epsilon=2.0, settings={"epochs": 2}, data_options=SMALL)
# Dropout alone is searched, so that 8 trials are the whole grid.
GRID = SPEC.having(settings={"epochs": 2, "lr": 0.01, "weight_decay": 1e-3})
SPACE = SearchSpace({"lr": (0.1, 0.01), "kind": ("a", "b", None)}, {"lr": 0.01, "kind": "b"})


@pytest.fixture
def store(tmp_path):
    return ResultStore(tmp_path / "a.sqlite")


def trial(score, point=None, loss=1.0):
    return TuningTrial(point or SPACE.defaults, "accuracy", (score,), (loss,))


@pytest.fixture
def quick(monkeypatch):
    """Trials that cost nothing: the score is a function of the settings; the settings tried are listed."""
    tried = []

    def validate(spec, run, *_):
        tried.append(spec.method_settings)
        settings = spec.method_settings
        score = 1 - abs(np.log10(settings["lr"]) + 1) / 10 - abs(settings["dropout"] - 0.25) / 10
        return Validation("accuracy", score, 1.0)

    monkeypatch.setattr(tuner, "validate_unit", validate)
    return tried


# What the documents print; a learning rate of 0, which PPGNN lists, learns nothing and is left out.
PRINTED = {
    "upgnet": {
        "lr": {1e-4, 1e-3, 1e-2, 1e-1},
        "weight_decay": {1e-4, 1e-3, 1e-2, 1e-1},
        "dropout": {1e-4, 1e-3, 1e-2, 1e-1},
        "hops": {0, 2, 4, 8, 16, 32, 64},
        "tau": {0.1, 0.3, 0.5, 0.7, 0.9},
    },
    "ppgnn": {
        "lr": {1e-4, 1e-3, 1e-2, 1e-1},
        "weight_decay": {0, 1e-4, 1e-3, 1e-2, 1e-1},
        "dropout": {0, 0.25, 0.5, 0.75},
        "hops": {0, 2, 4, 8, 16},
        "mechanism.gamma": {0.1, 0.3, 0.5, 0.7, 0.9},
    },
    "togl": {
        "lr": {1e-3, 1e-2, 1e-1},
        "weight_decay": {0, 1e-5, 1e-4, 1e-3},
        "dropout": {0, 1e-3, 1e-2, 1e-1},
        "analysis_hops": {0, 1, 2, 3, 4, 5},
        "rho": {0, 0.3, 0.5, 0.7, 1},
    },
    "ldpge": {"k": {1, 3, 5, 10, 20, 30, 50}},
}


def test_a_space_holds_what_the_document_searches():
    spaces = {name: SearchSpace.of(Experiment.of(name, "town", epsilon=4.0)).values for name in PRINTED}
    found = {
        name: {key: set(spaces[name][key]) & values for key, values in printed.items()}
        for name, printed in PRINTED.items()
    }
    assert found == PRINTED


def test_gamma_is_the_mechanism_s_and_not_searched_where_it_is_fixed_or_has_no_meaning():
    def space(**more):
        return SearchSpace.of(Experiment.of("ppgnn", "town", epsilon=4.0, **more))

    for fixed in ({"gamma": 0.2}, {"settings": {"mechanism.gamma": 0.2}}, {"mechanism": "multibit"}):
        assert "mechanism.gamma" not in space(**fixed).values
    for mechanism in ("ppm", "ppm-printed"):
        assert space(mechanism=mechanism).defaults["mechanism.gamma"] == 0.1


def test_a_searched_gamma_reaches_the_mechanism():
    spec = Experiment.of("ppgnn", "town", epsilon=2.0, settings={"epochs": 1, "hops": 1}, data_options=SMALL)
    told = [
        run_unit(RunUnit(spec.having(settings={**spec.settings, **more}))).privacy.level.epsilon
        for more in ({}, {"mechanism.gamma": 0.1}, {"mechanism.gamma": 0.9})
    ]
    assert told[0] == told[1] != told[2]


def test_every_value_of_a_grid_is_a_setting_that_the_method_accepts():
    searchable = [name for name in METHODS.own() if METHODS.find(name).grid]
    assert {"base", "nonprivate"} <= set(searchable)
    for name, (key, values) in [(one, grid) for one in searchable for grid in METHODS.find(one).grid.items()]:
        settings = METHODS.find(name).settings
        assert key in settings.model_fields, name
        assert len(values) == len(set(values)) > 1, name
        for value in values:
            assert getattr(settings.of({key: value}), key) == value, name
            # What a record and a file of settings can hold.
            assert value is None or isinstance(value, (bool, int, float, str)), name


def test_a_space_holds_the_defaults_and_nothing_that_is_fixed():
    space = SearchSpace.of(Experiment.of("nonprivate", "town", settings={"lr": 0.1}))
    assert list(space.values) == ["weight_decay", "dropout"]
    assert space.defaults == {"weight_decay": 1e-3, "dropout": 0.8}
    assert 0.8 in space.values["dropout"]
    points = list(space.points())
    assert points[0] == space.defaults
    assert len(points) == space.size == 6 * 9
    assert all(points.count(point) == 1 for point in points)


def test_the_whole_space_is_suggested_point_by_point_and_nothing_that_is_being_tried():
    finished = []
    for _ in range(SPACE.size):
        finished.append(trial(0.5, suggest(SPACE, finished, [], 0, whole=True)))
    assert [one.point for one in finished] == list(SPACE.points())
    others = [SPACE.defaults]
    for _ in range(SPACE.size - 1):
        others.append(suggest(SPACE, [trial(0.5)], others[1:], 0, whole=False))
    assert len({json.dumps(point) for point in others}) == SPACE.size


def test_tpe_learns_what_is_good():
    space = SearchSpace({"a": tuple(range(8)), "b": tuple(range(8))}, {"a": 0, "b": 0})
    finished = []
    for _ in range(30):
        point = suggest(space, finished, [], 1, whole=False)
        finished.append(TuningTrial(point, "accuracy", (point["a"] / 8 + point["b"] / 80,), (1.0,)))
    early, late = ([one.point["a"] for one in part] for part in (finished[:10], finished[10:]))
    assert np.mean(late) > np.mean(early) + 1
    assert finished[-1] not in finished[:-1]
    assert max(finished, key=lambda one: one.rank).point == {"a": 7, "b": 7}


def test_between_equal_scores_the_lower_loss_wins():
    assert trial(0.5, loss=1.0).rank > trial(0.5, loss=2.0).rank > trial(0.5, loss=float("nan")).rank
    assert trial(0.6, loss=9.0).rank > trial(0.5, loss=0.1).rank


def test_a_small_grid_is_searched_as_a_whole(quick):
    tuned = tune_experiment(GRID, trials=10)
    assert tuned.total == len(tuned.trials) == len(quick) == 8
    tried = sorted(one.point["dropout"] for one in tuned.trials)
    assert tried == [0, 1e-4, 1e-3, 1e-2, 1e-1, 0.25, 0.5, 0.75]
    assert tuned.best.point == {"dropout": 0.25}
    assert tuned.settings == {**GRID.settings, "dropout": 0.25}


def test_the_defaults_come_first_and_no_point_is_tried_twice(quick):
    tuned = tune_experiment(SPEC, trials=4)
    assert quick[0] == {"epochs": 2, "lr": 0.01, "weight_decay": 1e-3, "dropout": 0.5}
    assert tuned.trials[0] is tuned.defaults
    assert tuned.best.rank >= tuned.defaults.rank
    assert tune_experiment(SPEC, trials=1).best.point == tuned.space.defaults
    quick.clear()
    tune_experiment(SPEC, trials=30)
    assert len({json.dumps(settings) for settings in quick}) == 30


def test_the_seed_decides_what_is_tried(quick):
    tuned = [tune_experiment(SPEC.having(seed=seed), trials=12) for seed in (0, 0, 1)]
    first, again, other = ([one.point for one in each.trials] for each in tuned)
    assert first == again != other


def test_trials_average_over_runs(monkeypatch):
    monkeypatch.setattr(tuner, "validate_unit", lambda spec, run, *_: Validation("accuracy", run / 10, run))
    best = tune_experiment(SPEC.having(runs=3), trials=1).best
    assert (best.scores, best.losses, best.score) == ((0.0, 0.1, 0.2), (0, 1, 2), pytest.approx(0.1))


def test_validation_is_what_a_run_sees_of_its_validation_users(monkeypatch):
    learned = []
    run = METHODS.find("base").run

    def remember(job):
        learned.append(run(job))
        return learned[-1]

    monkeypatch.setattr(METHODS.find("base"), "run", remember)
    found = validate_unit(SPEC, 0)
    run_unit(RunUnit(SPEC))
    assert np.array_equal(learned[0].scores, learned[1].scores)
    assert (found.score, found.loss) == (learned[0].validation_score, learned[0].validation_loss)


def test_the_graph_s_metric_is_what_counts():
    random = np.random.default_rng(0)
    rows, labels = random.random((80, 5)), random.integers(0, 2, 80)
    edges = random.integers(0, 80, (160, 2))
    given = gv.from_arrays(edges, rows, labels, range=(0, 1), metric="roc_auc", name="own", seed=0)
    spec = Experiment.of("base", "own", epsilon=2.0, settings={"epochs": 2})
    assert validate_unit(spec, 0, None, given).metric == "roc_auc"
    # Reported labels stay inside the method, which tells its accuracy on them.
    assert validate_unit(spec.having(label_epsilon=1.0), 0, None, given).metric == "accuracy"


@pytest.mark.parametrize("label_epsilon", [None, 1.0])
def test_test_users_are_never_asked_how_well_it_went_and_other_labels_of_theirs_change_nothing(
    monkeypatch, label_epsilon
):
    monkeypatch.setattr(Users, "evaluate", lambda *_: pytest.fail("looked at test labels"))
    assert len(tune_experiment(SPEC.having(label_epsilon=label_epsilon), trials=2).trials) == 2
    graph, users = gv.load("town", seed=0, **SMALL)
    labels = users.raw.labels.copy()
    labels[graph.test] = np.random.default_rng(0).permutation(labels[graph.test])
    assert not np.array_equal(labels, users.raw.labels)
    others = Users(users.raw.features, labels, neighbours=users.raw.neighbours)
    options = {"epsilon": 2.0, "settings": GRID.settings, "label_epsilon": label_epsilon, "trials": 3}
    one, other = (gv.experiments.tune("base", graph, each, **options) for each in (users, others))
    assert one.trials == other.trials


def test_processes_change_nothing_in_a_whole_grid():
    one, two = (tune_experiment(GRID, trials=8, jobs=jobs) for jobs in (1, 2))
    assert {str(trial) for trial in one.trials} == {str(trial) for trial in two.trials}
    assert one.best == two.best
    assert two.trials[0].point == two.space.defaults


def test_a_finished_search_is_read_and_not_run_and_more_trials_go_on(quick, store):
    few = tune_experiment(SPEC, trials=3, store=store)
    more = tune_experiment(SPEC, trials=6, store=store)
    assert len(quick) == 6
    assert more.trials[:3] == few.trials
    assert tune_experiment(SPEC, trials=3, store=ResultStore(store.file)) == few
    assert tune_experiment(SPEC, trials=6, store=ResultStore(store.file)) == more
    assert len(quick) == 6


def test_a_search_that_goes_on_finds_what_it_would_have_without_a_break(quick, store, tmp_path, monkeypatch):
    expected = tune_experiment(SPEC, trials=15, store=ResultStore(tmp_path / "whole.sqlite"))
    validate = tuner.validate_unit

    def break_off(spec, run, *rest):
        if len(quick) == 12:
            raise KeyboardInterrupt
        return validate(spec, run, *rest)

    quick.clear()
    monkeypatch.setattr(tuner, "validate_unit", break_off)
    broken = tune_experiment(SPEC, trials=15, store=store)
    assert (broken.interrupted, len(broken.trials), broken.total) == (True, 12, 15)
    monkeypatch.setattr(tuner, "validate_unit", validate)
    assert tune_experiment(SPEC, trials=15, store=store) == expected
    assert len(quick) == 15


def test_a_trial_that_was_just_written_counts_when_interrupted(quick, store, monkeypatch):
    add = ResultStore.add_trial

    def add_and_break_off(*given):
        add(*given)
        if len(quick) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(ResultStore, "add_trial", add_and_break_off)
    assert len(tune_experiment(SPEC, trials=5, store=store).trials) == 3


def test_an_interrupt_before_anything_is_finished_and_refused_defaults_are_passed_on(monkeypatch):
    for error in (KeyboardInterrupt(), InputError("no such data")):

        def stop(*_, error=error):
            raise error

        monkeypatch.setattr(tuner, "validate_unit", stop)
        with pytest.raises(type(error)) as stopped:
            tune_experiment(SPEC, trials=3)
        assert stopped.value is error


def test_damaged_trials_are_told_and_done_again(quick, store):
    tune_experiment(SPEC, trials=7, store=store)
    damaged = ["", "{", "null", '{"metric": 3}', b"\xff", 7]
    with closing(sqlite3.connect(store.file)) as connection, connection:
        rows = zip(damaged, range(2, 8), strict=True)
        connection.executemany("UPDATE trials SET trial = ? WHERE id = ?", rows)
    quick.clear()
    assert len(tune_experiment(SPEC, trials=7, store=store).trials) == 7
    assert len(quick) == 6
    assert store.sentences() == ["6 kept records cannot be read and were skipped."]


def test_a_trial_of_another_search_is_no_trial_of_this_one():
    changes = [{"scores": [0.5, 0.5]}, {"losses": []}, {"point": {}}, {"point": {"lr": 9.0, "kind": "a"}}]
    own = asdict(trial(0.5))
    assert read_trial(json.dumps(own), 1, SPACE) == trial(0.5)
    assert [change for change in changes if read_trial(json.dumps({**own, **change}), 1, SPACE)] == []


def test_a_file_that_is_no_database_is_refused(store):
    store.file.write_text("something else\nand more\n" * 100)
    with pytest.raises(StoreError, match="is no database: move it away"):
        tune_experiment(SPEC, trials=1, store=store)


def test_trials_come_back_from_the_file_as_they_were_each_once(store):
    kept = [trial(0.25, {"lr": 0.1, "kind": None}, float("inf")), trial(1 / 3)]
    for one in (*kept, kept[1]):
        add_trial(store, SPEC, SPACE, one)
    assert find_trials(ResultStore(store.file), SPEC, SPACE) == kept[::-1]


def test_trials_of_another_version_count_only_if_they_may(quick, store, monkeypatch):
    first = tune_experiment(SPEC, trials=3, store=store)
    monkeypatch.setattr(reuse, "source_digest", lambda: "another")
    may = ResultStore(store.file, any_version=True)
    assert find_trials(may, SPEC, SearchSpace.of(SPEC)) == list(first.trials)
    assert [line.split(":")[0] for line in may.sentences()] == ["Reused trials of another version"]
    quick.clear()
    may_not = ResultStore(store.file)
    assert tune_experiment(SPEC, trials=3, store=may_not).trials == first.trials
    assert len(quick) == 3
    said = "Not reused, trials of another version (--any-version does): 3 ("
    assert may_not.sentences()[0].startswith(said)
    # From now on there is nothing to be said.
    again = ResultStore(store.file)
    assert len(find_trials(again, SPEC, SearchSpace.of(SPEC))) == 3
    assert again.sentences() == []


def test_trials_of_a_graph_that_is_given_are_not_kept(quick, store):
    tune_experiment(SPEC, trials=1, store=store, given=gv.load("town", **SMALL))
    assert not store.file.exists()


def test_what_decides_the_numbers_and_the_grid_decide_which_trials_are_found(store):
    changes = [{"seed": 1}, {"runs": 2}, {"epsilon": 1.0}, {"settings": {"epochs": 3}}]
    changes.append({"data_options": {"users": 100}})
    add_trial(store, SPEC, SPACE, trial(0.5))
    assert len(find_trials(store, SPEC, SPACE)) == 1
    assert [change for change in changes if find_trials(store, SPEC.having(**change), SPACE)] == []
    assert find_trials(store, SPEC, replace(SPACE, values={**SPACE.values, "lr": (0.01,)})) == []


def test_settings_that_are_refused_are_told_and_tried_again_next_time(quick, store, monkeypatch):
    validate = tuner.validate_unit

    def refuse(spec, run, *rest):
        if spec.settings["dropout"] == 0.75:
            raise InputError("too much")
        return validate(spec, run, *rest)

    monkeypatch.setattr(tuner, "validate_unit", refuse)
    tuned = tune_experiment(GRID, trials=10, store=store)
    assert (tuned.failed, len(tuned.trials), tuned.total) == (("dropout=0.75: too much",), 7, 8)
    monkeypatch.setattr(tuner, "validate_unit", validate)
    assert len(tune_experiment(GRID, trials=10, store=store).trials) == 8


def test_optuna_says_nothing_and_keeps_its_own_level(quick, capsys, store):
    import optuna

    before = optuna.logging.get_verbosity()
    tune_experiment(SPEC, trials=12, store=store)
    assert capsys.readouterr() == ("", "")
    assert optuna.logging.get_verbosity() == before


FIXED = {"lr": 0.1, "weight_decay": 0.1, "dropout": 0.1}
NOT_SEARCHED = [
    ({"method": "structure", "epsilon": None}, {}, "structure has no settings to search: tune one of base"),
    (
        {"settings": FIXED},
        {},
        "all settings of base that are searched are fixed: leave one of lr, weight_decay, dropout free",
    ),
    ({"epsilon": None}, {}, "base reports features and needs a budget"),
    ({"settings": {"speed": 1}}, {}, "there is no setting 'speed' here"),
    ({}, {"trials": 0}, "trials must be an integer of at least 1, got 0"),
    ({}, {"jobs": 0}, "jobs must be an integer of at least 1, got 0"),
]


def test_what_cannot_be_searched_is_refused_by_name():
    check_refused(lambda change, how: tune_experiment(SPEC.having(**change), **how), NOT_SEARCHED)
    graph, _ = gv.load("town", **SMALL)
    with pytest.raises(InputError, match="give a graph together with its users"):
        gv.experiments.tune("base", graph, epsilon=1.0)


def test_several_labels_are_validated_by_f1():
    options = {"users": 400, "labelled": 0.2}
    spec = Experiment.of("nonprivate", "town-labels", settings={"epochs": 30}, data_options=options)
    found = validate_unit(spec, 0)
    assert found.metric == "f1"
    assert 0.3 < found.score <= 1
