"""A sharded graph as a whole, in its original numbers."""

import json
import shutil

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from graphveil import InputError
from graphveil.cli import status
from graphveil.graphs import load
from graphveil.graphs.catalogue import describe
from graphveil.graphs.load import data_digest
from graphveil.scale import shard_reader, write_shards
from tests.scale.shards.conftest import same_graph, same_users
from tests.together import each


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    graph, users = load("town", users=400, seed=2)
    folder = tmp_path_factory.mktemp("written") / "town"
    write_shards(graph, folder, partitions=3, users=users)
    return graph, users, folder


@pytest.fixture
def town(written, tmp_path):
    """A town in a folder that a test may change."""
    graph, users, folder = written
    return graph, users, shutil.copytree(folder, tmp_path / "town")


def test_load_takes_the_folder_of_a_small_one_and_the_catalogue_describes_it(town):
    graph, users, folder = town
    for source in (folder, str(folder)):
        again, held = load(source, seed=9)
        assert same_graph(graph, again) and same_users(users, held)
    graph, _, folder = town
    listing = describe(str(folder))
    assert (listing.users, listing.edges, listing.features, listing.classes) == (400, graph.edge_count, 64, 4)
    assert listing.where == "3 shards"


def test_load_finds_a_folder_by_a_name_that_is_not_known(town, monkeypatch):
    graph, _, folder = town
    folder.rename(folder.with_name("mine"))
    monkeypatch.chdir(folder.parent)
    assert same_graph(graph, load("mine")[0])
    monkeypatch.chdir(town[2].parent)
    assert load("town", users=200)[0].node_count == 200


def test_another_split_is_drawn_where_all_labels_are_there(town):
    _, users, folder = town
    graph, _ = load(folder, seed=3, split="random")
    assert int(graph.train.sum()) == 200
    assert np.array_equal(graph.labels[graph.train], users.raw.labels[graph.train])
    assert not np.array_equal(graph.train, load(folder, seed=4, split="random")[0].train)
    shutil.rmtree(folder / "users")
    with pytest.raises(InputError, match="no other split can be drawn: leave split out"):
        load(folder, split="random")


def test_a_large_one_is_refused_with_the_command_that_runs_it(town, monkeypatch):
    graph, _, folder = town
    monkeypatch.setattr(shard_reader, "MOST_ENTRIES", 100)
    entries = len(graph.indices)
    with pytest.raises(InputError, match=f"is a sharded graph of {entries} entries") as error:
        load(folder)
    assert f"`graphveil run METHOD --data {folder} --workers N`" in str(error.value)


def test_what_was_settled_when_it_was_sharded_is_refused(town):
    def check(option):
        name, value = option
        with pytest.raises(InputError, match=f"takes no {name}: its range, labels and classes were"):
            load(town[2], **{name: value})

    each([("range", (0, 2)), ("label", 1), ("largest_classes", 2), ("users", 4)], check)


def test_users_that_are_there_twice_are_damage(town):
    folder = town[2]
    first, second = (parquet.read_table(folder / f"part-000{place}/users.parquet") for place in (0, 1))
    original = second.column("original").to_pylist()
    original[0] = first.column("original").to_pylist()[0]
    changed = second.set_column(0, second.schema.field(0), pyarrow.array(original, pyarrow.int64()))
    parquet.write_table(changed, folder / "part-0001/users.parquet")
    with pytest.raises(InputError, match="its users are not all there"):
        load(folder)


def test_the_digest_follows_every_file_but_reports(town):
    folder = town[2]
    before = data_digest(str(folder), {})
    (folder / "reports/0123").mkdir(parents=True)
    (folder / "reports/0123/plan.json").write_text("{}")
    assert data_digest(str(folder), {}) == before
    (folder / "users/part-0000.parquet").unlink()
    assert data_digest(str(folder), {}) != before


def test_the_digest_follows_reports_where_they_are_what_is_learned_from(town, tmp_path):
    folder = tmp_path / "collected"
    shutil.copytree(town[2], folder, ignore=shutil.ignore_patterns("users", "reports"))
    before = data_digest(str(folder), {})
    (folder / "reports/0123").mkdir(parents=True)
    (folder / "reports/0123/part-0000.parquet").write_bytes(b"answers")
    asked = data_digest(str(folder), {})
    (folder / "reports/0123/part-0000.parquet").write_bytes(b"other answers")
    assert len({before, asked, data_digest(str(folder), {})}) == 3


def test_a_method_runs_on_it_as_on_the_graph_that_was_sharded(tmp_path, capsys):
    """The split of the folder is that of the seed it was loaded with."""
    graph, users = load("town", seed=1)
    write_shards(graph, tmp_path / "town", partitions=3, users=users)
    words = "run base --epsilon 4 --runs 1 --seed 1 --no-control --set epochs=2 --json --data"
    scores = []
    for data in ("town", str(tmp_path / "town")):
        assert status([*words.split(), data]) == 0
        scores.append(json.loads(capsys.readouterr().out)["runs"])
    assert scores[0] == scores[1]
