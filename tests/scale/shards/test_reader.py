"""Shards are read alone or together; what does not fit is said."""

import json
import shutil

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from graphveil import InputError
from graphveil.graphs import load
from graphveil.scale import edges as edges_file
from graphveil.scale import facts, open_shards, write_shards
from tests.together import each


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    """A town in four shards, whose row groups are small, so that there are several."""
    folder = tmp_path_factory.mktemp("shards") / "town"
    graph, users = load("town", users=800, seed=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edges_file.write_edges, "__defaults__", (1000,))
        shards = write_shards(graph, folder, partitions=4, users=users)
    return graph, users, shards


def test_blocks_are_whole_users_in_order_with_the_links_of_the_graph(town):
    _, _, shards = town
    for partition in range(4):
        file = parquet.ParquetFile(shards.path / f"part-{partition:04d}/edges.parquet")
        groups = [
            set(file.read_row_group(group).column("source").to_pylist())
            for group in range(file.num_row_groups)
        ]
        assert len(groups) > 3
        assert sum(map(len, groups)) == len(set().union(*groups))
    graph, _, shards = town
    table = shards.table(1, 3)
    everyone = shards.table(0, 4).original
    rows = 0
    for begin, end, targets in shards.edge_blocks(1, 3):
        assert begin == rows and end > begin and targets.dtype == np.int32
        for row in range(begin, end):
            own = targets[
                table.indptr[row] - table.indptr[begin] : table.indptr[row + 1] - table.indptr[begin]
            ]
            user = table.original[row]
            expected = graph.indices[graph.indptr[user] : graph.indptr[user + 1]]
            assert (np.diff(own) > 0).all() and set(everyone[own]) == set(expected)
        rows = end
    assert rows == len(table)


def test_the_tables_and_edges_of_all_partitions_are_those_of_the_parts_one_after_the_other(town):
    graph, _, shards = town
    whole = shards.table(0, 4)
    parts = [shards.table(partition, partition + 1) for partition in range(4)]
    assert [part.first for part in parts] == [part.first for part in shards.manifest.partitions]
    for name in ("original", "labels", "train", "validation", "test"):
        assert np.array_equal(getattr(whole, name), np.concatenate([getattr(part, name) for part in parts]))
    assert np.array_equal(np.diff(whole.indptr), graph.degrees[whole.original])
    assert (whole.first, len(whole)) == (0, 800)
    _, _, shards = town
    blocks = [targets for _, _, targets in shards.edge_blocks(2, 4)]
    assert len(blocks) > 8
    assert np.array_equal(shards.edges(2, 4), np.concatenate(blocks))
    _, users, shards = town
    own = shards.simulated_users(2)
    original = shards.table(2, 3).original
    assert np.array_equal(own.raw.features, users.raw.features[original])
    assert np.array_equal(own.raw.labels, users.raw.labels[original])
    assert np.array_equal(shards.simulated_labels(2), users.raw.labels[original])


def test_degrees_of_any_users_by_shard_number(town, monkeypatch):
    graph, _, shards = town
    everyone = shards.table(0, 4).original
    numbers = np.array([0, 3, 199, 200, 201, 799])
    assert shards.degrees(numbers).tolist() == graph.degrees[everyone[numbers]].tolist()
    read = []
    before = type(shards)._degrees
    monkeypatch.setattr(
        type(shards), "_degrees", lambda self, partition: read.append(partition) or before(self, partition)
    )
    shards.degrees(np.array([shards.manifest.partitions[2].first + 5]))
    assert read == [2]
    assert shards.degrees(np.empty(0, dtype=np.int64)).tolist() == []
    with pytest.raises(InputError, match=r"shard numbers of 0\.\.799"):
        shards.degrees(np.array([800]))
    with pytest.raises(InputError, match="in ascending order"):
        shards.degrees(np.array([3, 2, 5]))


def test_partitions_that_are_not_there_are_refused(town):
    def check(span):
        with pytest.raises(InputError, match=r"(first|last)_partition must be an integer from"):
            town[2].table(*span)

    each([(0, 0), (3, 2), (-1, 2), (0, 5), (4, 5)], check)


@pytest.fixture
def copy(town, tmp_path):
    """A copy that a test may damage."""
    folder = tmp_path / "town"
    shutil.copytree(town[2].path, folder)
    return folder


def test_without_what_users_hold_nobody_is_simulated(copy):
    shutil.rmtree(copy / "users")
    with pytest.raises(InputError, match="does not have what users hold, so nobody answers here"):
        open_shards(copy).simulated_users(0)
    with pytest.raises(InputError, match="does not have what users hold"):
        open_shards(copy).simulated_labels(0)


def test_a_missing_file_is_named(copy):
    (copy / "part-0002/edges.parquet").unlink()
    with pytest.raises(InputError, match=r"part-0002/edges\.parquet is missing: copy the whole folder"):
        open_shards(copy)


def test_a_file_that_was_cut_off_is_damaged(copy):
    file = copy / "part-0001/edges.parquet"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"part-0001/edges\.parquet is damaged or cannot be read"):
        open_shards(copy).edges(0, 4)


def rewrite(file, change, group=None):
    table = change(parquet.read_table(file))
    parquet.write_table(table, file, row_group_size=group or len(table))


def put(name, values):
    """A change of a column: to what a function makes of its values."""

    def change(table):
        place, kind = table.column_names.index(name), table.schema.field(name)
        found = values(table.column(name).to_pylist())
        return table.set_column(place, kind, pyarrow.array(found, kind.type))

    return change


def first(value):
    return lambda values: [value, *values[1:]]


def all_are(value):
    return lambda values: [value] * len(values)


def wide_degrees(table):
    return table.set_column(1, "degree", table.column("degree").cast("int64"))


def told_of_test_users(table):
    split = table.column("split").to_pylist()
    return put("label", lambda _: [0 if each == 3 else -1 for each in split])(table)


USERS, EDGES, HELD = "part-0000/users.parquet", "part-0000/edges.parquet", "users/part-0000.parquet"
SPLIT = r"users\.parquet is damaged: split must be 0\.\.3"
CLASS = r"users/part-0000\.parquet is damaged: labels must be -1\.\.3"
UNSORTED = r"part-0000/edges\.parquet is damaged: .*in ascending order"
# What is read, which file is changed, how, and what is said.
DAMAGE = [
    ("table", USERS, lambda table: table.slice(1), r"has \d+ rows, the manifest says \d+"),
    ("edges", EDGES, lambda table: table.slice(1), r"has \d+ rows, the manifest says \d+"),
    ("table", USERS, lambda table: table.drop_columns("label"), "has no column 'label'"),
    ("table", USERS, wide_degrees, "column 'degree' must be int32, got int64"),
    ("table", USERS, put("degree", first(3)), "its degrees do not sum up to"),
    ("table", USERS, put("original", first(800)), r"original numbers must be 0\.\.799"),
    (
        "table",
        USERS,
        put("label", first(4)),
        r"labels of users who neither train nor validate|labels must be -1\.\.3",
    ),
    ("table", USERS, told_of_test_users, "labels of users who neither train nor validate"),
    ("edges", EDGES, put("target", first(800)), "links to users that are not there"),
    ("table", USERS, put("split", all_are(-3)), SPLIT),
    ("facts", USERS, put("split", all_are(-3)), SPLIT),
    ("table", USERS, put("split", all_are(4)), SPLIT),
    ("facts", USERS, put("split", all_are(4)), SPLIT),
    ("simulated_users", HELD, put("label", all_are(4)), CLASS),
    ("simulated_labels", HELD, put("label", all_are(4)), CLASS),
    ("edges", EDGES, put("target", lambda targets: [targets[1], targets[0], *targets[2:]]), UNSORTED),
    ("edges", EDGES, put("target", lambda targets: [targets[0], targets[0], *targets[2:]]), UNSORTED),
    ("edges", EDGES, put("target", first(0)), r"part-0000/edges\.parquet is damaged: .*link to oneself"),
]
READ = {
    "table": lambda shards: shards.table(0, 1),
    "edges": lambda shards: shards.edges(0, 1),
    "facts": facts,
    "simulated_users": lambda shards: shards.simulated_users(0),
    "simulated_labels": lambda shards: shards.simulated_labels(0),
}


def test_files_that_hold_what_cannot_be_are_damaged(copy):
    def check(case):
        read, name, change, words = case
        whole = (copy / name).read_bytes()
        try:
            rewrite(copy / name, change)
            with pytest.raises(InputError, match=words):
                READ[read](open_shards(copy))
        finally:
            (copy / name).write_bytes(whole)

    each(DAMAGE, check)


def test_a_row_group_that_ends_within_a_user_is_damage(copy):
    rewrite(copy / EDGES, lambda table: table, group=7)
    with pytest.raises(InputError, match="a row group ends within a user's links"):
        open_shards(copy).edges(0, 1)


def test_features_of_another_number_are_damage(copy):
    told = json.loads((copy / "graph.json").read_text())
    (copy / "graph.json").write_text(json.dumps({**told, "features": 63}))
    with pytest.raises(InputError, match="rows must have 63 values each"):
        open_shards(copy).simulated_users(0)
