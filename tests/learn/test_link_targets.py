"""Targets of an encoder for links: the loss falls where linked users become alike, and the score is the curve's area."""

import numpy as np
import torch

from graphveil.graphs import from_arrays, hold_out_links
from graphveil.learn.targets import InnerProducts, LinkTargets


def two_groups(users=80):
    """Links within two groups of users only."""
    random = np.random.default_rng(0)
    pairs = random.integers(0, users // 2, (400, 2)) + (users // 2) * random.integers(0, 2, (400, 1))
    return hold_out_links(*from_arrays(pairs, None, np.arange(users) // (users // 2)), 0)[0]


def sides(users=80):
    rows = torch.zeros(users, 2)
    rows[: users // 2, 0] = rows[users // 2 :, 1] = 1
    return rows


def test_alike_where_linked_is_better_and_equal_scores_lose_as_much_as_a_coin():
    targets = LinkTargets(two_groups())
    torch.manual_seed(0)
    good, bad = sides(), torch.randn(80, 2)
    assert targets.train_loss(5 * good) < targets.train_loss(bad)
    assert targets.validation_score(good) > 0.6 > targets.validation_score(bad)
    assert np.isclose(float(targets.validation_loss(good)), 1 - targets.validation_score(good))
    assert np.isclose(float(targets.train_loss(torch.zeros(80, 2))), np.log(2))
    assert targets.validation_score(torch.zeros(80, 2)) == 0.5
    assert np.isnan(targets.validation_score(torch.full((80, 2), torch.nan)))


def test_the_loss_has_a_gradient_that_leads_down():
    torch.manual_seed(0)
    targets, rows = LinkTargets(two_groups()), (0.1 * torch.randn(80, 4)).requires_grad_()
    before = float(targets.train_loss(rows.detach()))
    optimizer = torch.optim.Adam([rows], lr=0.05)
    for _ in range(100):
        optimizer.zero_grad()
        targets.train_loss(rows).backward()
        optimizer.step()
    assert float(targets.train_loss(rows.detach())) < before / 2


def test_inner_products_score_any_pairs():
    rows = sides().numpy()
    score = InnerProducts(rows)
    np.testing.assert_array_equal(score(np.array([[0, 1], [0, 79], [79, 78]])), [1, 0, 1])
    weighted = InnerProducts(rows, np.array([2, 3], dtype=np.float32))
    np.testing.assert_array_equal(weighted(np.array([[0, 1], [79, 78]])), [2, 3])
