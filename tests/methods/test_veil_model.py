"""Where veil's public model comes from: files of weights and what is wrong with them, volunteers, reports, whose class is asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from graphveil.channels.sampling import SeededBits
from graphveil.errors import InputError
from graphveil.graphs import from_arrays
from graphveil.graphs.panel import Panel
from graphveil.mechanisms import mechanism
from graphveil.mechanisms.rows import PublicRange
from graphveil.methods.veil_model import (
    CentredRange,
    clearly_more,
    model_from_panel,
    model_from_reports,
    read_weights,
)
from tests.refusals import not_refused

CLASSES, FEATURES = 3, 4
WEIGHTS = np.array([[2.0, 0, 0, 0.5], [0, 2.0, 0, -0.5], [0, 0, 2.0, 0]])
BIAS = np.array([0.1, 0.0, -0.3])


def people(users=60, features=FEATURES, public=(0, 1), seed=0):
    random = np.random.default_rng(seed)
    labels = np.arange(users) % CLASSES
    pairs = random.integers(0, users, (users * 2, 2))
    rows = random.random((users, features)) * 0.4
    rows[np.arange(users), labels] += 0.6
    low, high = public
    return from_arrays(pairs, low + rows * (high - low), labels, range=public, seed=0, name="people")


GRAPH, USERS = people()


def file_of(tmp_path, **arrays):
    path = tmp_path / "weights.npz"
    np.savez(path, **{"weights": WEIGHTS, "bias": BIAS, **arrays})
    return path


def scores_of(found, rows):
    """What clients score, in the floats' unit."""
    integers = found.model.integers(rows, GRAPH.public_range)
    return found.model.scores(integers)[0] / found.scale


# Files of weights


def test_a_linear_model_scores_as_the_file_says(tmp_path):
    found = read_weights(file_of(tmp_path), GRAPH)
    rows = USERS.raw.features[:10]
    np.testing.assert_allclose(scores_of(found, rows), rows @ WEIGHTS.T + BIAS, atol=0.02)


def test_classes_that_it_learned_from_do_not_count_where_their_shares_are_told(tmp_path):
    plain, without = (
        read_weights(file_of(tmp_path), GRAPH),
        read_weights(file_of(tmp_path, shares=[2, 1, 1]), GRAPH),
    )
    rows = USERS.raw.features[:5]
    expected = np.broadcast_to(-np.log([0.5, 0.25, 0.25]), (5, CLASSES))
    np.testing.assert_allclose(scores_of(without, rows) - scores_of(plain, rows), expected, atol=0.02)


def test_a_hidden_layer_is_evaluated(tmp_path):
    random = np.random.default_rng(1)
    first, first_bias = random.normal(size=(5, FEATURES)), random.normal(size=5)
    weights = random.normal(size=(CLASSES, 5))
    path = file_of(tmp_path, weights=weights, first=first, first_bias=first_bias)
    found = read_weights(path, GRAPH)
    rows = USERS.raw.features[:10]
    hidden = np.maximum(rows @ first.T + first_bias, 0)
    np.testing.assert_allclose(scores_of(found, rows), hidden @ weights.T + BIAS, atol=0.05)


def test_a_file_may_say_that_rows_are_divided_by_their_length(tmp_path):
    assert read_weights(file_of(tmp_path, unit=True), GRAPH).model.unit
    assert not read_weights(file_of(tmp_path), GRAPH).model.unit


def test_nothing_is_known_of_how_good_a_public_model_is(tmp_path):
    found = read_weights(file_of(tmp_path), GRAPH)
    assert (found.gain, found.own, found.about) == (None, None, "self")


def test_a_file_that_does_not_fit_is_refused_with_what_was_expected(tmp_path):
    wrong = [
        ({"weights": WEIGHTS[:2]}, "a model of 2 classes and 4 features, and people has 3 and 4"),
        ({"weights": WEIGHTS[:, :3]}, "a model of 3 classes and 3 features, and people has 3 and 4"),
        ({"weights": WEIGHTS[0]}, "weights must be numbers of 2 dimensions"),
        ({"weights": np.float64(1.0)}, "weights must be numbers of 2 dimensions"),
        ({"weights": np.array([["a"] * 4] * 3)}, "weights must be numbers of 2 dimensions"),
        ({"bias": np.array(["a"] * 3)}, "bias must be numbers of 1 dim"),
        ({"bias": BIAS[:2]}, "biases one an output"),
        ({"bias": BIAS * np.nan}, "must be finite numbers"),
        ({"weights": WEIGHTS + np.inf}, "must be finite numbers"),
        ({"shares": [1, 1]}, "shares must be 3 positive numbers"),
        ({"shares": [1, 1, 0]}, "shares must be 3 positive numbers"),
        ({"shares": [1, 1, np.nan]}, "shares must be 3 positive numbers"),
        ({"shares": [1, 1, np.inf]}, "shares must be 3 positive numbers"),
        ({"shares": ["a", "b", "c"]}, "shares must be numbers of 1 dim"),
        ({"first": np.ones((5, FEATURES))}, "has no array first_bias"),
        ({"weights": np.ones((CLASSES, 5)), "first": np.ones((5, FEATURES))}, "has no array first_bias"),
        (
            {"first": np.ones((5, FEATURES)), "first_bias": np.ones(5)},
            "5 hidden units do not fit weights that take 4",
        ),
        (
            {"weights": np.ones((CLASSES, 5)), "first": np.array([["a"] * 4] * 5), "first_bias": np.ones(5)},
            "first",
        ),
        ({"unit": np.array([True, False])}, "unit"),
    ]
    failed = not_refused(lambda arrays: read_weights(file_of(tmp_path, **arrays), GRAPH), wrong)
    assert not failed, failed


def test_a_file_without_weights_is_refused(tmp_path):
    path = tmp_path / "weights.npz"
    np.savez(path, bias=BIAS)
    with pytest.raises(InputError, match="has no array weights: a file of weights is an .npz"):
        read_weights(path, GRAPH)


def test_objects_are_not_unpickled(tmp_path):
    with pytest.raises(InputError, match="shares is not a model's array: it must hold numbers"):
        read_weights(file_of(tmp_path, shares=np.array([{}, {}, {}], dtype=object)), GRAPH)


def test_a_broken_file_is_refused(tmp_path):
    path, words = tmp_path / "weights.npz", "is not a model in an .npz file, or is damaged"
    broken = [b"", b"not an npz", b"PK\x03\x04broken", b"\x93NUMPY\x01\x00broken"]
    failed = not_refused(
        lambda content: [path.write_bytes(content), read_weights(path, GRAPH)],
        [(content, words) for content in broken],
    )
    assert not failed, failed


def test_a_single_array_is_no_file_of_weights(tmp_path):
    path = tmp_path / "weights.npy"
    np.save(path, WEIGHTS)
    with pytest.raises(InputError, match="is not a model in an .npz file, or is damaged"):
        read_weights(path, GRAPH)


def test_a_folder_is_no_file_of_weights(tmp_path):
    with pytest.raises(InputError, match=r"cannot be read \(Is a directory\)"):
        read_weights(tmp_path, GRAPH)


# Around what values are taken


@pytest.mark.parametrize(
    ("features", "public", "centre"),
    [
        (64, (0, 1), 0.5),
        (128, (0, 1), 0.5),
        (129, (0, 1), 0.0),
        (500, (-1, 1), 0.0),
        (500, (2, 4), 3.0),
        (5, (-1, 0), -0.5),
    ],
)
def test_values_are_taken_around_the_middle_unless_most_are_zero(features, public, centre):
    graph = replace(GRAPH, feature_count=features, public_range=PublicRange(*map(float, public)))
    assert CentredRange.of(graph).centre == centre


@pytest.mark.parametrize("centre", [0.0, 0.5])
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_volunteers_rows_are_clipped_like_everybody_s(kind, centre):
    moved = CentredRange(PublicRange(0.0, 1.0), centre).moved(
        kind(np.array([[3.0, 0.0, 0.25], [-2.0, 1.0, 0.0]]))
    )
    dense = moved.toarray() if hasattr(moved, "tocsr") else moved
    assert dense.tolist() == (np.array([[1.0, 0.0, 0.25], [0.0, 1.0, 0.0]]) - centre).tolist()


# Volunteers and reports


def targets_of(graph, users):
    near = np.full((graph.node_count, CLASSES), 1 / CLASSES)
    known = {"self": np.eye(CLASSES)[users.raw.labels], "neighbours": near}
    return known.__getitem__


@pytest.mark.parametrize("public", [(0, 1), (-1, 1), (2, 6)])
def test_what_volunteers_teach_is_what_clients_compute(public):
    """Classes that clients would report, of everybody's rows: nearly all right, as rows tell them."""
    graph, users = people(public=public)
    who = np.arange(0, 60, 2)
    graph = replace(graph, panel=Panel(who, users.raw.features[who]))
    found = model_from_panel(graph, targets_of(graph, users), "self", seed=0)
    integers = found.model.integers(users.raw.features, graph.public_range)
    right = found.model.scores(integers)[0].argmax(axis=1) == users.raw.labels
    assert right.mean() > 0.9
    assert found.own.shape == (30, CLASSES)


def test_own_scores_are_not_kept_where_the_question_is_about_neighbours():
    graph = replace(GRAPH, panel=Panel(np.arange(30), USERS.raw.features[:30]))
    found = model_from_panel(graph, targets_of(graph, USERS), "neighbours", seed=0)
    assert (found.about, found.own) == ("neighbours", None)


@pytest.mark.parametrize("name", ["privunit", "multibit", "piecewise"])
@pytest.mark.parametrize("public", [(0, 1), (-1, 1), (2, 6)])
def test_what_reports_teach_is_what_clients_compute(name, public):
    """3,000 users at ε = 8: what noise is left does not matter, what scale and centre are does."""
    graph, users = people(3000, public=public)
    options = {"inputs": FEATURES, "centre": CentredRange.of(graph).centre} if name == "privunit" else {}
    built = mechanism(name, epsilon=8.0, dims=FEATURES, range=public, **options)
    reports = built.randomize(users.raw.features, SeededBits(0))
    found = model_from_reports(reports, graph, targets_of(graph, users), np.arange(3000), "self")
    integers = found.model.integers(users.raw.features, graph.public_range)
    right = found.model.scores(integers)[0].argmax(axis=1) == users.raw.labels
    assert right.mean() > 0.8


# Whose class is asked for


@pytest.mark.parametrize(
    ("own", "neighbours", "more"), [(1.0, 1.9, False), (1.0, 2.1, True), (0.0, 0.0, False), (-0.2, 0.1, True)]
)
def test_one_s_own_class_is_asked_for_unless_rows_clearly_tell_more_of_neighbours(own, neighbours, more):
    assert clearly_more(neighbours, own) is more


# What may come along


@pytest.mark.parametrize("public", [(0.1, 0.7), (-0.3, 1.1), (1e-3, 3e3), (-7.7, -0.1)], ids=str)
@pytest.mark.parametrize("features", [FEATURES, 130])
def test_any_range_can_be_taught_by_sketches(public, features):
    """Its middle is a point of the grid, however it is rounded."""
    graph, users = people(300, features, public=public)
    built = mechanism(
        "privunit", epsilon=8.0, dims=4, range=public, inputs=features, centre=CentredRange.of(graph).centre
    )
    reports = built.randomize(users.raw.features, SeededBits(0))
    found = model_from_reports(reports, graph, targets_of(graph, users), np.arange(300), "self")
    assert found.model.unit


@pytest.mark.parametrize("public", [(0.1, 0.7), (-0.3, 1.1), (-7.7, -0.1)], ids=str)
def test_any_range_can_be_taught_by_volunteers(public):
    graph, users = people(public=public)
    graph = replace(graph, panel=Panel(np.arange(40), users.raw.features[:40]))
    found = model_from_panel(graph, targets_of(graph, users), "self", seed=0)
    assert np.isfinite(found.scale)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_volunteers_teach_something_or_nothing(count):
    graph = replace(GRAPH, panel=Panel(np.arange(count), USERS.raw.features[:count]))
    found = model_from_panel(graph, targets_of(graph, USERS), "auto", seed=0)
    assert np.isfinite(found.gain)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_volunteers_with_nothing_in_their_rows_teach_nothing(kind):
    graph = replace(GRAPH, feature_count=200, panel=Panel(np.arange(6), kind(np.zeros((6, 200)))))
    found = model_from_panel(graph, targets_of(graph, USERS), "self", seed=0)
    assert not found.model.weights.array.any()


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_volunteers_who_are_all_alike_teach_nothing_of_rows(kind):
    graph = replace(GRAPH, feature_count=200, panel=Panel(np.arange(6), kind(np.ones((6, 200)))))
    found = model_from_panel(graph, targets_of(graph, USERS), "self", seed=0)
    assert np.isfinite(found.gain)
