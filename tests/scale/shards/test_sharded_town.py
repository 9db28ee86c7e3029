"""A town in shards has the statistics of a town in memory, and every link at both of its ends."""

import numpy as np
import pytest

from graphveil import InputError
from graphveil.graphs import LabelTown, Town, load, symmetric_csr
from graphveil.scale import load_whole, write_town
from graphveil.scale.sharded_town import ShardedTown

PLAN = Town(users=8010, features=16, seed=3)


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    folder = tmp_path_factory.mktemp("town") / "town"
    shards = write_town(PLAN, folder, partitions=5, seed=7)
    return shards, *load_whole(folder)


def test_every_link_is_there_at_both_ends_once_and_those_to_other_partitions_are_counted(town):
    graph = town[1]
    indptr, indices = symmetric_csr(graph.pairs(), graph.node_count)
    assert np.array_equal(indptr, graph.indptr) and np.array_equal(indices, graph.indices)
    shards, graph, _ = town
    bounds = [part.end for part in shards.manifest.partitions]
    home = np.searchsorted(bounds, np.arange(8010), side="right")
    sources = np.repeat(np.arange(8010), graph.degrees)
    assert sum(part.cut for part in shards.manifest.partitions) == int(
        (home[sources] != home[graph.indices]).sum()
    )


def test_neighbourhoods_do_not_cross_partitions_and_each_can_be_made_alone(town):
    shards = town[0]
    firsts = [part.first for part in shards.manifest.partitions]
    assert firsts == [0, 40 * 40, 80 * 40, 120 * 40, 160 * 40]
    assert shards.table(0, 5).original.tolist() == list(range(8010))
    pointers, targets = ShardedTown(PLAN, 5).links(3)
    assert np.array_equal(targets, shards.edges(3, 4))
    assert np.array_equal(pointers, shards.table(3, 4).indptr)


def test_the_same_seeds_write_the_same_town_and_others_another(town, tmp_path):
    again = write_town(PLAN, tmp_path / "again", partitions=5, seed=7)
    assert np.array_equal(again.edges(0, 5), town[0].edges(0, 5))
    assert np.array_equal(again.simulated_users(2).raw.features, town[0].simulated_users(2).raw.features)
    other = write_town(PLAN, tmp_path / "other", partitions=5, seed=8)
    assert np.array_equal(other.edges(0, 5), town[0].edges(0, 5))
    assert not np.array_equal(other.table(0, 5).train, town[0].table(0, 5).train)


def test_shares_of_the_split_and_kinds_of_neighbourhoods_are_the_plan_s(town):
    _, graph, users = town
    counts = [int(mask.sum()) for mask in (graph.train, graph.validation, graph.test)]
    assert counts == [round(0.03 * 8010), round(0.05 * 8010), 8010 - round(0.03 * 8010) - round(0.05 * 8010)]
    known = graph.train | graph.validation
    assert np.array_equal(graph.labels[known], users.raw.labels[known])
    labels = town[2].raw.labels
    homes = np.minimum(np.arange(8010) // 40, 199)
    kinds = [set(labels[homes == home]) for home in range(200)]
    assert all(len(each) == 1 for each in kinds)
    assert np.bincount([each.pop() for each in kinds]).tolist() == [50, 50, 50, 50]


def statistics(indptr, indices, labels):
    """Links, the share of them nearby, the share within a class, and the variance of degrees."""
    users = len(indptr) - 1
    sources = np.repeat(np.arange(users), np.diff(indptr))
    homes = np.minimum(np.arange(users) // PLAN.neighbourhood, users // PLAN.neighbourhood - 1)
    return {
        "links": len(indices) / 2,
        "nearby": float((homes[sources] == homes[indices]).mean()),
        "homophily": float((labels[sources] == labels[indices]).mean()),
        "variance": float(np.diff(indptr).var()),
    }


@pytest.mark.statistical
def test_statistics_are_those_of_a_town_in_memory(town):
    """Each pair of numbers deviates by at most 6 standard errors of their difference: false alarm below 1e-8 for all four.

    Links number 80,000, deviation below 283 each; shares of them below 0.0018; variances of 8,010 degrees (about 12) below 0.19.
    """
    _, graph, users = town
    edges, _, labels = PLAN.generate()
    memory = statistics(*symmetric_csr(edges, PLAN.users), labels)
    sharded = statistics(graph.indptr, graph.indices, users.raw.labels)
    root = 2**0.5
    assert sharded["links"] == pytest.approx(memory["links"], abs=6 * root * 283)
    assert sharded["nearby"] == pytest.approx(memory["nearby"], abs=6 * root * 0.0018)
    assert sharded["homophily"] == pytest.approx(memory["homophily"], abs=6 * root * 0.0018)
    assert sharded["variance"] == pytest.approx(memory["variance"], abs=6 * root * 0.19)


@pytest.mark.statistical
def test_features_tell_as_in_memory(town):
    """Rates over 2,000 users of a kind lie within 0.067, 6 deviations, for each of 64 rates; false alarm 1.3e-7."""
    users = town[2]
    rates = np.stack([users.raw.features[users.raw.labels == kind].mean(axis=0) for kind in range(4)])
    spread = rates.max(axis=0) - rates.min(axis=0)
    assert int((spread > 0.3).sum()) == PLAN.telling
    telling = rates[:, spread > 0.3]
    assert np.abs(telling.max(axis=0) - PLAN.often).max() < 0.067
    assert np.abs(np.sort(telling, axis=0)[:-1] - PLAN.rarely).max() < 0.067


def test_partitions_may_be_empty_or_without_what_users_hold(tmp_path):
    shards = write_town(Town(users=170), tmp_path / "town", partitions=7)
    assert [part.users for part in shards.manifest.partitions] == [0, 40, 0, 40, 0, 40, 50]
    assert load_whole(tmp_path / "town")[1].raw.features.shape == (170, 64)
    write_town(Town(users=800), tmp_path / "public", partitions=3, simulated=False)
    graph, users = load(tmp_path / "public")
    assert users.raw.features is None and graph.feature_count == 64


def test_what_cannot_be_is_refused(tmp_path):
    with pytest.raises(InputError, match="one class a user: plan it with Town"):
        write_town(LabelTown(users=400), tmp_path / "town", partitions=2)
    with pytest.raises(InputError, match="partitions must be an integer from 1 to 9999, got 0"):
        write_town(Town(users=400), tmp_path / "town", partitions=0)
    assert not (tmp_path / "town").exists()
