"""Public graphs from files: links, labels, ids, and nothing else."""

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from graphveil.collect.folder import CollectionSettings
from graphveil.collect.public_graph import (
    AskedLabels,
    PublicGraph,
    check_links,
    checked_ids,
    read_public_graph,
)
from graphveil.errors import InputError
from tests.collect.small import people, ring
from tests.refusals import check_refused


def test_files_give_links_labels_and_ids_and_no_features(tmp_path):
    file = tmp_path / "g.npz"
    x = np.full((3, 2), 0.123456)
    np.savez(file, edges=[[0, 1], [1, 2]], y=[0, -1, 1], ids=["ann", "bob", "cy"], x=x)
    graph = read_public_graph(file)
    assert graph.edges.tolist() == [[0, 1], [1, 2]] and graph.labels.tolist() == [0, -1, 1]
    graph.write(tmp_path / "kept.npz")
    kept = np.load(tmp_path / "kept.npz")
    assert set(kept.files) == {"edges", "y", "ids"}
    assert PublicGraph.read(tmp_path / "kept.npz").ids.tolist() == ["ann", "bob", "cy"]
    np.savez(tmp_path / "g.npz", edges=[[0, 2]])
    graph = read_public_graph(tmp_path / "g.npz")
    assert graph.ids.tolist() == ["0", "1", "2"] and graph.labels.tolist() == [-1] * 3
    (tmp_path / "links.csv").write_text("a,b\nx,y\n")
    (tmp_path / "labels.csv").write_text("id,label\nx,red\ny,blue\n")
    graph = read_public_graph(tmp_path / "links.csv", tmp_path / "labels.csv")
    assert graph.class_names == ("blue", "red") and graph.labels.tolist() == [1, 0]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tables_of_links_and_labels(tmp_path, suffix):
    links, labels = {"a": ["x", "y"], "b": ["y", "z"]}, {"id": ["z", "w", "x"], "label": ["7", "", "2"]}
    for name, columns in (("links", links), ("labels", labels)):
        file = tmp_path / f"{name}.{suffix}"
        if suffix == "parquet":
            parquet.write_table(pyarrow.table(columns), file)
        else:
            lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
            file.write_text("\n".join(lines))
    graph = read_public_graph(tmp_path / f"links.{suffix}", tmp_path / f"labels.{suffix}")
    assert graph.ids.tolist() == ["z", "w", "x", "y"]
    assert graph.edges.tolist() == [[2, 3], [3, 0]]
    assert graph.labels.tolist() == [7, -1, 2, -1]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "begin with a line that names"),
        ("a,b\nx\n", "Expected 2 columns, got 1"),
        ("a,b\n,y\n", "1 to 200 characters"),
    ],
)
def test_a_table_that_is_none_is_refused(tmp_path, content, sentence):
    (tmp_path / "links.csv").write_text(content)
    with pytest.raises(InputError, match=sentence):
        read_public_graph(tmp_path / "links.csv")


def test_npz_files_with_words_or_ids_twice_are_refused(tmp_path):
    np.savez(tmp_path / "g.npz", edges=[[0, 1]], y=["a", "b"])
    with pytest.raises(InputError, match="y must hold numbers of classes"):
        read_public_graph(tmp_path / "g.npz")
    np.savez(tmp_path / "g.npz", edges=[[0, 1]], ids=["a", "a"])
    with pytest.raises(InputError, match="there twice"):
        read_public_graph(tmp_path / "g.npz")


def test_ids_that_hide_something_are_refused(tmp_path):
    hidden = ["a\x00", "a\x1b[2J", "a\nb", "a\u3164", "a\u200d", "a\ufe0f", "\u2800"]
    refused = [(["a", name], "control characters") for name in hidden]
    two_forms = (["caf\u00e9", "cafe\u0301"], "in two forms of Unicode")
    check_refused(lambda names: checked_ids(names, tmp_path / "links.csv"), [*refused, two_forms])
    first, later = (
        PublicGraph(np.empty((0, 2), dtype=np.int64), np.array([-1]), np.array([name]))
        for name in ("caf\u00e9", "cafe\u0301")
    )
    with pytest.raises(InputError, match="in two forms of Unicode"):
        first.extended_by(later)


def test_people_without_links_come_from_a_table_and_links_in_the_open_are_refused_where_they_are_asked_for(
    tmp_path,
):
    (tmp_path / "people.csv").write_text("id,label\nx,chess\ny,\nz,football\n")
    graph = read_public_graph(None, tmp_path / "people.csv")
    assert graph.edges.shape == (0, 2) and graph.ids.tolist() == ["x", "y", "z"]
    assert graph.labels.tolist() == [0, -1, 1]
    with pytest.raises(InputError, match="nobody is named"):
        read_public_graph(None)
    settings = CollectionSettings("", "why", 1.0, private_links=True)
    check_links(people(4), settings)
    with pytest.raises(InputError, match="the graph holds 4 of them in the open"):
        check_links(ring(4), settings)


LABELS = np.array([0, 1, -1, -1, -1, -1, -1, -1])


def test_enrolled_users_without_a_known_label_are_asked_if_there_are_enough():
    split = AskedLabels((0, 2, 3, 4, 5, 6, 7)).draw(LABELS, 3)
    assert int(split.train.sum()) == 4 and int(split.validation.sum()) == 2
    assert np.flatnonzero(split.train | split.validation).tolist() == [2, 3, 4, 5, 6, 7]
    assert np.flatnonzero(split.test).tolist() == [0, 1]
    with pytest.raises(InputError, match="1 enrolled users have a label that the server does not know"):
        AskedLabels((0, 2)).draw(LABELS, 0)
    others = np.where(LABELS < 0, -1, 1 - LABELS)
    one, other = (AskedLabels(tuple(range(8))).draw(labels, 3) for labels in (LABELS, others))
    assert one.train.tolist() == other.train.tolist()
    assert one.validation.tolist() == other.validation.tolist()
