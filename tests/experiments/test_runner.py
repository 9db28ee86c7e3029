"""Runs, their controls, and what is kept of them."""

import json

import numpy as np
import pytest

import graphveil as gv
from graphveil.errors import InputError
from graphveil.experiments import Experiment, ResultStore, RunOptions, run_experiment
from graphveil.experiments import runner as runner_module
from graphveil.experiments.runner import compute_unit
from graphveil.experiments.unit import RunUnit, parts_of, run_unit
from tests.refusals import check_refused

SMALL = {"users": 400, "features": 16, "telling": 4, "labelled": 0.2, "validated": 0.2}
SETTINGS = {"epochs": 5}
SPEC = Experiment.of("base", "town", epsilon=2.0, runs=2, settings=SETTINGS, data_options=SMALL)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Holds the units of `result`."""
    return ResultStore(tmp_path_factory.mktemp("runs") / "results.sqlite")


@pytest.fixture(scope="module")
def result(store):
    return run_experiment(SPEC, RunOptions(file=store.file, fresh=True))


def numbers(result):
    """The JSON but for what may differ from call to call."""
    fields = json.loads(result.to_json())
    return {key: value for key, value in fields.items() if key not in ("seconds", "peak_mb")}


def test_a_private_result_comes_with_its_control_and_structure_and_a_paired_gain(result):
    assert parts_of(SPEC) == ["method", "control", "structure"]
    assert [len(result.scores(part)) for part in parts_of(SPEC)] == [2, 2, 2]
    gaps = np.subtract(result.scores(), result.scores("control"))
    assert result.gain.mean == pytest.approx(gaps.mean())


def test_the_json_has_the_fields_that_others_rely_on(result):
    fields = json.loads(result.to_json())
    names = "method data task metric epsilon mechanism backbone seed version runs mean low high control structure gain"
    names += " gain_over_structure verdict answered privacy seconds peak_mb also"
    assert list(fields) == names.split()
    assert set(fields["also"]) == {"input_share"}
    assert set(fields["control"]) == {"runs", "mean", "low", "high", "also"}
    assert set(fields["structure"]) == {"name", "mean", "low", "high"}
    assert set(fields["gain"]) == {"mean", "low", "high"}
    (asked,) = fields["privacy"].pop("rounds")
    assert 2 * (1 - 1e-9) < asked.pop("exact") <= 2
    spent = {"epsilon": 2.0, "delta": 0.0}
    about = {"subject": "features", "round": 1, "mechanism": "multibit", "users": 400, "of": "values"}
    assert asked == {**about, **spent}
    nothing = dict.fromkeys(("labels", "links", "level", "panel"))
    more = {"raw": [], "sound": True, "trust": "local", **nothing}
    assert fields["privacy"] == {"features": spent, "total": spent, **more}
    assert set(fields["seconds"]) == {"report", "denoise", "train", "total"}
    assert all(0 <= score <= 1 for score in fields["runs"])


def test_the_same_call_gives_the_same_numbers_whatever_the_jobs(result):
    assert numbers(run_experiment(SPEC)) == numbers(result)
    assert numbers(run_experiment(SPEC, RunOptions(jobs=2, keep=False))) == numbers(result)
    # Run i is the first run of seed s + i.
    later = run_unit(RunUnit(SPEC.having(seed=1, runs=1)))
    assert later.score == result.scores()[1]


def test_without_a_control_or_privacy_there_is_none():
    for change, missing in (
        ({"control": False}, ("control", "structure", "gain", "verdict")),
        ({"method": "nonprivate", "epsilon": None}, ("control", "gain", "epsilon", "mechanism")),
    ):
        fields = json.loads(run_experiment(SPEC.having(runs=1, **change)).to_json())
        assert [fields[name] for name in missing] == [None] * 4
    assert fields["privacy"]["features"] is None


def test_a_graph_of_one_s_own_runs(result):
    graph, users = gv.load("town", **SMALL)
    own = gv.run("base", graph, users, epsilon=2.0, runs=1, settings=SETTINGS)
    for part in parts_of(SPEC):
        assert own.scores(part) == result.scores(part)[:1]
    more = gv.run("base", graph, users, epsilon=2.0, runs=2, settings=SETTINGS, control=False)
    assert more.scores() == result.scores()


def test_finished_units_are_kept_and_reused(monkeypatch, result, store):
    monkeypatch.setattr(runner_module, "compute_unit", lambda *_: pytest.fail("ran again"))
    assert numbers(run_experiment(SPEC, RunOptions(file=store.file))) == numbers(result)
    other = SPEC.having(settings={"epochs": 6})
    assert [unit.part for unit in store.find_units(other, parts_of(SPEC))] == ["structure"] * 2


def test_an_interrupt_returns_what_there_is_and_is_passed_on_where_there_is_nothing(counted):
    counted["stop"] = 2
    partial = run_experiment(SPEC)
    assert partial.interrupted
    assert (len(partial.scores()), len(partial.scores("control"))) == (1, 1)
    counted["stop"] = len(counted["units"])
    with pytest.raises(KeyboardInterrupt):
        run_experiment(SPEC)


BOUNDS = "norm_bound must be a number from 1e-100 to 1e+100, got"
NOT_RUN = [
    ({"method": "nobody"}, "no method is named 'nobody'"),
    ({"backbone": "tree"}, "no backbone is named 'tree': choose one of gcn, sage, gat"),
    ({"task": "guess"}, "no task is named 'guess'"),
    ({"epsilon": None}, "base reports features and needs a budget"),
    ({"epsilon": -1.0}, "epsilon must be a positive finite number, got -1.0"),
    ({"method": "nonprivate"}, "nonprivate reports no features: leave epsilon out"),
    ({"mechanism": "krr"}, "krr does not report features"),
    ({"mechanism": "nobody"}, "no mechanism is named 'nobody'"),
    ({"runs": 0}, "runs must be an integer of at least 1, got 0"),
    ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
    ({"device": "abacus"}, "device must be one of auto, cpu, cuda, got 'abacus'"),
    ({"max_memory": 0.0}, "max_memory must be a positive number, in gigabytes, got 0.0"),
    ({"settings": {"speed": 1}}, "there is no setting 'speed' here"),
    ({"settings": {"mechanism.bits": 1}}, "multibit has no setting 'bits'"),
    ({"data": "nowhere.npz", "data_options": {}}, "nowhere.npz"),
    ({"norm_epsilon": 0.0}, "epsilon must be a positive finite number, got 0.0"),
    ({"norm_bound": 3.0}, "norm_bound has no meaning without norms: give norm_epsilon too"),
    *(({"norm_epsilon": 1.0, "norm_bound": bound}, BOUNDS) for bound in (-1.0, float("inf"), 1e300)),
    ({"norm_epsilon": 1.0, "task": "link"}, "not beside links"),
    ({"norm_epsilon": 1.0, "method": "nonprivate", "epsilon": None}, "nonprivate learns classes alone"),
]


def test_what_cannot_be_run_is_refused_by_name():
    check_refused(lambda change: run_experiment(SPEC.having(**change)), NOT_RUN)
    graph, _ = gv.load("town", **SMALL)
    with pytest.raises(InputError, match="give a graph together with its users"):
        gv.run("base", graph, epsilon=1.0)


NORMS = SPEC.having(norm_epsilon=3.0, norm_bound=4.0)


def test_norms_are_measured_beside_the_score_and_kept(tmp_path, result):
    store = ResultStore(tmp_path / "results.sqlite")
    fields = json.loads(run_experiment(NORMS, RunOptions(file=store.file, fresh=True)).to_json())
    assert list(fields)[-1] == "also"
    for also in (fields["also"], fields["control"]["also"]):
        assert set(also) == {"input_share", "norm_error", "norm_constant"}
        assert set(also["norm_error"]) == {"mean", "low", "high", "runs"}
        assert all(0 <= error <= 4 for error in also["norm_error"]["runs"])
    assert "also" not in fields["structure"]
    assert fields["privacy"]["features"] == {"epsilon": 5.0, "delta": 0.0, "norm": 3.0}
    again = json.loads(run_experiment(NORMS, RunOptions(file=store.file)).to_json())
    assert again["also"] == fields["also"]
    for also in (numbers(result)["also"], numbers(result)["control"]["also"]):
        assert "norm_error" not in also


@pytest.fixture
def own(tmp_path):
    """Writes a graph of one's own to a file that an experiment is about; another seed writes another graph."""
    file = tmp_path / "my.npz"

    def write(seed, users=60):
        random = np.random.default_rng(seed)
        labels, edges = random.integers(0, 2, users), random.integers(0, users, (120, 2))
        np.savez(file, edges=edges, x=random.random((users, 5)), y=labels, range=(0, 1))
        return Experiment.of("base", str(file), epsilon=1.0, settings=SETTINGS)

    return write


def test_data_that_changes_while_it_is_computed_with_is_not_kept(monkeypatch, tmp_path, own):
    store = ResultStore(tmp_path / "results.sqlite")

    def changing(*given):
        unit = compute_unit(*given)
        own(unit.run + 1)
        return unit

    spec = own(0)
    monkeypatch.setattr(runner_module, "compute_unit", changing)
    with pytest.raises(InputError, match="was changed while it was computed with"):
        run_experiment(spec, RunOptions(file=store.file, fresh=True))
    assert store.find_units(spec, parts_of(spec)) == []


def test_a_file_that_was_changed_is_loaded_again(own):
    for users in (60, 80):
        assert run_unit(RunUnit(own(users, users))).privacy.rounds[0].users == users


def test_norms_decide_the_key_but_not_that_of_structure():
    weighted = {**SETTINGS, "norm_weight": 2.0}
    specs = [SPEC, NORMS, NORMS.having(norm_bound=5.0), NORMS.having(settings=weighted)]
    assert len({spec.key("method", 0) for spec in specs}) == 4
    assert len({spec.key("structure", 0) for spec in specs}) == 1
