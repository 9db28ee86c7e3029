import numpy as np
import pytest
from scipy.sparse import csr_array

from graphveil import InputError
from graphveil.graphs.npz import Raw, read_npz, write_npz
from graphveil.graphs.splits import GivenSplit
from tests.refusals import check_refused
from tests.together import together

EDGES = np.array([[0, 1], [1, 2]])
LABELS = np.array([0, 1, -1])


def saved(tmp_path, **arrays):
    path = tmp_path / "graph.npz"
    np.savez(path, **arrays)
    return path


def test_features_stay_dense_or_sparse_and_may_be_missing_as_labels_may(tmp_path):
    raw = read_npz(saved(tmp_path, edges=EDGES, x=np.eye(3, dtype=np.float32), y=LABELS))
    assert (raw.features.tolist(), raw.features.dtype) == (np.eye(3).tolist(), np.float32)
    assert (raw.labels.tolist(), raw.range, raw.given, raw.binary) == ([0, 1, -1], None, None, False)
    matrix = csr_array(np.array([[0, 2, 0], [1, 0, 0], [0, 0, 0]], dtype=np.float32))
    parts = {"x_indptr": matrix.indptr, "x_indices": matrix.indices, "x_data": matrix.data}
    raw = read_npz(saved(tmp_path, edges=EDGES, y=LABELS, x_shape=matrix.shape, **parts))
    assert raw.features.toarray().tolist() == matrix.toarray().tolist()
    assert raw.features.nnz == 2
    raw = read_npz(saved(tmp_path, edges=EDGES))
    assert (raw.features, raw.labels) == (None, None)


@pytest.mark.parametrize("features", [None, np.eye(3), csr_array(np.eye(3, dtype=np.float32))])
def test_what_is_written_is_read_again(tmp_path, features):
    more = {"range": (-1.0, 2.5), "binary": True, "metric": "roc_auc", "feature_names": ("a", "b", "c")}
    arrays = {"other_labels": {"y_other": np.array([1, 1, 0])}, "ids": np.array(["ada", "bob", "cem"])}
    write_npz(
        tmp_path / "graph.npz",
        Raw(EDGES, LABELS, features, given=GivenSplit(*np.eye(3, dtype=bool)), **arrays, **more),
    )
    again = read_npz(tmp_path / "graph.npz")
    assert (again.edges.tolist(), again.labels.tolist()) == (EDGES.tolist(), LABELS.tolist())
    assert {name: getattr(again, name) for name in more} == more
    assert again.given.test.tolist() == [[False, False, True]]
    assert {name: found.tolist() for name, found in again.other_labels.items()} == {"y_other": [1, 1, 0]}
    assert again.ids.tolist() == ["ada", "bob", "cem"]
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


def test_a_file_that_is_not_there_or_of_another_kind_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        read_npz(tmp_path / "nothing.npz")
    path = tmp_path / "graph.npz"
    broken = [b"", b"text", b"PK\x03\x04broken"]
    check_refused(
        lambda content: [path.write_bytes(content), read_npz(path)],
        [(content, "is not a graph in an .npz file") for content in broken],
    )


def test_several_labels_a_user_are_read_as_they_are_and_count_for_the_memory_that_is_allowed(tmp_path):
    rows = np.array([[0, 1], [1, 1], [-1, -1]])
    raw = read_npz(saved(tmp_path, edges=EDGES, y=rows))
    assert (raw.labels.tolist(), raw.metric) == (rows.tolist(), None)
    rows = np.zeros((1000, 1000), dtype=bool)
    path = tmp_path / "graph.npz"
    np.savez_compressed(path, edges=EDGES, y=rows)
    with pytest.raises(InputError, match="GB"):
        read_npz(path, max_gigabytes=0.01)
    assert read_npz(path, max_gigabytes=0.1).labels.shape == (1000, 1000)
