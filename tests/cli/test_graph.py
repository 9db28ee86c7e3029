import json

import numpy as np
import pytest

from graphveil.cli import status
from graphveil.graphs import Town, load
from graphveil.scale import load_whole, open_shards, shard_writer, sharded_town
from tests.cli.support import not_refused, without_example


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    edges, features, labels = Town(users=400).generate()
    np.savez(tmp_path / "mine.npz", edges=edges, x=features, y=labels)
    return tmp_path


def run(words, capsys):
    """The exit status of a command, and what it printed."""
    ended = status(words.split())
    shown = capsys.readouterr()
    return ended, shown.out, shown.err


def test_a_file_is_sharded_and_described(folder, capsys):
    ended, out, err = run("graph shard mine.npz --range 0,1 --out shards --partitions 3 --seed 2", capsys)
    assert (ended, err) == (0, "")
    assert out.startswith("shards: 400 users and 3,970 links in 3 partitions by metis; ")
    graph, _ = load(folder / "mine.npz", seed=2, range=(0, 1))
    assert np.array_equal(load_whole("shards")[0].train, graph.train)
    ended, out, _ = run("graph info shards", capsys)
    assert ended == 0
    facts = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.strip()}
    assert (facts["users"], facts["links"], facts["classes"]) == (["400"], ["3,970"], ["4"])
    assert " ".join(facts["split"]) == "200 train, 100 validate, 100 test"
    assert " ".join(facts["simulated"]) == "has what users hold, for simulations"
    assert facts["0"][0] == "0" and len(facts["2"]) == 4


def test_json_is_one_object_that_has_the_manifest_and_more(folder, capsys):
    words = "graph shard mine.npz --range 0,1 --out shards --partitions 2 --partition ranges --json"
    ended, out, _ = run(words, capsys)
    told = json.loads(out)
    manifest = json.loads((folder / "shards/graph.json").read_text())
    assert ended == 0 and {key: told[key] for key in manifest} == manifest
    assert (told["links"], told["balance"], told["simulated"], told["reports"]) == (3970, 1.0, True, [])
    assert told["bytes"] == sum(file.stat().st_size for file in (folder / "shards").rglob("*.*"))
    assert json.loads(run("graph info shards --json", capsys)[1]) == told


def test_a_name_is_loaded_with_the_loader_s_options(folder, capsys):
    assert run("graph shard town --out shards --partitions 2 --set users=400 --set split=few", capsys)[0] == 2
    words = (
        "graph shard town --out shards --partitions 2 --set users=400 --set split=random --seed 3 --public"
    )
    assert run(words, capsys)[0] == 0
    shards = open_shards("shards")
    assert not shards.simulated and int(shards.table(0, 2).train.sum()) == 200
    assert shards.manifest.source == {
        "partition_seed": 3,
        "name": "town",
        "options": {"users": 400, "split": "random"},
        "split_seed": 3,
    }


def test_a_table_of_links_with_labels(folder, capsys):
    (folder / "links.csv").write_text("a,b\nx,y\ny,z\nz,w\n")
    (folder / "labels.csv").write_text("who,what\nx,0\ny,1\nz,2\nw,3\n")
    words = "graph shard links.csv --labels labels.csv --out shards --partitions 2 --max-memory 0.5"
    assert run(words, capsys)[0] == 0
    assert load_whole("shards")[0].ids.tolist() == ["w", "x", "y", "z"]


def test_a_town_of_the_wanted_size(folder, capsys):
    words = "graph town --out town --users 800 --partitions 4 --set degree=10 --set town_seed=5 --seed 1"
    ended, out, _ = run(words, capsys)
    assert ended == 0 and out.startswith("town: 800 users and ") and "4 partitions by neighbourhoods" in out
    source = open_shards("town").manifest.source
    assert (source["town"]["seed"], source["town"]["degree"], source["split_seed"]) == (5, 10, 1)


MISTAKES = [
    (
        "graph shard mine.npz --out s --partitions 2",
        "has features but no public range: give --range LOW,HIGH",
    ),
    ("graph shard mine.npz --out s --partitions 0", "--partitions must be an integer from 1 to 9999"),
    ("graph shard mine.npz --out s --partitions 2 --partition best", "best"),
    ("graph shard mine.npz --out s --partitions 2 --max-memory 0", "--max-memory must be a positive"),
    ("graph shard nobody --out s --partitions 2", "no dataset is named 'nobody'"),
    ("graph shard nobody.csv --out s --partitions 2", "there is no file nobody.csv"),
    ("graph shard town --out s --partitions 2 --ids", "are for files that are sharded as they are"),
    ("graph town --out s --users 100 --partitions 2", "100 users do not fill one neighbourhood"),
    ("graph town --out s --users 800 --partitions 2 --set colour=1", "town has no option 'colour'"),
    ("graph info nowhere", "nowhere is no sharded graph"),
]


def test_a_mistake_is_one_line_and_leaves_nothing(folder, capsys):
    assert (
        not_refused(
            [(words.split(), said) for words, said in MISTAKES],
            capsys,
            printed=False,
            changed=lambda: (folder / "s").exists(),
        )
        == []
    )


@pytest.mark.parametrize(
    "words",
    [
        "graph shard mine.npz --range 0,1 --out s --partitions 2",
        "graph shard town --out s --partitions 2",
        "graph town --out s --users 800 --partitions 2",
    ],
)
def test_an_interrupt_leaves_nothing_and_says_so(folder, words, monkeypatch, capsys):
    def interrupted(*_args):
        raise KeyboardInterrupt

    for module in (shard_writer, sharded_town):
        monkeypatch.setattr(module, "write_partition", interrupted)
    ended, out, err = run(words, capsys)
    assert (ended, out) == (130, "") and "Interrupted: nothing was written" in err
    assert not (folder / "s").exists()


def test_a_split_of_one_s_own_choice(folder, capsys):
    words = "graph shard mine.npz --range 0,1 --out few --partitions 2 --set split=few"
    assert run(words, capsys)[0] == 2
    words = "graph shard mine.npz --range 0,1 --out half --partitions 2 --set split=random"
    assert run(words, capsys)[0] == 0
    assert open_shards("half").manifest.source["split"] == "random"


def test_every_command_has_help_with_an_example(capsys):
    assert without_example([f"graph {command}" for command in ["shard", "town", "info"]], capsys) == []
