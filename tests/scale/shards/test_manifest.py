"""The manifest: what is missing, damaged or of another version is said with what to do."""

import json

import pytest

from graphveil import InputError
from graphveil.graphs.load import is_sharded
from graphveil.scale import manifest as manifest_module
from graphveil.scale import open_shards, write_shards
from graphveil.scale.manifest import MANIFEST, new_folder, sharded_files
from tests.together import each


@pytest.fixture
def folder(small, tmp_path):
    write_shards(small[0], tmp_path / "s", partitions=2, users=small[1])
    return tmp_path / "s"


def change(folder, **fields):
    told = json.loads((folder / "graph.json").read_text())
    (folder / "graph.json").write_text(json.dumps({**told, **fields}))


def test_the_manifest_says_what_is_public(folder):
    told = json.loads((folder / "graph.json").read_text())
    expected = {
        "format": 1,
        "name": "small",
        "users": 7,
        "entries": 12,
        "features": 3,
        "range": [0.0, 1.0],
        "binary": False,
        "classes": 3,
        "metric": "accuracy",
        "feature_names": ["a", "b", "ü"],
        "ids": "text",
        "partitioner": "metis",
    }
    assert {key: told[key] for key in expected} == expected
    assert set(told) == {*expected, "partitions", "source", "cut"}
    assert [set(part) for part in told["partitions"]] == 2 * [{"first", "users", "entries", "cut"}]


def test_only_a_folder_with_a_manifest_is_sharded_and_its_files_say_what_it_is(folder, tmp_path):
    assert is_sharded(folder) and is_sharded(str(folder))
    assert not is_sharded(tmp_path) and not is_sharded("cora") and not is_sharded("a\0b")
    (folder / "reports").mkdir()
    assert [str(file.relative_to(folder)) for file in sharded_files(folder)] == [
        "graph.json",
        "part-0000/edges.parquet",
        "part-0000/users.parquet",
        "part-0001/edges.parquet",
        "part-0001/users.parquet",
        "users/part-0000.parquet",
        "users/part-0001.parquet",
    ]


def refused(folder, words):
    with pytest.raises(InputError, match=words):
        open_shards(folder)


def test_a_folder_without_a_manifest_was_not_written_to_its_end(folder):
    (folder / "graph.json").unlink()
    refused(folder, r"was not written to its end: it has no graph\.json; write it again with")
    refused(folder / "nowhere", "is no sharded graph")


def test_what_is_no_json_or_of_another_version_is_said(folder):
    change(folder, format=2)
    refused(folder, "has the format 2, this graphveil reads 1")
    (folder / "graph.json").write_text("{")
    refused(folder, r"graph\.json is not JSON \(line 1, column 2\)")
    (folder / "graph.json").write_bytes(b"\xff\xfe")
    refused(folder, r"graph\.json is not UTF-8 text")
    (folder / "graph.json").write_text("[1]")
    refused(folder, "does not name its format")


def test_fields_that_do_not_fit_are_named(folder):
    whole = (folder / "graph.json").read_text()

    def check(case):
        fields, words = case
        (folder / "graph.json").write_text(whole)
        change(folder, **fields)
        refused(folder, words)

    cases = [
        ({"users": -1}, "damaged .users: "),
        ({"users": "7"}, "damaged .users: "),
        ({"users": 8}, "hold 7 users and 12 entries, the whole should have 8 and 12"),
        ({"entries": 13}, "hold 7 users and 12 entries, the whole should have 7 and 13"),
        ({"partitions": []}, "damaged .partitions: "),
        ({"metric": "luck"}, "damaged .metric: "),
        ({"feature_names": ["a"]}, "it names 1 of 3 features"),
        ({"more": 1}, "damaged .more: "),
    ]
    each(cases, check)


def test_partitions_must_follow_each_other(folder):
    partitions = json.loads((folder / "graph.json").read_text())["partitions"]
    change(folder, partitions=partitions[::-1])
    refused(folder, "its partitions do not follow each other")


@pytest.mark.parametrize("left", [["part-0000", "users"], [".sorting"], [".scratch", "part-0003"]])
def test_a_folder_of_a_killed_command_is_told_from_others(left, tmp_path):
    for name in left:
        (tmp_path / "out" / name).mkdir(parents=True)
    with (
        pytest.raises(InputError, match="not written to its end: delete it, and give the same command"),
        new_folder(tmp_path / "out"),
    ):
        pytest.fail("it was written into")
    assert {each.name for each in (tmp_path / "out").iterdir()} == set(left)
    (tmp_path / "out" / "thesis.txt").touch()
    with (
        pytest.raises(InputError, match="is there already and holds something"),
        new_folder(tmp_path / "out"),
    ):
        pytest.fail("it was written into")


def test_what_cannot_be_removed_is_no_sharded_graph(tmp_path, monkeypatch):
    monkeypatch.setattr(manifest_module.shutil, "rmtree", lambda *_, **__: None)
    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "out") as folder:
        (folder / MANIFEST).write_text("{}")
        raise KeyboardInterrupt
    assert (tmp_path / "out").exists() and not is_sharded(tmp_path / "out")
