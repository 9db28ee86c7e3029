from dataclasses import replace

import numpy as np
import pytest
import torch

from graphveil.errors import InputError
from graphveil.graphs import load
from graphveil.graphs.convert import from_arrays
from graphveil.graphs.splits import Split
from graphveil.methods import METHODS, Job
from graphveil.methods.structure import blended, candidates, forget_blends, scores_of, validation_quality
from tests.learn.graphs import as_graph

METHOD = METHODS.find("structure")


class Nobody:
    """Users who must not be asked anything."""

    def __getattribute__(self, name):
        raise AssertionError(f"structure must not touch users, it asked for {name}")


def job_of(graph, seed=0, progress=None, **settings):
    given = {"epochs": 5, **settings}
    return Job.of(graph, Nobody(), METHOD.settings.of(given), seed=seed, progress=progress)


def run(graph, **options):
    return METHOD.run(job_of(graph, **options))


def communities(users=300, seed=0, **options):
    """Three groups; two in three friends are of one's own group."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, users)
    pairs = random.integers(0, users, (users * 12, 2))
    pairs = pairs[(labels[pairs[:, 0]] == labels[pairs[:, 1]]) | (random.random(len(pairs)) < 0.25)]
    return from_arrays(pairs, labels=labels, users=users, seed=seed, **options)


def masks(users, train, validation):
    parts = [np.isin(np.arange(users), each) for each in (train, validation)]
    return Split(*parts, ~(parts[0] | parts[1]))


def test_it_beats_the_most_common_class_where_friends_are_alike_or_of_no_class_in_particular():
    graph, users = communities()
    result = run(graph, epochs=60)
    assert users.evaluate(result.scores, graph) > 0.8
    assert result.validation_score > 0.8
    graph, users = load("town", users=800)
    assert users.evaluate(run(graph, epochs=60).scores, graph) > 0.5
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 300)
    pairs = [(user, random.integers(0, 10) + 10 * labels[user]) for user in range(20, 300) for _ in range(2)]
    graph, users = from_arrays(np.array(pairs), labels=labels, users=300)
    result = run(graph, epochs=60)
    assert users.evaluate(result.scores, graph) > 0.85


def candidates_of(graph, **options):
    return candidates(job_of(graph), lambda rows: validation_quality(graph, rows), **options)


def test_candidates_are_chosen_by_validation_users_and_named():
    graph, _ = communities()
    known, result, alone = candidates_of(graph), run(graph), run(graph, blend=1)
    assert set(result.detail.split(" + ")) <= set(known)
    assert alone.detail in known
    best = max(validation_quality(graph, rows[graph.validation]) for rows in known.values())
    assert (alone.validation_score, alone.validation_loss) == pytest.approx((best[0], -best[1]))
    assert result.validation_score >= best[0]
    # The scores are logarithms of probabilities.
    assert result.scores.dtype == np.float32
    assert np.allclose(np.exp(result.scores).sum(1), 1, atol=1e-5)


def test_the_same_seed_gives_the_same_result_and_leaves_the_global_generator_alone():
    graph, _ = communities()
    torch.manual_seed(1)
    first = run(graph, seed=3)
    state = torch.random.get_rng_state()
    torch.rand(5)
    again = run(graph, seed=3)
    assert np.array_equal(first.scores, again.scores)
    assert first.detail == again.detail
    torch.manual_seed(1)
    assert torch.equal(state, torch.random.get_rng_state())
    one, other = (candidates(job_of(graph, seed=seed), lambda rows: 0.0) for seed in (0, 1))
    assert not np.array_equal(one["gnn on ids and labels"], other["gnn on ids and labels"])


@pytest.mark.parametrize("several", [False, True], ids=["one class", "several labels"])
def test_labels_of_validation_users_choose_and_are_never_learned_from(several):
    graph, _ = clubs() if several else communities()
    other = graph.labels.copy()
    other[graph.validation] = (other[graph.validation] + 1) % (2 if several else 3)
    # One epoch and a quality that never changes: there is nothing to choose.
    first, second = (
        candidates(job_of(each, epochs=1), lambda rows: 0.0) for each in (graph, replace(graph, labels=other))
    )
    assert all(np.array_equal(first[name], second[name]) for name in first)


ODD = {
    "no edges at all": as_graph(
        np.zeros((0, 2), int), np.arange(12) % 3, 1, masks(12, [0, 1, 2, 3], [4, 5, 6])
    ),
    "isolated users": as_graph([[0, 1], [1, 2]], np.arange(12) % 3, 1, masks(12, [0, 1, 8, 9], [2, 3, 10])),
    "two training users": as_graph(
        [[user, user + 1] for user in range(11)], np.arange(12) % 2, 1, masks(12, [0, 1], [2, 3])
    ),
    "one training user": as_graph([[0, 1], [1, 2]], np.arange(6) % 2, 1, masks(6, [0], [1, 2])),
    "one validation user": as_graph([[0, 1], [1, 2]], np.arange(6) % 2, 1, masks(6, [0, 1], [2])),
    "a class without training users": as_graph(
        [[user, (user * 5 + 1) % 12] for user in range(12)],
        np.arange(12) % 3,
        1,
        masks(12, [0, 1, 3, 4], [2, 5]),
    ),
    "everybody knows one": as_graph(
        [[0, user] for user in range(1, 12)], np.arange(12) % 2, 1, masks(12, [0, 1, 2, 3], [4, 5])
    ),
}


@pytest.mark.parametrize("graph", ODD.values(), ids=ODD)
def test_odd_graphs_give_finite_scores(graph):
    result = run(graph)
    assert result.scores.shape == (graph.node_count, graph.class_count)
    assert np.isfinite(result.scores).all()
    assert np.isfinite([result.validation_loss, result.validation_score]).all()


@pytest.mark.parametrize("part", ["train", "validation"])
def test_an_empty_split_is_refused(part):
    graph = ODD["isolated users"]
    with pytest.raises(InputError, match=f"structure needs {part} users with a label"):
        run(replace(graph, **{part: np.zeros(graph.node_count, dtype=bool)}))


def test_roc_auc_chooses_where_it_measures_and_validation_users_have_both_classes():
    graph = replace(ODD["two training users"], metric="roc_auc")
    rows = np.array([[0.2, 0.8], [0.1, 0.9]], dtype=np.float32)
    assert validation_quality(graph, rows)[0] == 1.0
    assert validation_quality(replace(graph, metric="accuracy"), rows)[0] == 0.5
    assert np.isfinite(run(graph).scores).all()
    graph = replace(ODD["one validation user"], metric="roc_auc")
    assert validation_quality(graph, np.array([[0.9, 0.1]], dtype=np.float32))[0] == 1.0


def test_progress_never_goes_back():
    shares = []
    run(communities()[0], progress=lambda what, share: shares.append(share))
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)


def clubs(users=300, seed=0):
    """Three clubs, any number a user; two who know each other are mostly members of the same ones."""
    random = np.random.default_rng(seed)
    group = random.integers(0, 8, users)
    labels = (group[:, None] >> np.arange(3)) & 1
    pairs = random.integers(0, users, (users * 30, 2))
    pairs = pairs[(group[pairs[:, 0]] == group[pairs[:, 1]]) | (random.random(len(pairs)) < 0.02)]
    return from_arrays(pairs, labels=labels, users=users, seed=seed)


def test_it_finds_several_labels_where_friends_are_alike_and_each_candidate_but_degrees_does():
    graph, users = clubs()
    result = run(graph, epochs=60)
    assert users.evaluate(result.scores, graph) > 0.9
    assert result.validation_score > 0.9
    each = candidates(job_of(graph, epochs=60), lambda rows: validation_quality(graph, rows))
    found = {name: users.evaluate(rows > 0.5, graph) for name, rows in each.items()}
    assert found.pop("degrees") < 0.8
    assert min(found.values()) > 0.85, found
    # A label that no training user has gives finite scores.
    labels = graph.labels.copy()
    labels[graph.train, 0] = 0
    assert np.isfinite(run(replace(graph, labels=labels)).scores).all()


def test_scores_of_several_labels_are_log_odds_chosen_by_f1_and_then_by_their_likelihood():
    rows = np.array([[0.5, 0.9], [0.0, 1.0]], dtype=np.float32)
    scores = scores_of(rows, several=True)
    assert scores.dtype == np.float32
    assert scores[0].tolist() == pytest.approx([0.0, np.log(9)], abs=1e-6)
    assert scores[1].tolist() == pytest.approx([np.log(1e-9), -np.log(1e-9)])
    graph, _ = clubs()
    graph = replace(graph, validation=np.arange(300) == np.flatnonzero(graph.validation)[0])
    held = graph.labels[graph.validation][0] > 0
    sure, unsure, wrong = (np.where(held, high, 1 - high)[None] for high in (0.9, 0.6, 0.4))
    (f1, likelihood), other, last = (validation_quality(graph, rows) for rows in (sure, unsure, wrong))
    assert (f1, other[0]) == ((1.0, 1.0) if held.any() else (0.0, 0.0))
    assert (likelihood, other[1], last[1]) == pytest.approx((np.log(0.9), np.log(0.6), np.log(0.4)))


def test_parts_of_a_run_share_a_blend_and_other_labels_have_another():
    graph, _ = load("town", users=300)
    job = job_of(graph)
    forget_blends()
    first = blended(job)
    assert blended(job)[0] is first[0]
    labels = graph.labels.copy()
    users = np.flatnonzero(graph.train)[:2]
    labels[users] = (labels[users] + 1) % graph.class_count
    assert blended(replace(job, graph=graph.with_labels(labels)))[0] is not first[0]
    assert blended(replace(job, seed=1))[0] is not first[0]
    forget_blends()
    again = blended(job)[0]
    assert again is not first[0] and np.array_equal(again, first[0])


def test_shared_candidates_have_no_parameters_for_each_user_and_the_detail_says_so():
    graph, _ = communities()
    assert list(candidates_of(graph, shared=True)) == ["degrees", "label propagation", "gnn on labels"]
    told = run(graph, candidates="shared").detail
    assert told.endswith("(of candidates without parameters for each user)")
    assert "ids" not in told and "link" not in told
