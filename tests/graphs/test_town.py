import numpy as np
import pytest

from graphveil import InputError
from graphveil.graphs import Town, symmetric_csr
from tests.together import together


def homes(plan):
    return np.minimum(np.arange(plan.users) // plan.neighbourhood, plan.users // plan.neighbourhood - 1)


def test_the_same_seed_gives_the_same_town():
    first, again, other = (Town(users=400, seed=seed).generate() for seed in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert (first[1] != other[1]).any()


def test_shapes_and_types():
    edges, features, labels = Town(users=410, features=10).generate()
    assert (edges.shape[1], edges.dtype) == (2, np.int32)
    assert (features.shape, features.dtype) == ((410, 10), np.uint8)
    assert (labels.shape, labels.dtype) == ((410,), np.int64)
    assert set(np.unique(features)) == {0, 1}


def test_a_user_s_class_is_the_kind_of_their_neighbourhood():
    plan = Town(users=1010, kinds=3)
    _, _, labels = plan.generate()
    by_home = [set(labels[homes(plan) == home]) for home in range(25)]
    assert all(len(kinds) == 1 for kinds in by_home)
    assert np.bincount([kinds.pop() for kinds in by_home]).tolist() == [9, 8, 8]


def test_features_do_not_depend_on_the_split_s_shares():
    few, many = (Town(users=400, labelled=share).generate() for share in (0.01, 0.5))
    assert (few[1] == many[1]).all()


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


@together(
    ("options", "words"),
    [
        ({"users": 100}, "100 users do not fill one neighbourhood of 40 for each of 4 kinds"),
        ({"users": 1.5}, "users must be an integer of at least 1, got 1.5"),
        ({"features": 0}, "features must be an integer of at least 1"),
        ({"kinds": 1}, "kinds must be an integer of at least 2"),
        ({"seed": -1}, "seed must be an integer of at least 0"),
        ({"telling": 65}, "telling must be an integer from 0 to 64, the number of features, got 65"),
        ({"nearby": 1.5}, "nearby must be a number from 0 to 1, got 1.5"),
        ({"degree": 0}, "degree must be a positive finite number, got 0"),
        ({"degree": 45}, "leave strangers in a neighbourhood of 40"),
        ({"labelled": 0}, "labelled must be a number strictly between 0 and 1, got 0"),
        (
            {"labelled": 0.6, "validated": 0.4},
            "labelled and validated must leave some for testing",
        ),
    ],
)
def test_a_town_that_cannot_be_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        Town(**options)
