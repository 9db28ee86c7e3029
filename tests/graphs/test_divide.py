from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

from graphveil import InputError, Plan
from graphveil.graphs import GivenSplit, RandomSplit, resplit
from graphveil.graphs.divide import divide
from graphveil.graphs.npz import Raw
from tests.together import together

COUNT = 40
EDGES = np.stack([np.arange(COUNT - 1), np.arange(1, COUNT)], axis=1)
FEATURES = np.random.default_rng(0).integers(0, 2, (COUNT, 3)).astype(np.float32)
LABELS = np.arange(COUNT) % 2
# Several labels a user.
ROWS = np.random.default_rng(1).integers(0, 2, (COUNT, 3))


def sides(seed=0, recipe=None, **change):
    arrays = {"edges": EDGES, "labels": LABELS, "features": FEATURES, "range": (0, 1), **change}
    return divide("some", Raw(**arrays), recipe or RandomSplit(), seed)


@pytest.mark.parametrize("labels", [LABELS, ROWS], ids=["one", "several"])
def test_the_server_knows_the_labels_of_training_and_validation_users_only(labels):
    graph, users = sides(labels=labels)
    known = graph.train | graph.validation
    assert (graph.labels[known] == labels[known]).all()
    assert (graph.labels[~known] == -1).all() and (~known == graph.test).all()
    assert (users.raw.labels == labels).all()
    several = labels is ROWS
    assert (graph.multilabel, graph.class_count) == (several, 3 if several else 2)
    assert graph.metric == ("f1" if several else "accuracy") and sides(metric="f1")[0].metric == "f1"


def given(tested):
    """A split in which four users train, two validate and so many are tested."""
    users = np.arange(COUNT)
    return GivenSplit(users < 4, (users >= 4) & (users < 6), (users >= 6) & (users < 6 + tested))


def test_a_label_outside_of_the_split_is_not_known_either():
    graph, _ = sides(recipe=given(2))
    assert (graph.labels[8:] == -1).all()


def test_no_array_of_the_server_s_side_holds_a_feature():
    graph, _ = sides()
    other, _ = sides(features=1 - FEATURES)
    assert all(
        np.array_equal(getattr(graph, name), getattr(other, name))
        for name in ("indptr", "indices", "labels", "train", "validation", "test")
    )
    assert (graph.feature_count, graph.public_range) == (other.feature_count, other.public_range)


def test_features_without_a_public_range_are_refused_unless_they_have_no_columns():
    with pytest.raises(InputError, match="some has features but no public range.*would leak"):
        sides(range=None)
    assert sides(features=np.zeros((COUNT, 0)), range=None)[0].feature_count == 0


def test_without_labels_nobody_trains_and_without_features_no_range_is_needed():
    graph, users = sides(labels=None)
    assert (graph.class_count, graph.node_count) == (0, COUNT)
    assert not (graph.train | graph.validation | graph.test).any()
    assert resplit(graph, users, 5) == (graph, users)
    graph, users = sides(features=None, range=None)
    assert (graph.feature_count, graph.public_range, graph.binary) == (0, None, False)
    with pytest.raises(InputError, match="hold no features"):
        users.declare(1.0).report(Plan(mechanism="onebit", epsilon=1.0, dims=3, range=(0, 1)))


@pytest.mark.parametrize("unknown", [-1, np.nan])
@pytest.mark.parametrize("several", [False, True])
def test_unknown_labels_are_in_no_split(unknown, several):
    labels = (ROWS if several else LABELS).astype(float)
    labels[:10] = unknown
    graph, users = sides(labels=labels)
    assert not (graph.train | graph.validation | graph.test)[:10].any()
    assert (users.raw.labels[:10] == -1).all()


@together(
    "labels",
    [LABELS[:, None], LABELS.astype(float), LABELS.astype(bool), *map(ROWS.astype, (bool, np.uint8, "f4"))],
)
def test_labels_may_be_whole_numbers_of_any_type(labels):
    found = sides(labels=labels)[1].raw.labels
    assert found.dtype == np.int64
    assert (found == (LABELS if labels.size == COUNT else ROWS)).all()


def test_sparse_features_become_csr_without_repeats_and_users_hold_their_own_neighbours():
    repeated = coo_array((np.ones(2), ([0, 0], [1, 1])), shape=(COUNT, 3))
    _, users = sides(features=repeated, range=(0, 2))
    assert (users.raw.features.nnz, users.raw.features[0, 1]) == (1, 2.0)
    _, users = sides()
    indptr, indices = users.raw.neighbours
    assert indices[indptr[1] : indptr[2]].tolist() == [0, 2]


@pytest.mark.parametrize("features", [FEATURES, csr_array(FEATURES)])
def test_binary_features_are_declared_and_checked(features):
    assert sides(features=features, binary=True)[0].binary
    assert not sides(features=features)[0].binary
    with pytest.raises(InputError, match="called binary but hold more than 0 and 1"):
        sides(features=features * 0.5, binary=True)
    # Sparse ones need a range from zero.
    with pytest.raises(InputError, match=r"need the range \(0, HIGH\)"):
        sides(features=csr_array(FEATURES), binary=True, range=(-1, 1))


@together(
    ("change", "words"),
    [
        ({"features": FEATURES[:5]}, "features must be 40 rows, one a user"),
        ({"features": FEATURES[:, 0]}, "features must be 40 rows, one a user"),
        ({"features": np.full((COUNT, 2), "a")}, "features must be numbers"),
        ({"features": np.full((COUNT, 2), np.nan)}, "features must be finite"),
        ({"features": np.full((COUNT, 2), np.inf)}, "features must be finite"),
        ({"labels": np.full(COUNT, 0.5)}, "labels must be 40 integers"),
        ({"labels": np.full(COUNT, "a")}, "labels must be 40 integers"),
        ({"labels": LABELS - 2}, "labels must be 0, 1, … or -1 where unknown, got a smaller number"),
        ({"labels": np.full((COUNT, 3), 2)}, r"must be 0 or 1.*choose one column with label=0\.\.2"),
        ({"labels": np.array([[0, 1], [0, -1]] * 20)}, "all of them -1 where unknown"),
        ({"labels": np.array([[0, 1], [0.5, 1]] * 20)}, "must be 0 or 1"),
        ({"labels": np.full((COUNT, 2), "a")}, "labels must be 40 rows of 0 and 1"),
        ({"labels": np.zeros((COUNT, 2), dtype=int)}, "all training users have the same label"),
        ({"labels": np.zeros((COUNT, (1 << 16) + 1), dtype=bool)}, "at most 65536 labels, got 65537 columns"),
        ({"range": (1, 0)}, "range must be two finite numbers LOW < HIGH"),
        ({"metric": "f2"}, "metric must be one of accuracy, roc_auc, f1"),
    ],
)
def test_bad_data_is_refused(change, words):
    with pytest.raises(InputError, match=words):
        sides(**change)


@pytest.mark.parametrize("labels", [LABELS, ROWS], ids=["one", "several"])
def test_resplit_gives_the_split_that_loading_with_the_seed_gives(labels):
    graph, users = sides(seed=0, labels=labels)
    again, same_users = resplit(graph, users, 3)
    direct, _ = sides(seed=3, labels=labels)
    assert same_users is users and again.indices is graph.indices
    assert (again.train == direct.train).all()
    assert (again.labels == direct.labels).all()
    assert (again.train != graph.train).any()
    assert (again.labels[again.test] == -1).all()


def test_users_who_answer_and_graphs_without_a_recipe_cannot_be_split_again():
    graph, users = sides()
    with pytest.raises(AttributeError):
        resplit(graph, users.declare(1.0), 1)
    with pytest.raises(InputError, match="does not say how it was split"):
        resplit(replace(graph, recipe=None), users, 1)


def test_a_metric_needs_test_users_who_differ():
    with pytest.raises(InputError, match="roc_auc needs test users of both classes"):
        sides(recipe=given(1), metric="roc_auc")
    labels = ROWS.copy()
    labels[6:8] = 0
    with pytest.raises(InputError, match="f1 needs test users who have some label"):
        sides(recipe=given(2), labels=labels)
