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


def with_column(table, name, values):
    place = table.column_names.index(name)
    return table.set_column(
        place, table.schema.field(name), pyarrow.array(values, table.schema.field(name).type)
    )


def test_rows_that_are_missing_are_counted(copy):
    rewrite(copy / "part-0000/users.parquet", lambda table: table.slice(1))
    with pytest.raises(InputError, match=r"has \d+ rows, the manifest says \d+"):
        open_shards(copy).table(0, 1)
    rewrite(copy / "part-0001/edges.parquet", lambda table: table.slice(1))
    with pytest.raises(InputError, match=r"has \d+ rows, the manifest says \d+"):
        open_shards(copy).edges(1, 2)


def test_a_missing_column_and_another_type_are_named(copy):
    rewrite(copy / "part-0000/users.parquet", lambda table: table.drop_columns("label"))
    with pytest.raises(InputError, match="has no column 'label'"):
        open_shards(copy).table(0, 1)
    rewrite(
        copy / "part-0001/users.parquet",
        lambda table: table.set_column(1, "degree", table.column("degree").cast("int64")),
    )
    with pytest.raises(InputError, match="column 'degree' must be int32, got int64"):
        open_shards(copy).table(1, 2)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("degree", 3, "its degrees do not sum up to"),
        ("original", 800, r"original numbers must be 0\.\.799"),
        ("label", 4, r"labels of users who neither train nor validate|labels must be -1\.\.3"),
    ],
)
def test_numbers_that_cannot_be_are_damage(copy, name, value, words):
    def change(table):
        values = table.column(name).to_pylist()
        return with_column(table, name, [value, *values[1:]])

    rewrite(copy / "part-0000/users.parquet", change)
    with pytest.raises(InputError, match=words):
        open_shards(copy).table(0, 1)


def test_a_label_of_a_test_user_is_refused(copy):
    def told(table):
        split = table.column("split").to_pylist()
        return with_column(table, "label", [0 if each == 3 else -1 for each in split])

    rewrite(copy / "part-0000/users.parquet", told)
    with pytest.raises(InputError, match="labels of users who neither train nor validate"):
        open_shards(copy).table(0, 1)


def test_a_link_to_nobody_is_damage(copy):
    rewrite(
        copy / "part-0000/edges.parquet",
        lambda table: with_column(table, "target", [800, *table.column("target").to_pylist()[1:]]),
    )
    with pytest.raises(InputError, match="links to users that are not there"):
        open_shards(copy).edges(0, 1)


def test_a_row_group_that_ends_within_a_user_is_damage(copy):
    rewrite(copy / "part-0000/edges.parquet", lambda table: table, group=7)
    with pytest.raises(InputError, match="a row group ends within a user's links"):
        open_shards(copy).edges(0, 1)


def test_features_of_another_number_are_damage(copy):
    told = json.loads((copy / "graph.json").read_text())
    (copy / "graph.json").write_text(json.dumps({**told, "features": 63}))
    with pytest.raises(InputError, match="rows must have 63 values each"):
        open_shards(copy).simulated_users(0)


@pytest.mark.parametrize(("name", "value"), [("split", -3), ("split", 4)])
def test_a_split_that_is_none_is_damage(copy, name, value):
    rewrite(
        copy / "part-0000/users.parquet",
        lambda table: with_column(table, name, [value] * len(table)),
    )
    with pytest.raises(InputError, match=r"users\.parquet is damaged: split must be 0\.\.3"):
        open_shards(copy).table(0, 1)
    with pytest.raises(InputError, match=r"users\.parquet is damaged: split must be 0\.\.3"):
        facts(open_shards(copy))


@pytest.mark.parametrize("held", ["simulated_users", "simulated_labels"])
def test_a_class_that_is_none_is_damage_among_what_users_hold_too(copy, held):
    rewrite(copy / "users/part-0000.parquet", lambda table: with_column(table, "label", [4] * len(table)))
    with pytest.raises(InputError, match=r"users/part-0000\.parquet is damaged: labels must be -1\.\.3"):
        getattr(open_shards(copy), held)(0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda targets: [targets[1], targets[0], *targets[2:]], "in ascending order"),
        (lambda targets: [targets[0], targets[0], *targets[2:]], "in ascending order"),
        (lambda targets: [0, *targets[1:]], "link to oneself"),
    ],
)
def test_links_that_are_not_sorted_or_lead_back_are_damage(copy, change, words):
    def changed(table):
        return with_column(table, "target", change(table.column("target").to_pylist()))

    rewrite(copy / "part-0000/edges.parquet", changed)
    with pytest.raises(InputError, match=rf"part-0000/edges\.parquet is damaged: .*{words}"):
        open_shards(copy).edges(0, 4)
