import json

import numpy as np
import pytest

from graphveil.graphs import Town, load
from graphveil.scale import load_whole, open_shards, shard_writer, sharded_town

MINE = "graph shard mine.npz --range 0,1 --partitions 2"
TOWN = "graph shard town --out shards --partitions 2 --set users=400"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    edges, features, labels = Town(users=400).generate()
    np.savez(tmp_path / "mine.npz", edges=edges, x=features, y=labels)
    return tmp_path


def test_a_file_is_sharded_and_described(folder, call):
    told = call("graph shard mine.npz --range 0,1 --out shards --partitions 3 --seed 2")
    assert told.err == ""
    assert told.out.startswith("shards: 400 users and 3,970 links in 3 partitions by metis; ")
    graph, _ = load(folder / "mine.npz", seed=2, range=(0, 1))
    assert np.array_equal(load_whole("shards")[0].train, graph.train)
    facts = {line.split()[0]: line.split()[1:] for line in call("graph info shards").lines if line.strip()}
    assert (facts["users"], facts["links"], facts["classes"]) == (["400"], ["3,970"], ["4"])
    assert " ".join(facts["split"]) == "200 train, 100 validate, 100 test"
    assert " ".join(facts["simulated"]) == "has what users hold, for simulations"
    assert facts["0"][0] == "0" and len(facts["2"]) == 4


def test_json_is_one_object_that_has_the_manifest_and_more(folder, call):
    told = call(MINE, "--out shards --partition ranges --json").json
    manifest = json.loads((folder / "shards/graph.json").read_text())
    assert {key: told[key] for key in manifest} == manifest
    assert (told["links"], told["balance"], told["simulated"], told["reports"]) == (3970, 1.0, True, [])
    assert told["bytes"] == sum(file.stat().st_size for file in (folder / "shards").rglob("*.*"))
    assert call("graph info shards --json").json == told


def test_options_of_the_loader_and_the_split_are_taken(call):
    call(TOWN, "--set split=few", ends=2)
    call(TOWN, "--set split=random --seed 3 --public")
    shards = open_shards("shards")
    assert not shards.simulated and int(shards.table(0, 2).train.sum()) == 200
    options = {"users": 400, "split": "random"}
    assert shards.manifest.source == {
        "partition_seed": 3,
        "name": "town",
        "options": options,
        "split_seed": 3,
    }
    call(MINE, "--out few --set split=few", ends=2)
    call(MINE, "--out half --set split=random")
    assert open_shards("half").manifest.source["split"] == "random"


def test_a_table_of_links_with_labels(folder, call):
    (folder / "links.csv").write_text("a,b\nx,y\ny,z\nz,w\n")
    (folder / "labels.csv").write_text("who,what\nx,0\ny,1\nz,2\nw,3\n")
    call("graph shard links.csv --labels labels.csv --out shards --partitions 2 --max-memory 0.5")
    assert load_whole("shards")[0].ids.tolist() == ["w", "x", "y", "z"]


def test_a_town_of_the_wanted_size(call):
    words = "graph town --out town --users 800 --partitions 4 --set degree=10 --set town_seed=5 --seed 1"
    out = call(words).out
    assert out.startswith("town: 800 users and ") and "4 partitions by neighbourhoods" in out
    source = open_shards("town").manifest.source
    assert (source["town"]["seed"], source["town"]["degree"], source["split_seed"]) == (5, 10, 1)


MISTAKES = [
    ("shard mine.npz --out s --partitions 2", "has features but no public range: give --range LOW,HIGH"),
    ("shard mine.npz --out s --partitions 0", "--partitions must be an integer from 1 to 9999"),
    ("shard mine.npz --out s --partitions 2 --partition best", "best"),
    ("shard mine.npz --out s --partitions 2 --max-memory 0", "--max-memory must be a positive"),
    ("shard nobody --out s --partitions 2", "no dataset is named 'nobody'"),
    ("shard nobody.csv --out s --partitions 2", "there is no file nobody.csv"),
    ("shard town --out s --partitions 2 --ids", "are for files that are sharded as they are"),
    ("town --out s --users 100 --partitions 2", "100 users do not fill one neighbourhood"),
    ("town --out s --users 800 --partitions 2 --set colour=1", "town has no option 'colour'"),
    ("info nowhere", "nowhere is no sharded graph"),
]


def test_a_mistake_is_one_line_and_leaves_nothing(folder, refuses):
    refuses(MISTAKES, "graph", printed=False, changed=lambda: (folder / "s").exists())


@pytest.mark.parametrize(
    "words",
    [
        f"{MINE} --out s",
        "graph shard town --out s --partitions 2",
        "graph town --out s --users 800 --partitions 2",
    ],
)
def test_an_interrupt_leaves_nothing_and_says_so(folder, words, monkeypatch, call):
    def interrupted(*_args):
        raise KeyboardInterrupt

    for module in (shard_writer, sharded_town):
        monkeypatch.setattr(module, "write_partition", interrupted)
    told = call(words, ends=130)
    assert told.out == "" and "Interrupted: nothing was written" in told.err
    assert not (folder / "s").exists()
