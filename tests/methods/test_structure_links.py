"""structure where links are predicted."""

import numpy as np
import pytest

from graphveil.graphs.convert import from_arrays
from graphveil.graphs.links import KnownLinks, LinkPairs, hold_out_links
from graphveil.graphs.metrics import area_under_curve
from graphveil.methods import METHODS, Job
from graphveil.methods.structure import EMBEDDING, TREES, LinkBlend, LinkCandidates, rank_shares
from tests.methods.test_structure import Nobody

METHOD = METHODS.find("structure")


def run(graph, **settings):
    return METHOD.run(Job.of(graph, Nobody(), METHOD.settings.of(settings), seed=0))


def blocks(users=240, links=3000, groups=8, inside=0.9, seed=0):
    """Groups; nine in ten links are inside one."""
    random = np.random.default_rng(seed)
    group = random.integers(0, groups, users)
    pairs = random.integers(0, users, (links * groups, 2))
    same = group[pairs[:, 0]] == group[pairs[:, 1]]
    pairs = pairs[same | (random.random(len(pairs)) < (1 - inside) / groups)][:links]
    return hold_out_links(*from_arrays(pairs, users=users, name="blocks"), seed=seed)


def test_it_finds_planted_blocks_and_says_how():
    graph, users = blocks()
    outcome = run(graph)
    reached = users.evaluate_links(outcome.pair_scores, graph)
    assert reached > 0.85
    assert outcome.validation_score == pytest.approx(reached, abs=0.08)
    assert outcome.validation_loss == pytest.approx(1 - outcome.validation_score)
    assert outcome.scores is None
    # The embedding has a row a user.
    assert outcome.embedding.shape == (graph.node_count, EMBEDDING)
    assert outcome.embedding.dtype == np.float32
    assert np.isfinite(outcome.embedding).all()
    names = {*LinkCandidates(graph).names, TREES}
    assert set(outcome.detail.split(" + ")) <= names
    assert run(graph, blend=1).detail in names
    # The order and the company of pairs do not matter.
    pairs = np.random.default_rng(0).integers(0, graph.node_count, (300, 2))
    first = outcome.pair_scores(pairs)
    assert np.array_equal(first, outcome.pair_scores(pairs[:, ::-1].copy()))
    assert np.array_equal(first[40:60], outcome.pair_scores(pairs[40:60]))
    assert outcome.pair_scores(pairs[:0]).shape == (0,)


def test_links_at_random_are_not_predicted():
    graph, users = hold_out_links(
        *from_arrays(np.random.default_rng(0).integers(0, 400, (4000, 2)), users=400), seed=0
    )
    assert abs(users.evaluate_links(run(graph).pair_scores, graph) - 0.5) < 0.1


def test_one_alone_is_the_best_candidate_on_validation_pairs_and_each_scores_every_pair_alike():
    graph, _ = blocks(links=600)
    known = graph.links.validation
    pairs = np.concatenate([known.linked, known.unlinked])
    wanted = np.arange(len(pairs)) < len(known.linked)
    candidates = LinkCandidates(graph)
    scores = candidates.scores(pairs, candidates.names)
    best = max(area_under_curve(values, wanted) for values in scores.values())
    # So few pairs are no ground for trees.
    assert run(graph, blend=1).validation_score == pytest.approx(best)
    assert run(graph).validation_score >= best
    pairs = graph.links.train.unlinked[:50]
    every = candidates.scores(pairs, candidates.names)
    assert list(every) == candidates.names
    for name in candidates.names:
        assert np.array_equal(candidates.scores(pairs, [name])[name], every[name])


def test_trees_are_judged_on_pairs_they_have_not_seen():
    graph, _ = blocks()
    known = graph.links
    pairs = np.concatenate([known.validation.linked, known.validation.unlinked])
    shuffled = pairs[np.random.default_rng(0).permutation(len(pairs))]
    half = len(known.validation.linked)
    # Half of the validation links are called unlinked: nothing is left to learn.
    noise = LinkPairs(np.ascontiguousarray(shuffled[:half]), np.ascontiguousarray(shuffled[half:]))
    object.__setattr__(graph, "links", KnownLinks(known.train, noise))
    blend = LinkBlend(graph, 1)
    assert blend.trees is not None
    linked = np.arange(len(pairs)) < half
    assert area_under_curve(blend.trees.unseen, linked) < 0.62


@pytest.mark.parametrize("users", [12, 30, 500])
def test_a_handful_of_links_is_enough(users):
    random = np.random.default_rng(1)
    pairs = np.stack(np.triu_indices(12, 1), axis=1)[random.permutation(66)[:24]]
    graph, holders = hold_out_links(*from_arrays(pairs, users=users), seed=0)
    outcome = run(graph)
    assert np.isfinite([outcome.validation_score, holders.evaluate_links(outcome.pair_scores, graph)]).all()
    assert np.isfinite(outcome.embedding).all()


def test_ranks_count_ties_half_and_take_any_score():
    shares = rank_shares(np.array([1.0, 1.0, 2.0, 5.0]), np.array([0.0, 1.0, 3.0, 9.0]))
    assert shares.tolist() == [0.0, 0.25, 0.75, 1.0]
