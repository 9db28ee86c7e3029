import numpy as np
import pytest

from graphveil import InputError
from graphveil.graphs import load, symmetric_csr
from graphveil.graphs.town import LabelTown


def homes(plan):
    return np.minimum(np.arange(plan.users) // plan.neighbourhood, plan.users // plan.neighbourhood - 1)


def test_the_same_seed_gives_the_same_town():
    first, again, other = (LabelTown(users=400, seed=seed).generate() for seed in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert (first[2] != other[2]).any()


def test_shapes_and_types():
    edges, features, labels = LabelTown(users=410, features=30, kinds=5).generate()
    assert (edges.shape[1], edges.dtype) == (2, np.int32)
    assert (features.shape, features.dtype) == ((410, 30), np.uint8)
    assert (labels.shape, labels.dtype) == ((410, 5), np.int64)
    assert set(np.unique(features)) == set(np.unique(labels)) == {0, 1}


def test_friends_are_as_many_as_in_a_town():
    plan = LabelTown()
    edges, _, _ = plan.generate()
    assert len(symmetric_csr(edges, plan.users)[1]) / plan.users == pytest.approx(plan.degree, rel=0.01)


@pytest.mark.statistical
def test_neighbours_join_what_is_hosted_and_others_stray():
    """Rates over 1,000 users of a neighbourhood: within 0.09, 8 deviations at 0.85 and 13 at 0.05, 40 times; below 1e-12."""
    plan = LabelTown(users=10_000, neighbourhood=1000)
    _, _, labels = plan.generate()
    rates = np.stack([labels[homes(plan) == home].mean(axis=0) for home in range(10)])
    hosted = rates > 0.5
    assert 0 < hosted.sum() < hosted.size
    assert np.abs(rates - np.where(hosted, plan.joins, plan.strays)).max() < 0.09


@pytest.mark.statistical
def test_telling_features_tell_of_one_label_each_and_the_others_of_none():
    """Rates over at least 5,000 users: within 0.045, 6 deviations, for each of 128 rates; false alarm 3e-7."""
    plan = LabelTown(users=24_000, features=16, telling=8)
    _, features, labels = plan.generate()
    assert 5000 < labels.sum(axis=0).min() < labels.sum(axis=0).max() < 19_000
    with_label, without = (
        np.stack([features[labels[:, kind] == held].mean(axis=0) for kind in range(plan.kinds)])
        for held in (1, 0)
    )
    tells = with_label - without > 0.7
    assert tells.sum(axis=1).tolist() == [2, 2, 2, 2]
    assert tells.sum(axis=0).max() == 1
    assert np.abs(with_label[tells] - plan.often).max() < 0.045
    assert np.abs(without[tells] - plan.rarely).max() < 0.045
    # Clubs come together in neighbourhoods only by chance: what is common among members of one club says little of another.
    assert np.abs(with_label - without)[:, ~tells.any(axis=0)].max() < 2 * 0.045


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"hosted": 1.5}, "hosted must be a number from 0 to 1, got 1.5"),
        ({"joins": -1}, "joins must be a number from 0 to 1, got -1"),
        ({"strays": "a"}, "strays must be a number from 0 to 1"),
        ({"users": 100}, "100 users do not fill one neighbourhood of 40 for each of 4 kinds"),
    ],
)
def test_a_town_that_cannot_be_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        LabelTown(**options)


def test_it_is_loaded_by_name_with_its_options():
    graph, users = load("town-labels", users=400, hosted=0.6, town_seed=3)
    assert (graph.name, graph.node_count, graph.multilabel, graph.binary) == ("town-labels", 400, True, True)
    assert (users.raw.labels == LabelTown(users=400, hosted=0.6, seed=3).generate()[2]).all()


def test_one_of_its_labels_is_a_class():
    graph, users = load("town-labels", users=400, label=2, labelled=0.2)
    assert (graph.multilabel, graph.metric, graph.class_count) == (False, "accuracy", 2)
    assert (users.raw.labels == LabelTown(users=400).generate()[2][:, 2]).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"users": 400, "clubs": 3}, "town-labels has no option 'clubs': it takes users"),
        ({"range": (0, 1)}, "town-labels takes no range"),
        ({"label": 9}, r"label must lie in 0\.\.3, got 9"),
        ({"split": "few"}, "needs one label a user"),
    ],
)
def test_what_it_does_not_take_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        load("town-labels", **options)
