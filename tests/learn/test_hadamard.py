"""Logistic regression on Hadamard products: it finds the columns that tell links, and is chosen by validation pairs."""

import numpy as np
import pytest

from graphveil.graphs import from_arrays, hold_out_links
from graphveil.graphs.links import KnownLinks, LinkPairs
from graphveil.learn.link_scores import fit_links
from graphveil.learn.training import Schedule

USERS = 100


def pairs_of(count, seed):
    random = np.random.default_rng(seed)
    drawn = np.sort(random.integers(0, USERS, (8 * count, 2)), axis=1)
    drawn = drawn[drawn[:, 0] != drawn[:, 1]]
    alike = drawn[:, 0] % 2 == drawn[:, 1] % 2
    return LinkPairs(drawn[alike][:count], drawn[~alike][:count])


LINKS = KnownLinks(pairs_of(300, 0), pairs_of(200, 1))


def telling_and_noise(noise=5):
    """One column that tells even from odd users, and others that tell nothing."""
    random = np.random.default_rng(1)
    side = np.where(np.arange(USERS) % 2, 1.0, -1.0)
    return np.c_[side, 3 * random.standard_normal((USERS, noise))].astype(np.float32)


def test_the_column_that_tells_gets_the_weight_and_without_epochs_all_count_alike():
    rows = telling_and_noise()
    alike, start = fit_links(rows, 0, LINKS, Schedule(0), seed=0)
    weights, reached = fit_links(rows, 0, LINKS, Schedule(40, 0.1, patience=3), seed=0)
    assert reached > start + 0.1
    assert weights[0] > 2 * np.abs(weights[1:]).max()
    np.testing.assert_array_equal(alike, np.ones(6))


@pytest.mark.parametrize("telling", [True, False])
def test_the_public_column_counts_as_much_as_validation_pairs_say(telling):
    rows = telling_and_noise()
    rows = rows[:, [1, 2, 3, 4, 5, 0]] if telling else rows
    weights = fit_links(rows, 1, LINKS, Schedule(0), seed=0)[0]
    assert (weights[-1] > 10) if telling else (weights[-1] < 1)


def test_the_same_seed_gives_the_same_weights():
    one, again = (
        fit_links(telling_and_noise(), 1, LINKS, Schedule(5, 0.1, patience=3), seed=3)[0] for _ in range(2)
    )
    np.testing.assert_array_equal(one, again)


def test_the_best_epoch_is_never_worse_than_the_start():
    random = np.random.default_rng(0)
    graph = hold_out_links(
        *from_arrays(random.integers(0, USERS, (600, 2)), None, np.arange(USERS) % 2), seed=0
    )[0]
    rows = random.standard_normal((USERS, 30)).astype(np.float32)
    start, fitted = (fit_links(rows, 0, graph.links, Schedule(n, 1.0, patience=3), seed=0)[1] for n in (0, 5))
    assert fitted >= start
