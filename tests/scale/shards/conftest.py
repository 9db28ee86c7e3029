import numpy as np
import pytest

from graphveil.graphs import GivenSplit, from_arrays


@pytest.fixture(scope="session")
def small():
    """Seven users: a ring of five, one pair of which is linked twice and one to itself, a user with one link, one without any."""
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [0, 4], [2, 2], [5, 1]])
    features = np.arange(21, dtype=np.float32).reshape(7, 3) / 20
    labels = np.array([0, 1, 2, 0, 1, 2, -1])
    split = (
        np.array([1, 1, 1, 0, 0, 0, 0], dtype=bool),
        np.array([0, 0, 0, 1, 0, 0, 0], dtype=bool),
        np.array([0, 0, 0, 0, 1, 1, 0], dtype=bool),
    )

    return from_arrays(
        edges,
        features,
        labels,
        range=(0, 1),
        split=GivenSplit(*split),
        ids=np.array(["anna", "Bø", "šárka", "d", "eé", "日本", "🙂"]),
        feature_names=["a", "b", "ü"],
        name="small",
    )


def same_graph(one, other):
    """Whether two graphs have the same numbers and types in every public field that a sharded graph keeps."""
    arrays = ("indptr", "indices", "labels", "train", "validation", "test")
    plain = ("name", "feature_count", "public_range", "binary", "class_count", "metric", "feature_names")
    for name in arrays:
        first, second = getattr(one, name), getattr(other, name)
        assert first.dtype == second.dtype and np.array_equal(first, second), name
    for name in plain:
        assert getattr(one, name) == getattr(other, name), name
    assert (one.ids is None) == (other.ids is None)
    if one.ids is not None:
        assert np.array_equal(one.ids, other.ids)
    return True


def same_users(one, other):
    """Whether users hold the same, to the type."""
    first, second = one.raw.features, other.raw.features
    assert np.array_equal(one.raw.labels, other.raw.labels)
    assert (first is None) == (second is None)
    if first is None:
        return True
    assert hasattr(first, "tocsr") == hasattr(second, "tocsr") and first.dtype == second.dtype
    if hasattr(first, "tocsr"):
        assert (first != second).nnz == 0 and first.nnz == second.nnz
    else:
        assert np.array_equal(first, second)
    return True
