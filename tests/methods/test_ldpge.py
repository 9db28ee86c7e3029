"""ldpge: the network sees Z, links are told by Z over training links, and parameters mean what they say."""

import numpy as np
import pytest

from graphveil import InputError
from graphveil.graphs import from_arrays, hold_out_links
from graphveil.methods import METHODS, feature_plan
from graphveil.methods.check import Trial, declared, learn, make_job, small_data
from graphveil.methods.method import tuned_settings
from tests.methods.suite import chosen_trials, run_trial

LDPGE = METHODS.find("ldpge")


def dense_inverse(graph, alpha, r):
    """α(I - (1-α)P)^-1, users without neighbours with a loop."""
    matrix = np.zeros((graph.node_count,) * 2)
    matrix[tuple(graph.edge_list())] = 1
    matrix[graph.degrees == 0, graph.degrees == 0] = 1
    degree = np.maximum(graph.degrees, 1).astype(float)
    hops = degree[:, None] ** (r - 1) * matrix * degree[None, :] ** -r
    return alpha * np.linalg.inv(np.eye(len(matrix)) - (1 - alpha) * hops)


@pytest.mark.parametrize("algorithm", ["push", "power", "chebyshev"])
@pytest.mark.parametrize("r", [0.0, 0.3, 1.0])
def test_the_embedding_is_the_exact_one_within_r_max(algorithm, r):
    graph, users = small_data()
    settings = {"alpha": 0.2, "r": r, "r_max": 1e-3, "k": 20, "algorithm": algorithm}
    trial = Trial(settings)
    job = make_job(LDPGE, graph, declared(LDPGE, graph, users, trial)[0], trial)
    embedding = LDPGE.embed(job)
    again = declared(LDPGE, graph, users, trial)[0].report(feature_plan(job, sampled=20))
    reports = again.estimate().to_scipy().toarray() / again.mechanism.largest
    error = np.abs(embedding - dense_inverse(graph, 0.2, r) @ reports)
    allowed = np.maximum(graph.degrees, 1)[:, None] ** r * 1e-3
    assert (error <= allowed).all()
    assert np.abs(embedding).max() > 50 * error.max()


def binary(users, linked, labels):
    """A graph in which only some are linked, at random."""
    random = np.random.default_rng(0)
    features = (random.random((users, 40)) < 0.3).astype(np.uint8)
    pairs = random.integers(0, linked, (2 * users, 2))
    return from_arrays(pairs, features, labels, range=(0, 1), binary=True)


def test_users_without_neighbours_keep_their_report():
    graph, users = binary(60, 50, np.arange(60) % 3)
    alone = graph.degrees == 0
    assert alone.sum() >= 10
    trial = Trial({"k": 5})
    job = make_job(LDPGE, graph, declared(LDPGE, graph, users, trial)[0], trial)
    embedding = LDPGE.embed(job)
    again = declared(LDPGE, graph, users, trial)[0].report(feature_plan(job, sampled=5))
    own = again.estimate().to_scipy().toarray() / again.mechanism.largest
    np.testing.assert_allclose(embedding[alone], own[alone], rtol=1e-6)


def test_it_embeds_a_graph_without_labels():
    graph, users = binary(50, 50, None)
    asked, ledger = declared(LDPGE, graph, users, Trial({}))
    assert LDPGE.embed(make_job(LDPGE, graph, asked, Trial({}))).shape == (50, 40)
    assert ledger.total("features").epsilon == 1.0


@pytest.mark.parametrize("mechanism", ["multibit", "piecewise", "square-wave"])
def test_the_document_s_competitors_go_through_the_same_pipeline(mechanism):
    graph, users = small_data()
    outcome = learn(LDPGE, graph, users, Trial(options={"mechanism": mechanism}))
    assert outcome.scores.shape == (graph.node_count, graph.class_count)


def test_links_need_all_of_the_embedding_of_which_laplace_answers_every_value():
    data, terms = small_data(task="link"), {"mechanism": "laplace"}
    assert learn(LDPGE, *data, Trial(task="link", options=terms)).validation_score > 0
    with pytest.raises(InputError, match=r"a column a feature.*max_memory"):
        learn(LDPGE, *data, Trial(task="link", options={"max_memory": 1e-5}))


def test_only_k_values_are_asked():
    graph, users = small_data()
    trial = Trial({"k": 7})
    asked, _ = declared(LDPGE, graph, users, trial)
    job = make_job(LDPGE, graph, asked, trial)
    assert feature_plan(job, sampled=job.settings.k).build().shape.length == 7
    assert LDPGE.questions(job).claims["features"].epsilon == 1.0


@pytest.mark.parametrize(("name", "settings", "trial"), chosen_trials("ldpge"))
def test_other_settings_pass_the_suite(name, settings, trial):
    run_trial(name, settings, trial)


def test_links_between_alike_users_are_found():
    random = np.random.default_rng(0)
    users = 200
    side = np.arange(users) % 2
    pairs = random.integers(0, users, (3000, 2))
    pairs = pairs[side[pairs[:, 0]] == side[pairs[:, 1]]]
    features = (random.random((users, 40)) < 0.5).astype(np.uint8)
    graph, holders = hold_out_links(
        *from_arrays(pairs, features, side, range=(0, 1), binary=True, name="sides"), seed=0
    )
    outcome = learn(LDPGE, graph, holders, Trial({"k": 10}, task="link"))
    assert holders.evaluate_links(outcome.pair_scores, graph) > 0.65


def test_the_document_s_graphs_have_settings_of_their_own():
    assert tuned_settings(LDPGE, "cora", "node", "hds") != {}
    assert "k" not in tuned_settings(LDPGE, "cora", "node", "multibit")
    assert tuned_settings(LDPGE, "nobody", "node", "hds") == {}
    given = LDPGE.settings.of({**tuned_settings(LDPGE, "cora", "node", "hds"), "alpha": 0.77})
    assert given.alpha == 0.77
