import numpy as np
import pytest

from graphveil.graphs import Town, load, symmetric_csr
from graphveil.graphs.town import LabelTown
from tests.refusals import check_refused


def homes(plan):
    return np.minimum(np.arange(plan.users) // plan.neighbourhood, plan.users // plan.neighbourhood - 1)


@pytest.mark.parametrize("kind", [Town, LabelTown])
def test_a_town_follows_from_its_seed_and_has_the_shapes_that_were_asked_for(kind):
    first, again, other = (kind(users=400, seed=seed).generate() for seed in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert (first[1] != other[1]).any() and (first[2] != other[2]).any()
    edges, features, labels = kind(users=410, features=30, kinds=5).generate()
    assert (edges.shape[1], edges.dtype) == (2, np.int32)
    assert (features.shape, features.dtype) == ((410, 30), np.uint8)
    assert (labels.shape, labels.dtype) == ((410, 5) if kind is LabelTown else (410,), np.int64)
    assert set(np.unique(features)) == {0, 1}
    assert set(np.unique(labels)) == ({0, 1} if kind is LabelTown else set(range(5)))
    # The split's shares change nothing.
    few, many = (kind(users=400, labelled=share).generate() for share in (0.01, 0.5))
    assert (few[1] == many[1]).all()


def test_a_user_s_class_is_the_kind_of_their_neighbourhood():
    plan = Town(users=1010, kinds=3)
    _, _, labels = plan.generate()
    by_home = [set(labels[homes(plan) == home]) for home in range(25)]
    assert all(len(kinds) == 1 for kinds in by_home)
    assert np.bincount([kinds.pop() for kinds in by_home]).tolist() == [9, 8, 8]


@pytest.mark.statistical
@pytest.mark.parametrize(("degree", "nearby"), [(20, 0.9), (4.5, 0.5), (10, 1.0), (10, 0.0)])
def test_degrees_and_their_nearby_share_are_as_asked(degree, nearby):
    """The number of friendships deviates by at most the root of its mean: 5.5 of them, 8 times, false alarm 3e-7."""
    plan = Town(users=8000, degree=degree, nearby=nearby)
    edges, _, _ = plan.generate()
    indptr, indices = symmetric_csr(edges, plan.users)
    rows = np.repeat(np.arange(plan.users), np.diff(indptr))
    together = homes(plan)[rows] == homes(plan)[indices]
    total, near = len(indices) / 2, together.sum() / 2
    # A far pick meets a neighbour, a self-loop or a repeat in about 1 of 100 cases.
    assert total == pytest.approx(plan.users * degree / 2, abs=5.5 * total**0.5 + 0.01 * (total - near))
    assert near == pytest.approx(total * nearby, abs=5.5 * total**0.5 + 0.01 * (total - near))


@pytest.mark.statistical
def test_telling_features_tell_and_the_others_do_not():
    """Rates over 2000 users of a kind: within 0.067, 6 deviations, for each of 64 rates; false alarm 1.3e-7."""
    plan = Town(users=8000, features=16, telling=8)
    _, features, labels = plan.generate()
    rates = np.stack([features[labels == kind].mean(axis=0) for kind in range(plan.kinds)])
    spread = rates.max(axis=0) - rates.min(axis=0)
    telling = spread > 0.3
    assert int(telling.sum()) == 8
    assert np.abs(rates[:, telling].max(axis=0) - plan.often).max() < 0.067
    assert np.abs(np.sort(rates[:, telling], axis=0)[:-1] - plan.rarely).max() < 0.067
    assert spread[~telling].max() < 2 * 0.067


def test_a_town_that_cannot_be_is_refused():
    unfilled = "100 users do not fill one neighbourhood of 40 for each of 4 kinds"
    check_refused(
        lambda kind, options: kind(**options),
        [
            (Town, {"users": 100}, unfilled),
            (Town, {"users": 1.5}, "users must be an integer of at least 1, got 1.5"),
            (Town, {"features": 0}, "features must be an integer of at least 1"),
            (Town, {"kinds": 1}, "kinds must be an integer of at least 2"),
            (Town, {"seed": -1}, "seed must be an integer of at least 0"),
            (
                Town,
                {"telling": 65},
                "telling must be an integer from 0 to 64, the number of features, got 65",
            ),
            (Town, {"nearby": 1.5}, "nearby must be a number from 0 to 1, got 1.5"),
            (Town, {"degree": 0}, "degree must be a positive finite number, got 0"),
            (Town, {"degree": 45}, "leave strangers in a neighbourhood of 40"),
            (Town, {"labelled": 0}, "labelled must be a number strictly between 0 and 1, got 0"),
            (Town, {"labelled": 0.6, "validated": 0.4}, "labelled and validated must leave some for testing"),
            (LabelTown, {"hosted": 1.5}, "hosted must be a number from 0 to 1, got 1.5"),
            (LabelTown, {"joins": -1}, "joins must be a number from 0 to 1, got -1"),
            (LabelTown, {"strays": "a"}, "strays must be a number from 0 to 1"),
            (LabelTown, {"users": 100}, unfilled),
        ],
    )


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


def test_a_town_of_labels_is_loaded_by_name_with_its_options_and_one_label_as_a_class():
    graph, users = load("town-labels", users=400, hosted=0.6, town_seed=3)
    assert (graph.name, graph.node_count, graph.multilabel, graph.binary) == ("town-labels", 400, True, True)
    assert (users.raw.labels == LabelTown(users=400, hosted=0.6, seed=3).generate()[2]).all()
    graph, users = load("town-labels", users=400, label=2, labelled=0.2)
    assert (graph.multilabel, graph.metric, graph.class_count) == (False, "accuracy", 2)
    assert (users.raw.labels == LabelTown(users=400).generate()[2][:, 2]).all()
    check_refused(
        lambda options: load("town-labels", **options),
        [
            ({"users": 400, "clubs": 3}, "town-labels has no option 'clubs': it takes users"),
            ({"range": (0, 1)}, "town-labels takes no range"),
            ({"label": 9}, "label must lie in 0..3, got 9"),
            ({"split": "few"}, "needs one label a user"),
        ],
    )
