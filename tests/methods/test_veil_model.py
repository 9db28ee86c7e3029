"""Where veil's public model comes from: files of weights and what is wrong with them, volunteers, reports, whose class is asked."""

from __future__ import annotations

import io
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
from tests.refusals import check_refused, not_refused

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
    # Nothing is known of how good it is.
    assert (found.gain, found.own, found.about) == (None, None, "self")
    assert not found.model.unit and read_weights(file_of(tmp_path, unit=True), GRAPH).model.unit


def test_classes_that_it_learned_from_do_not_count_where_their_shares_are_told(tmp_path):
    plain = read_weights(file_of(tmp_path), GRAPH)
    without = read_weights(file_of(tmp_path, shares=[2, 1, 1]), GRAPH)
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


def test_what_is_no_file_of_weights_is_refused(tmp_path):
    def read(content):
        (tmp_path / "weights.npz").write_bytes(content)
        return read_weights(tmp_path / "weights.npz", GRAPH)

    def saved(save, *values, **arrays):
        stream = io.BytesIO()
        save(stream, *values, **arrays)
        return stream.getvalue()

    objects = np.array([{}, {}, {}], dtype=object)
    damaged = "is not a model in an .npz file, or is damaged"
    broken = [b"", b"not an npz", b"PK\x03\x04broken", b"\x93NUMPY\x01\x00broken", saved(np.save, WEIGHTS)]
    check_refused(
        read,
        [
            (saved(np.savez, bias=BIAS), "has no array weights: a file of weights is an .npz"),
            (
                saved(np.savez, weights=WEIGHTS, bias=BIAS, shares=objects),
                "shares is not a model's array: it must hold numbers",
            ),
            *((content, damaged) for content in broken),
        ],
    )
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


def by_volunteers(who, rows=None, about="self", of=(GRAPH, USERS), **change):
    """What these volunteers teach; their rows are their own unless others are given."""
    graph, users = of
    rows = users.raw.features[who] if rows is None else rows
    return model_from_panel(replace(graph, panel=Panel(who, rows), **change), targets_of(*of), about, seed=0)


def by_reports(name, of, **options):
    """What everybody's reports teach at ε = 8."""
    graph, users = of
    public = (graph.public_range.low, graph.public_range.high)
    if name == "privunit":
        options |= {"inputs": graph.feature_count, "centre": CentredRange.of(graph).centre}
    built = mechanism(name, epsilon=8.0, range=public, **{"dims": graph.feature_count, **options})
    reports = built.randomize(users.raw.features, SeededBits(0))
    return model_from_reports(reports, graph, targets_of(*of), np.arange(len(users)), "self")


def share_right(found, of):
    """Of how many clients would report their class, which nearly all rows tell."""
    graph, users = of
    integers = found.model.integers(users.raw.features, graph.public_range)
    return (found.model.scores(integers)[0].argmax(axis=1) == users.raw.labels).mean()


@pytest.mark.parametrize("public", [(0, 1), (-1, 1), (2, 6)])
def test_what_volunteers_teach_is_what_clients_compute(public):
    of = people(public=public)
    found = by_volunteers(np.arange(0, 60, 2), of=of)
    assert share_right(found, of) > 0.9
    assert found.own.shape == (30, CLASSES)


def test_own_scores_are_not_kept_where_the_question_is_about_neighbours():
    found = by_volunteers(np.arange(30), about="neighbours")
    assert (found.about, found.own) == ("neighbours", None)


@pytest.mark.parametrize("name", ["privunit", "multibit", "piecewise"])
@pytest.mark.parametrize("public", [(0, 1), (-1, 1), (2, 6)])
def test_what_reports_teach_is_what_clients_compute(name, public):
    """3,000 users: what noise is left does not matter, what scale and centre are does."""
    of = people(3000, public=public)
    assert share_right(by_reports(name, of), of) > 0.8


# Whose class is asked for


@pytest.mark.parametrize(
    ("own", "neighbours", "more"), [(1.0, 1.9, False), (1.0, 2.1, True), (0.0, 0.0, False), (-0.2, 0.1, True)]
)
def test_one_s_own_class_is_asked_for_unless_rows_clearly_tell_more_of_neighbours(own, neighbours, more):
    assert clearly_more(neighbours, own) is more


# What may come along


@pytest.mark.parametrize("public", [(0.1, 0.7), (-0.3, 1.1), (1e-3, 3e3), (-7.7, -0.1)], ids=str)
def test_any_range_can_be_taught_by_sketches_and_by_volunteers(public):
    """Its middle is a point of the grid, however it is rounded."""
    for features in (FEATURES, 130):
        assert by_reports("privunit", people(300, features, public=public), dims=4).model.unit
    assert np.isfinite(by_volunteers(np.arange(40), of=people(public=public)).scale)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_volunteers_who_are_few_or_alike_teach_something_or_nothing(kind):
    for count in (1, 2, 3):
        assert np.isfinite(by_volunteers(np.arange(count), about="auto").gain)
    empty, alike = (
        by_volunteers(np.arange(6), kind(np.full((6, 200), value)), feature_count=200) for value in (0.0, 1.0)
    )
    assert not empty.model.weights.array.any()
    assert np.isfinite(alike.gain)
