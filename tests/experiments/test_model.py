"""Models: what a run has trained, kept in a file and applied to users who joined later."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

import graphveil as gv
from graphveil.errors import InputError
from graphveil.experiments import Experiment, predict_experiment, train_model
from graphveil.experiments.model import check_model
from graphveil.privacy.record import Cost
from tests.refusals import check_refused

TOWN, TOWN_USERS = gv.load("town", users=240, features=16, telling=4)
BEFORE = 200


def first(count, **more):
    """The first users of a town, with the links among them."""
    pairs, rows, labels = TOWN.pairs(), TOWN_USERS.raw.features[:count], TOWN_USERS.raw.labels[:count]
    among = pairs[(pairs < count).all(axis=1)]
    return gv.from_arrays(among, rows, labels, range=(0, 1), users=count, **more)


def experiment_of(method="base", **options):
    options = {"epsilon": 4.0, "settings": {"epochs": 3}, **options}
    return Experiment.of(method, "mine", **options)


@pytest.fixture(scope="module")
def model():
    return train_model(experiment_of(), given=first(BEFORE))


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("base", {}),
        ("lpgnn", {"label_epsilon": 3.0}),
        ("upgnet", {"participation": 0.7}),
        ("togl", {}),
        ("ldpge", {}),
        ("ppgnn", {"levels": 2}),
        ("base", {"settings": {"epochs": 45}}),
    ],
    ids=["base", "private labels", "silence", "two rounds", "pagerank", "levels", "scales"],
)
def test_applied_to_whom_it_was_trained_with_a_model_predicts_what_the_run_did(method, options):
    spec, given = experiment_of(method, **options), first(BEFORE)
    found = train_model(spec, given=given).predict(given[0])
    expected = predict_experiment(spec, given=given)
    assert np.array_equal(found.probabilities, expected.probabilities)
    assert found.privacy.total == expected.privacy.total
    assert found.statement == expected.statement


def test_users_who_joined_are_predicted_and_asked_once(model):
    graph, users = first(240)
    found = model.predict(graph, users, seed=7)
    assert (len(found), found.tested) == (240, 40)
    assert set(found.parts[BEFORE:]) == {"joined"} and "joined" not in found.parts[:BEFORE]
    assert found.privacy.features == Cost(epsilon=4.0)
    assert "those of the 40 who joined are simulated with seed 7, and whoever" in found.statement
    again = model.predict(graph, users, seed=7)
    assert np.array_equal(again.probabilities, found.probabilities)
    assert not np.array_equal(model.predict(graph, users, seed=8).probabilities, found.probabilities)


def test_reports_of_those_who_joined_do_as_well(model):
    graph, users = first(240)
    (plan,) = model.plans
    rows = users.raw.features[BEFORE:]
    reports = gv.answer(plan, rows, gv.Ledger(40, 4.0), gv.SeededBits(7))
    found = model.predict(graph, [reports])
    assert len(found) == 240
    said = "Reports of the first 200 users are simulated with seed 0, those of the 40 who joined came from outside"
    assert said in found.statement and not found.privacy.silent
    others = gv.answer(plan, rows[1:], gv.Ledger(39, 4.0), gv.SeededBits(7))
    quiet = replace(others, answered=np.arange(40) > 0)
    assert model.predict(graph, [quiet]).privacy.silent
    another = gv.Plan(mechanism="multibit", epsilon=1.0, dims=16, range=(0, 1))
    wrong = [
        (graph, ([gv.answer(another, rows, gv.Ledger(40, 4.0))],), "another plan"),
        (graph, (), "40 users have joined: give their reports to each of the 1 plans"),
        (first(BEFORE)[0], ([reports],), "0 users have joined, and 40 reports were given"),
    ]
    check_refused(lambda grown, given: model.predict(grown, *given), wrong)


def test_a_file_brings_a_model_back(model, tmp_path):
    gv.save(model, tmp_path / "town.pt")
    again = gv.load_model(tmp_path / "town.pt")
    graph, users = first(240)
    assert repr(again) == repr(model) == "Model(base on mine, seed 0, trained with 200 users)"
    expected = model.predict(graph, users, seed=7)
    assert np.array_equal(again.predict(graph, users, seed=7).probabilities, expected.probabilities)


def test_those_who_were_silent_are_so_in_the_file_too(tmp_path):
    given = first(BEFORE)
    model = train_model(experiment_of(participation=0.5), given=given)
    gv.save(model, tmp_path / "town.pt")
    again = gv.load_model(tmp_path / "town.pt").predict(given[0])
    assert np.array_equal(again.probabilities, model.predict(given[0]).probabilities)


class Harmful:
    """What runs code when it is unpickled."""

    def __reduce__(self):
        return (print, ("harm",))


def test_no_code_in_a_file_is_run(model, tmp_path, capsys):
    torch.save({"about": Harmful()}, tmp_path / "harm.pt")
    with pytest.raises(InputError, match="holds no model"):
        gv.load_model(tmp_path / "harm.pt")
    (tmp_path / "mine.py").write_text("print('harm')\n")
    gv.save(model, tmp_path / "town.pt")
    content = torch.load(tmp_path / "town.pt", weights_only=True)
    about = json.loads(content["about"])
    about["spec"]["method"] = f"{tmp_path / 'mine.py'}:Mine"
    torch.save({**content, "about": json.dumps(about)}, tmp_path / "town.pt")
    with pytest.raises(InputError, match="which is code"):
        gv.load_model(tmp_path / "town.pt")
    assert capsys.readouterr().out == ""


def test_a_file_that_is_no_model_is_refused(model, tmp_path):
    def read(content):
        (tmp_path / "odd.pt").write_bytes(content)
        return gv.load_model(tmp_path / "odd.pt")

    contents = (b"", b"PK\x03\x04 half", b"text")
    check_refused(read, [(content, "holds no model") for content in contents])
    with pytest.raises(InputError, match="is not there"):
        gv.load_model(tmp_path / "none.pt")
    with pytest.raises(InputError, match=r"town\.npz has the unsupported format \.npz: use \.pt"):
        gv.save(model, tmp_path / "town.npz")


NO_MODELS = [
    (experiment_of("structure", epsilon=None, settings={}), "structure learns about the users that it has"),
    (experiment_of("veil", settings={}), "veil learns about the users that it has"),
    (
        experiment_of("heterorr", settings={}),
        "heterorr reads those attributes that reports single out, .* take one of base, .* again when people have joined",
    ),
    (
        experiment_of("solitude", settings={}),
        "solitude is for private links and learns a weight for each that was reported",
    ),
    (experiment_of(link_epsilon=2.0), "a model is for public links"),
    (experiment_of(norm_epsilon=1.0), "leave norm_epsilon out"),
    (experiment_of(task="link"), "take the task node"),
]


def test_what_cannot_be_applied_to_others_is_refused():
    check_refused(check_model, [(spec, re.compile(words)) for spec, words in NO_MODELS])


def test_a_graph_that_has_not_grown_out_of_the_first_is_refused(model):
    rows = np.random.default_rng(0).random((200, 3))
    other = gv.from_arrays([[0, 1]], rows, np.arange(200) % 2, range=(0, 1))
    wrong = [
        (first(100)[:1], {}, "begins with the 200 users of the training, got 100"),
        (first(240), {"seed": 0}, "seed must not be 0"),
        (other, {}, "trained on 16 features, got 3"),
    ]
    check_refused(lambda given, more: model.predict(*given, **more), wrong)
