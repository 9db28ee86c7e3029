"""Files are sharded without being held as a whole, and come to the same as a graph in memory."""

import csv

import duckdb
import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from graphveil import InputError
from graphveil.graphs import Town, from_arrays, load
from graphveil.graphs import tables as pair_table
from graphveil.scale import link_database, load_whole, shard_files, sharding, write_shards
from tests.scale.shards.conftest import same_graph, same_users


@pytest.fixture
def small_chunks(monkeypatch):
    """So little memory that everything comes in many chunks."""
    monkeypatch.setattr(sharding, "ROWS", 100)
    monkeypatch.setattr(link_database, "ROWS", 100)


TINY = 1e-6


@pytest.fixture(scope="module")
def town_file(tmp_path_factory):
    """A town with ids, as a file, whose edges have repeats and come in any order."""
    folder = tmp_path_factory.mktemp("files")
    edges, features, labels = Town(users=600, seed=4).generate()
    edges = np.concatenate([edges, edges[:50, ::-1], [[7, 7]]])[
        np.random.default_rng(0).permutation(len(edges) + 51)
    ]
    ids = np.array([f"ü{user}" for user in range(600)])
    np.savez_compressed(
        folder / "mine.npz", edges=edges, x=features, y=labels, range=[0, 1], binary=True, ids=ids
    )
    return folder / "mine.npz"


def same_public_bytes(one, other):
    names = sorted(str(file.relative_to(one)) for file in one.glob("part-*/*"))
    assert names == sorted(str(file.relative_to(other)) for file in other.glob("part-*/*"))
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in names)


@pytest.mark.parametrize("partitioner", ["metis", "stream", "ranges"])
def test_an_external_sort_equals_sharding_in_memory(town_file, partitioner, small_chunks, tmp_path):
    graph, users = load(town_file, seed=3)
    write_shards(graph, tmp_path / "memory", partitions=4, users=users, partitioner=partitioner, seed=3)
    # So little memory is not for METIS.
    memory = 1.0 if partitioner == "metis" else TINY
    options = {"partitions": 4, "partitioner": partitioner, "seed": 3, "max_memory": memory}
    shard_files(town_file, tmp_path / "disk", **options)
    assert same_public_bytes(tmp_path / "memory", tmp_path / "disk")
    again, held = load_whole(tmp_path / "disk")
    assert same_graph(graph, again) and same_users(users, held)


def test_little_memory_takes_no_metis_and_nothing_is_left_of_the_sorting(town_file, small_chunks, tmp_path):
    shards = shard_files(town_file, tmp_path / "s", partitions=2, max_memory=TINY)
    assert shards.manifest.partitioner == "stream"
    found = {file.name for file in (tmp_path / "s").iterdir()}
    assert found == {"graph.json", "part-0000", "part-0001", "users"}


def test_sparse_features_and_edges_by_columns_are_streamed(small_chunks, tmp_path, town_file):
    from scipy.sparse import random_array

    matrix = random_array((90, 30), density=0.1, format="csr", dtype=np.float32, rng=np.random.default_rng(1))
    arrays = {
        "x_indptr": matrix.indptr,
        "x_indices": matrix.indices,
        "x_data": matrix.data,
        "x_shape": [90, 30],
    }
    edges = np.stack([np.arange(90), (np.arange(90) * 7) % 90], axis=1)
    np.savez(tmp_path / "mine.npz", edges=edges, y=np.arange(90) % 3, range=[0, 1], **arrays)
    graph, users = load(tmp_path / "mine.npz")
    shard_files(tmp_path / "mine.npz", tmp_path / "s", partitions=3, max_memory=TINY)
    again, held = load_whole(tmp_path / "s")
    assert same_graph(graph, again) and same_users(users, held)
    arrays = dict(np.load(town_file))
    assert not arrays["edges"].flags.f_contiguous
    np.savez(tmp_path / "mine.npz", **{**arrays, "edges": np.asfortranarray(arrays["edges"])})
    assert np.load(tmp_path / "mine.npz")["edges"].flags.f_contiguous
    shard_files(tmp_path / "mine.npz", tmp_path / "turned", partitions=2, max_memory=TINY)
    assert same_graph(load(town_file)[0], load_whole(tmp_path / "turned")[0])


def test_masks_of_a_file_come_along(tmp_path):
    masks = {
        "train": [True, True, False, False, False],
        "validation": [False, False, True, False, False],
        "test": [False, False, False, True, False],
    }
    edges = np.array([[0, 1], [2, 3]])
    np.savez(tmp_path / "mine.npz", edges=edges, y=[0, 1, 0, 1, -1], metric="roc_auc", **masks)
    with pytest.raises(InputError, match="roc_auc needs test users of both classes"):
        shard_files(tmp_path / "mine.npz", tmp_path / "s", partitions=2)
    np.savez(tmp_path / "mine.npz", edges=edges, y=[0, 1, 0, 1, -1], **masks)
    table = shard_files(tmp_path / "mine.npz", tmp_path / "s", partitions=2).table(0, 2)
    order = np.argsort(table.original)
    assert table.train[order].tolist() == masks["train"]
    assert table.test[order].tolist() == masks["test"]
    assert table.labels[order].tolist() == [0, 1, 0, -1, -1]


def test_without_simulated_users_features_stay_behind(town_file, tmp_path):
    shards = shard_files(town_file, tmp_path / "s", partitions=2, simulated=False)
    assert not shards.simulated and shards.manifest.features == 64


def table_of(path, columns):
    if path.suffix == ".parquet":
        parquet.write_table(pyarrow.table(columns), path)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([list(columns), *zip(*columns.values(), strict=True)])
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_of_numbers(suffix, small_chunks, tmp_path):
    file = table_of(tmp_path / f"links{suffix}", {"source": [0, 3, 1, 2, 2], "target": [1, 0, 0, 2, 4]})
    shard_files(file, tmp_path / "s", partitions=2, users=7, max_memory=TINY)
    graph, users = load_whole(tmp_path / "s")
    assert graph.pairs().tolist() == [[0, 1], [0, 3], [2, 4]] and graph.node_count == 7
    assert (graph.name, graph.ids, users.raw.features) == ("links", None, None)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_of_ids_with_labels(suffix, tmp_path):
    links = table_of(
        tmp_path / f"links{suffix}", {"source": ["日本", "anna", "anna"], "target": ["bø", "bø", "c d"]}
    )
    people = {"user": ["anna", "zoë", "c d", "bø"], "label": [1, 0, 2, 3]}
    labels = table_of(tmp_path / f"labels{suffix}", people)
    shard_files(links, tmp_path / "s", partitions=2, labels=labels, seed=1)
    graph, users = load_whole(tmp_path / "s")
    assert graph.ids.tolist() == ["anna", "bø", "c d", "zoë", "日本"]
    assert graph.pairs().tolist() == [[0, 1], [0, 2], [1, 4]]
    assert users.raw.labels.tolist() == [1, 3, 2, 0, -1]
    assert int(graph.train.sum()) == 2 and graph.class_count == 4


def test_integers_that_are_ids(tmp_path):
    file = table_of(tmp_path / "links.csv", {"a": [10**12, 5], "b": [5, 70]})
    shard_files(file, tmp_path / "s", partitions=2, ids=True)
    graph, _ = load_whole(tmp_path / "s")
    assert graph.ids.tolist() == [5, 70, 10**12] and graph.pairs().tolist() == [[0, 1], [0, 2]]
    with pytest.raises(InputError, match="take their numbers as ids"):
        shard_files(file, tmp_path / "t", partitions=2)


def test_ids_that_look_like_numbers_at_first(tmp_path, monkeypatch):
    monkeypatch.setattr(pair_table, "BLOCK", 64)
    first, second = [*map(str, range(40)), "anna"], [*map(str, range(1, 41)), "0"]
    file = table_of(tmp_path / "links.csv", {"a": first, "b": second})
    with pytest.raises(InputError, match="take --ids|take ids"):
        shard_files(file, tmp_path / "s", partitions=2)
    shard_files(file, tmp_path / "s", partitions=2, ids=True)
    graph, _ = load_whole(tmp_path / "s")
    assert graph.ids.tolist() == sorted([*map(str, range(41)), "anna"])
    assert graph.edge_count == 41


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_ids_in_many_batches(suffix, tmp_path, monkeypatch):
    monkeypatch.setattr(pair_table, "BLOCK", 256)
    monkeypatch.setattr(pair_table, "ROWS", 10)
    names = np.array([f"u{user:03d}" for user in range(200)])
    pairs = np.random.default_rng(2).integers(0, 200, (500, 2))
    file = table_of(tmp_path / f"links{suffix}", {"source": names[pairs[:, 0]], "target": names[pairs[:, 1]]})
    shard_files(file, tmp_path / "s", partitions=3)
    graph, _ = load_whole(tmp_path / "s")
    known = np.unique(pairs)
    assert graph.ids.tolist() == names[known].tolist()
    expected, _ = from_arrays(np.searchsorted(known, pairs), None, None, users=len(known))
    assert np.array_equal(graph.indices, expected.indices) and np.array_equal(graph.indptr, expected.indptr)


def test_labels_of_users_without_links(tmp_path):
    links = table_of(tmp_path / "links.csv", {"source": [0, 1], "target": [1, 2]})
    labels = table_of(tmp_path / "labels.csv", {"user": [5, 0, 1, 2], "label": [1, 0, 1, 0]})
    shard_files(links, tmp_path / "s", partitions=2, labels=labels)
    graph, users = load_whole(tmp_path / "s")
    assert graph.node_count == 6 and users.raw.labels.tolist() == [0, 1, 0, -1, -1, 1]


def refused(file, words, tmp_path, **options):
    with pytest.raises(InputError, match=words):
        shard_files(file, tmp_path / "out", **{"partitions": 2, **options})
    assert not (tmp_path / "out").exists()


def test_files_that_are_none_or_hold_nobody_are_refused(tmp_path, town_file):
    refused(tmp_path / "no.npz", "there is no file", tmp_path)
    refused(tmp_path / "no.csv", "there is no file", tmp_path)
    refused(tmp_path / "no.txt", "unknown form", tmp_path)
    (tmp_path / "bad.npz").write_bytes(b"no zip")
    refused(tmp_path / "bad.npz", "is damaged", tmp_path)
    (tmp_path / "bad.parquet").write_bytes(b"no table")
    refused(tmp_path / "bad.parquet", "cannot be read", tmp_path)
    (tmp_path / "bad.csv").write_text("alone\n1\n")
    refused(tmp_path / "bad.csv", "two at least", tmp_path)
    (tmp_path / "few.csv").write_text("a,b\n1,2\n3\n")
    refused(tmp_path / "few.csv", "cannot be read", tmp_path)
    (tmp_path / "empty.csv").write_text("a,b\n1,2\n3,\n")
    refused(tmp_path / "empty.csv", "column 'target' has empty cells", tmp_path)
    refused(table_of(tmp_path / "p.parquet", {"a": [1], "b": [2]}), "has no column 'source'", tmp_path)
    (tmp_path / "cut.npz").write_bytes(town_file.read_bytes()[:-2000])
    refused(tmp_path / "cut.npz", "is damaged", tmp_path)
    (tmp_path / "links.csv").write_text("source,target\n")
    refused(tmp_path / "links.csv", "has no links and names nobody", tmp_path)
    np.savez(tmp_path / "a.npz", edges=np.empty((0, 2), dtype=np.int64))
    refused(tmp_path / "a.npz", "has no links and names nobody", tmp_path)
    large = pyarrow.array([0, 2**63 + 5], pyarrow.uint64())
    parquet.write_table(pyarrow.table({"source": large, "target": large}), tmp_path / "links.parquet")
    refused(tmp_path / "links.parquet", rf"got 0\.\.{2**63 + 5}", tmp_path)


def test_numbers_and_labels_that_are_wrong_are_refused_in_words_about_them(tmp_path):
    negative = table_of(tmp_path / "links.csv", {"source": [0, -1], "target": [1, 2]})
    refused(negative, r"must name users by numbers from 0 to \d+, got -1\.\.2", tmp_path)
    links = table_of(tmp_path / "links.csv", {"source": [0, 1], "target": [1, 5]})
    refused(links, r"numbers 0\.\.4, got 0\.\.5", tmp_path, users=5)
    labels = table_of(tmp_path / "labels.csv", {"user": [1, 1], "label": [0, 1]})
    refused(links, "two labels for one user", tmp_path, labels=labels)
    words = table_of(tmp_path / "words.csv", {"user": [1, 2], "label": ["x", "y"]})
    refused(links, "must hold integers here", tmp_path, labels=words)
    links = table_of(tmp_path / "links.csv", {"source": [0, 1], "target": [1, 2]})
    refused(links, "name a table of users and labels", tmp_path, labels=tmp_path / "no.csv")
    words = table_of(tmp_path / "words.csv", {"user": [1, 2], "label": ["x", "y"]})
    refused(links, "write the classes as 0, 1, …", tmp_path, labels=words)
    np.savez(tmp_path / "a.npz", edges=np.array([[0, 1], [-1, 2]]))
    refused(tmp_path / "a.npz", r"got -1\.\.2: number users from 0 on, and give y(?!.*ids)", tmp_path)
    table = table_of(tmp_path / "links.csv", {"source": [0, -1], "target": [1, 2]})
    refused(table, "take their numbers as ids", tmp_path)


def test_options_that_do_not_belong_together_are_refused(town_file, tmp_path):
    links = table_of(tmp_path / "links.csv", {"source": ["a"], "target": ["b"]})
    refused(town_file, "leave out labels, users and ids", tmp_path, users=600)
    refused(links, "without features: leave out range", tmp_path, range=(0, 1))
    refused(links, "ids, which tell how many there are", tmp_path, users=2)
    refused(links, "max_memory must be a positive", tmp_path, max_memory=0)
    refused(links, "partitions must be an integer", tmp_path, partitions=0)


def test_features_without_a_range_or_other_than_they_are_called_several_labels_and_volunteers_are_refused(
    tmp_path,
):
    base = {"edges": np.array([[0, 1], [1, 2]]), "x": np.eye(3), "y": [0, 1, 0]}
    np.savez(tmp_path / "a.npz", **base)
    refused(tmp_path / "a.npz", "has features but no public range", tmp_path)
    np.savez(tmp_path / "b.npz", **{**base, "y": np.array([[0, 1], [1, 1], [0, 1]])}, range=[0, 1])
    refused(tmp_path / "b.npz", "several labels a user", tmp_path)
    np.savez(tmp_path / "c.npz", **base, range=[0, 1], panel=[True, False, False])
    refused(tmp_path / "c.npz", "has 1 volunteers", tmp_path)
    np.savez(tmp_path / "d.npz", **{**base, "x": np.eye(4)}, range=[0, 1])
    refused(tmp_path / "d.npz", "one row for each of 3 users, got 4", tmp_path)
    base = {"edges": np.array([[0, 1], [1, 2]]), "y": [0, 1, 0, 1, 0, 1], "range": [0, 1]}
    np.savez(tmp_path / "a.npz", **base, x=np.full((6, 2), 0.5), binary=True)
    refused(tmp_path / "a.npz", "called binary but hold more", tmp_path)
    np.savez(tmp_path / "b.npz", **base, x=np.full((6, 2), np.nan))
    refused(tmp_path / "b.npz", "features must be finite", tmp_path)


def test_a_table_without_a_line_of_names_loses_no_link(tmp_path):
    file = tmp_path / "links.csv"
    file.write_text("0,1\n1,2\n")
    refused(file, "begins with the numbers '0,1': put a line above them that names the columns", tmp_path)
    # Names may have digits in them.
    file.write_text("1st,2nd\n0,1\n1,2\n")
    assert shard_files(file, tmp_path / "named", partitions=1).manifest.entries == 4


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_fractions_are_no_users(suffix, tmp_path):
    links = table_of(tmp_path / f"links.{suffix}", {"source": [0.0, 1.0], "target": [1.0, 2.5]})
    refused(links, "must name users by integers or by words, got double", tmp_path)


def test_numbers_that_must_be_names_are_refused_unless_somebody_says_so(tmp_path, monkeypatch):
    links = table_of(tmp_path / "links.csv", {"source": [0, 1], "target": [1, 1_200_000]})
    refused(links, "nearly all of 1200001 users would have none(.|\n)*ids", tmp_path)
    assert shard_files(links, tmp_path / "ids", partitions=2, ids=True).users == 3
    # So many users take seconds to write: fewer are too many here.
    monkeypatch.setattr(link_database, "MANY", 1000)
    few = table_of(tmp_path / "few.csv", {"source": [0, 1], "target": [1, 1200]})
    refused(few, "nearly all of 1201 users would have none(.|\n)*ids", tmp_path)
    assert shard_files(few, tmp_path / "many", partitions=2, users=1201).users == 1201


def test_columns_of_the_same_name_are_two(tmp_path):
    (tmp_path / "links.csv").write_text("user,user\n0,1\n1,2\n")
    shards = shard_files(tmp_path / "links.csv", tmp_path / "s", partitions=1)
    assert shards.manifest.entries == 4
    (tmp_path / "words.csv").write_text("user,user\nanna,0\n0,bo\n")
    shard_files(tmp_path / "words.csv", tmp_path / "t", partitions=1)
    graph, _ = load_whole(tmp_path / "t")
    assert graph.ids.tolist() == ["0", "anna", "bo"] and graph.edge_count == 2


def test_too_little_memory_to_sort_is_a_sentence(town_file, tmp_path, monkeypatch):
    def fails(*_):
        raise duckdb.OutOfMemoryException("could not allocate block")

    monkeypatch.setattr(link_database.LinkDatabase, "sort", fails)
    refused(town_file, "cannot be sorted in 0.1 GB: give a larger max_memory", tmp_path, max_memory=0.1)
