import numpy as np
import pytest
from scipy.sparse import csr_array

from graphveil import InputError
from graphveil.graphs.npz import Raw, read_npz, write_npz
from graphveil.graphs.splits import GivenSplit
from tests.together import together

EDGES = np.array([[0, 1], [1, 2]])
LABELS = np.array([0, 1, -1])


def saved(tmp_path, **arrays):
    path = tmp_path / "graph.npz"
    np.savez(path, **arrays)
    return path


def test_dense_features_stay_dense(tmp_path):
    raw = read_npz(saved(tmp_path, edges=EDGES, x=np.eye(3, dtype=np.float32), y=LABELS))
    assert (raw.features.tolist(), raw.features.dtype) == (np.eye(3).tolist(), np.float32)
    assert (raw.labels.tolist(), raw.range, raw.given, raw.binary) == ([0, 1, -1], None, None, False)


def test_sparse_features_stay_sparse(tmp_path):
    matrix = csr_array(np.array([[0, 2, 0], [1, 0, 0], [0, 0, 0]], dtype=np.float32))
    parts = {"x_indptr": matrix.indptr, "x_indices": matrix.indices, "x_data": matrix.data}
    raw = read_npz(saved(tmp_path, edges=EDGES, y=LABELS, x_shape=matrix.shape, **parts))
    assert raw.features.toarray().tolist() == matrix.toarray().tolist()
    assert raw.features.nnz == 2


def test_a_graph_may_have_neither_features_nor_labels(tmp_path):
    raw = read_npz(saved(tmp_path, edges=EDGES))
    assert (raw.features, raw.labels) == (None, None)


@pytest.mark.parametrize("features", [None, np.eye(3), csr_array(np.eye(3, dtype=np.float32))])
def test_what_is_written_is_read_again(tmp_path, features):
    masks = np.eye(3, dtype=bool)
    raw = Raw(
        EDGES,
        LABELS,
        features,
        range=(-1.0, 2.5),
        binary=True,
        metric="roc_auc",
        feature_names=("a", "b", "c"),
        given=GivenSplit(*masks),
        other_labels={"y_other": np.array([1, 1, 0])},
    )
    write_npz(tmp_path / "graph.npz", raw)
    again = read_npz(tmp_path / "graph.npz")
    assert (again.edges.tolist(), again.labels.tolist()) == (EDGES.tolist(), LABELS.tolist())
    assert (again.range, again.binary, again.metric) == ((-1.0, 2.5), True, "roc_auc")
    assert again.feature_names == ("a", "b", "c")
    assert again.given.test.tolist() == [[False, False, True]]
    assert again.other_labels["y_other"].tolist() == [1, 1, 0]
    if features is None:
        assert again.features is None
    else:
        assert type(again.features) is type(features)
        assert (again.features != features).sum() == 0


@together(
    ("arrays", "words"),
    [
        ({"y": LABELS}, "has no array 'edges'"),
        ({"edges": EDGES, "train": [1, 0, 0]}, "not all of train, validation, test"),
        ({"edges": EDGES, "x_data": [1.0]}, "without x_indptr, x_indices, x_shape"),
        ({"edges": EDGES, "range": [0, 1, 2]}, "range must be two numbers"),
        (
            {"edges": EDGES, "x_data": [1.0], "x_indices": [9], "x_indptr": [0, 1], "x_shape": [1, 2]},
            "do not fit together",
        ),
        ({"edges": np.array([{}], dtype=object)}, "is not a graph"),
    ],
)
def test_a_file_that_is_no_graph_is_refused(tmp_path, arrays, words):
    with pytest.raises(InputError, match=words):
        read_npz(saved(tmp_path, **arrays))


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        read_npz(tmp_path / "nothing.npz")


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04broken"])
def test_a_file_of_another_kind_is_refused(tmp_path, content):
    (tmp_path / "graph.npz").write_bytes(content)
    with pytest.raises(InputError, match="is not a graph in an .npz file"):
        read_npz(tmp_path / "graph.npz")


def test_several_labels_a_user_are_read_as_they_are(tmp_path):
    rows = np.array([[0, 1], [1, 1], [-1, -1]])
    raw = read_npz(saved(tmp_path, edges=EDGES, y=rows))
    assert (raw.labels.tolist(), raw.metric) == (rows.tolist(), None)


def test_several_labels_count_for_the_memory_that_is_allowed(tmp_path):
    rows = np.zeros((1000, 1000), dtype=bool)
    path = tmp_path / "graph.npz"
    np.savez_compressed(path, edges=EDGES, y=rows)
    with pytest.raises(InputError, match="GB"):
        read_npz(path, max_gigabytes=0.01)
    assert read_npz(path, max_gigabytes=0.1).labels.shape == (1000, 1000)


def test_ids_are_written_and_read_and_are_no_label(tmp_path):
    file = tmp_path / "mine.npz"
    write_npz(file, Raw(edges=np.array([[0, 1]]), labels=None, ids=np.array(["ada", "bob"])))
    raw = read_npz(file)
    assert raw.ids is not None and raw.ids.tolist() == ["ada", "bob"]
    assert raw.other_labels == {}
