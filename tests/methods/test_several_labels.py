"""Several labels a user: who learns them, who refuses them, and what is never done with them."""

import re
from dataclasses import replace

import numpy as np
import pytest

from graphveil.graphs import Users, load
from graphveil.methods import METHODS
from graphveil.methods.check import (
    Trial,
    UnaskedUsers,
    answers,
    declared,
    learn,
    make_job,
    run,
    small_data,
)
from graphveil.methods.tasks import NODE
from graphveil.privacy import Nobody
from tests.refusals import not_refused

ABLE = [name for name in METHODS.own() if METHODS.find(name).can.several_labels]
OTHERS = [name for name in METHODS.own() if name not in ABLE]
SEVERAL = Trial(several_labels=True)


def test_what_ends_in_a_backbone_or_in_structure_alone_learns_them():
    assert {"nonprivate", "structure", "base"} <= set(ABLE)


def refusals(names, trial, words):
    """What of these methods is not refused so, before anybody is asked."""
    graph, users = small_data(several_labels=True)
    cases = [(name, words(name)) for name in names]
    return not_refused(lambda name: run(METHODS.find(name), graph, UnaskedUsers(), trial, users), cases)


def test_a_method_of_one_class_a_user_names_those_that_can():
    said = (
        "{} learns one class a user, and users of small have several labels each: take one of {}, or choose "
        "one of the labels with data.label=0..2"
    )
    failed = refusals(OTHERS, SEVERAL, lambda name: f"^{re.escape(said.format(name, ', '.join(ABLE)))}$")
    assert not failed, failed


def test_private_labels_are_refused_before_anybody_is_asked():
    words = "reports one class a user: leave it out, or choose one of the labels"
    failed = refusals(ABLE, replace(SEVERAL, label_epsilon=1.0), lambda name: words)
    assert not failed, failed


@pytest.mark.parametrize("name", [name for name in METHODS.own() if "link" in METHODS.find(name).can.tasks])
def test_links_are_predicted_as_if_nobody_had_labels(name):
    method, trial = METHODS.find(name), Trial(task="link")
    one, several = (
        answers(learn(method, *data, trial), data[0])
        for data in (small_data(task="link"), small_data(task="link", several_labels=True))
    )
    assert np.array_equal(one, several)


@pytest.mark.parametrize("name", ABLE)
def test_labels_of_test_users_change_nothing_and_those_of_validation_users_are_scored_by_f1(name):
    method, (graph, users) = METHODS.find(name), small_data(several_labels=True)
    raw = users.raw
    labels = np.where(graph.test[:, None], 1 - raw.labels, raw.labels)
    other = Users(raw.features, labels, neighbours=raw.neighbours, levels=raw.levels)
    first, second = (learn(method, graph, each, SEVERAL).scores for each in (users, other))
    assert np.array_equal(first, second)
    assert users.evaluate(first, graph) != other.evaluate(first, graph)
    outcome = learn(method, graph, users, replace(SEVERAL, settings={"epochs": 30}))
    found = outcome.scores[graph.validation] > 0
    held = graph.labels[graph.validation] > 0
    expected = 2 * (found & held).sum() / (found.sum() + held.sum())
    assert expected > 0
    assert outcome.validation_score == pytest.approx(expected)


def test_a_backbone_ends_in_a_column_a_label_and_norms_are_learned_beside():
    method, trial = METHODS.find("base"), replace(SEVERAL, norm_epsilon=1.0)
    graph, users = small_data(several_labels=True)
    assert NODE.output_count(make_job(method, graph, Nobody(), SEVERAL)) == 3
    outcome = run(method, graph, declared(method, graph, users, trial)[0], trial)
    assert outcome.scores.shape == (150, 3)
    assert outcome.norms.shape == (150,)


def test_in_a_town_raw_features_beat_what_structure_tells_and_that_beats_one_guess_for_everybody():
    graph, users = load("town-labels", users=1600)
    structure, plain = (
        users.evaluate(learn(METHODS.find(name), graph, users, Trial({"epochs": 60})).scores, graph)
        for name in ("structure", "nonprivate")
    )
    everything = users.evaluate(np.ones((1600, 4)), graph)
    assert everything < structure < plain
