"""The posterior of graph and labels: calibrated, from any method's job, and blind to test users."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from graphveil import methods
from graphveil.errors import InputError
from graphveil.graphs import load
from graphveil.learn import log_losses
from graphveil.methods import METHODS, Job, StructureSettings, structure_posterior
from graphveil.methods.method import begin
from graphveil.methods.structure import label_reach, scores_of
from graphveil.methods.tasks import LINK
from tests.graphs.real import needs_data
from tests.learn.graphs import as_graph
from tests.methods.test_structure import ODD, Nobody, clubs, communities, masks

SHORT = StructureSettings(epochs=5)


def calibration_error(rows, labels, bins=15):
    """The expected calibration error (Guo et al. 2017): how far the chance of the likeliest class is from how often it is right."""
    sure, right = rows.max(axis=1), rows.argmax(axis=1) == labels
    place = np.minimum((sure * bins).astype(np.int64), bins - 1)
    return float(np.abs(np.bincount(place, weights=sure - right, minlength=bins)).sum() / len(rows))


def job_of(graph, seed=0, settings=None, **options):
    return Job.of(graph, Nobody(), settings, seed=seed, **options)


@cache
def in_communities():
    """A graph and its posterior, at which several tests look."""
    graph, _ = communities()
    return graph, structure_posterior(job_of(graph), SHORT)


def test_it_takes_the_job_of_any_method():
    graph, _ = communities()
    settings = METHODS.find("base").settings.of({"epochs": 7})
    found = structure_posterior(job_of(graph, settings=settings), SHORT)
    assert found.rows.dtype == np.float64
    assert found.rows.shape == (graph.node_count, graph.class_count)
    assert np.allclose(found.rows.sum(1), 1)
    assert (found.rows >= 0).all()
    # The defaults are those of structure.
    job = job_of(communities(users=60)[0])
    assert np.array_equal(structure_posterior(job).rows, structure_posterior(job, StructureSettings()).rows)


def test_raw_rows_are_those_by_which_structure_scores():
    graph, found = in_communities()
    outcome = METHODS.find("structure").run(job_of(graph, settings=SHORT))
    assert np.array_equal(scores_of(found.raw, several=False), outcome.scores)
    assert (found.detail, found.validation_score) == (outcome.detail, outcome.validation_score)


def test_training_users_have_their_label_and_calibration_keeps_everybody_s_likeliest_class():
    graph, found = in_communities()
    assert np.array_equal(found.rows[graph.train], np.eye(3)[graph.labels[graph.train]])
    others = ~graph.train
    assert (found.rows[others].max(1) < 1).all()
    assert np.array_equal(found.rows[others].argmax(1), found.raw[others].argmax(1))
    labels = graph.labels[graph.validation]
    likelihoods = found.rows[graph.validation][np.arange(len(labels)), labels]
    assert found.validation_loss == pytest.approx(-np.log(likelihoods).mean())


def test_a_reported_label_is_not_certain():
    graph, users = communities()
    method = METHODS.find("structure")
    job = begin(method, Job.of(graph, users.declare(1.0, seed=0), SHORT, seed=0, label_epsilon=1.0))
    found = structure_posterior(job, SHORT)
    assert (found.rows[graph.train].max(1) < 1).all()
    assert np.isfinite(found.validation_loss)


def test_a_validation_user_s_own_label_does_not_set_the_own_temperature():
    graph, _ = communities(users=900)
    user = np.flatnonzero(graph.validation)[3]
    labels = graph.labels.copy()
    labels[user] = (labels[user] + 1) % 3
    # One candidate that is not trained: nothing but temperatures depends on validation labels.
    alone = StructureSettings(epochs=1, blend=1)
    first, second = (
        structure_posterior(job_of(each), alone) for each in (graph, replace(graph, labels=labels))
    )
    assert first.detail == second.detail
    assert np.array_equal(first.raw, second.raw)
    assert np.array_equal(first.rows[user], second.rows[user])
    assert not np.array_equal(first.rows[graph.test], second.rows[graph.test])


def test_the_reach_is_the_mass_of_labels_whatever_they_are():
    # A path 0 - 1 - 2 and a user alone; only the first trains.
    graph = as_graph([[0, 1], [1, 2]], np.array([1, 0, 1, 0]), 1, masks(4, [0], [1]))
    looped = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]], dtype=float)
    degrees = looped.sum(1)
    matrix, known = looped / np.sqrt(np.outer(degrees, degrees)), np.eye(4)[0]
    expected = known
    for _ in range(10):
        expected = 0.9 * matrix @ expected + 0.1 * known
    assert label_reach(graph, 0.9).tolist() == pytest.approx(expected.tolist(), abs=1e-6)
    assert expected[3] == 0


@pytest.mark.parametrize("graph", ODD.values(), ids=ODD)
def test_odd_graphs_have_probabilities(graph):
    found = structure_posterior(job_of(graph), SHORT)
    assert np.isfinite(found.rows).all()
    assert np.allclose(found.rows.sum(1), 1)


def test_several_labels_have_a_probability_each():
    graph, _ = clubs()
    found = structure_posterior(job_of(graph), SHORT)
    assert ((found.rows >= 0) & (found.rows <= 1)).all()
    assert np.array_equal(found.rows[graph.train], graph.labels[graph.train])
    assert np.isfinite(found.validation_loss)


def test_it_is_public_and_refused_where_links_are_predicted():
    assert {"Posterior", "StructureSettings", "structure_posterior"} <= set(methods.__all__)
    graph, _ = LINK.divide(*communities(), seed=0)
    with pytest.raises(InputError, match="this job predicts links: take the task node"):
        structure_posterior(job_of(graph))


# The most that log loss may rise on test users, and how far sureness may be from being right.
NOISE, WORST_ERROR = 0.005, 0.08


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=needs_data(name)) for name in ("cora", "citeseer", "facebook")]
)
def test_on_real_graphs_test_users_lose_no_more_than_before(name):
    graph, users = load(name, 100)
    found = structure_posterior(job_of(graph, seed=100))
    # The test looks at labels of test users; the method cannot.
    labels, raw = users.raw.labels[graph.test], found.raw[graph.test].astype(np.float64)
    rows = found.rows[graph.test]
    assert log_losses(rows, labels).mean() <= log_losses(raw, labels).mean() + NOISE
    error = calibration_error(rows, labels)
    assert error <= min(WORST_ERROR, calibration_error(raw, labels)), error
