import importlib
import json

import numpy as np
import pytest

import graphveil as gv
from graphveil import files
from graphveil.cli import status
from tests.cli.support import not_refused

SMALL = [
    *("--set", "epochs=3", "--set", "data.users=200", "--set", "data.features=16"),
    *("--set", "data.telling=4", "--set", "data.labelled=0.2", "--set", "data.validated=0.2"),
]
PLAIN = ["embed", "base", "--data", "town", "--epsilon", "2", *SMALL]
EMBED = [*PLAIN, "--out", "town.npz"]


pytestmark = pytest.mark.usefixtures("own_folder")


def test_the_command_says_what_was_written_and_what_it_cost(capsys, tmp_path):
    assert status(EMBED) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("200 x 16 numbers are in town.npz (") and first.endswith(" kB).")
    assert second.startswith("Every user reported features at ε = 2; the server needs no trust.")
    assert gv.read_embedding(tmp_path / "town.npz").statement == second


def test_json_is_one_object_and_nothing_else(capsys, tmp_path):
    assert status([*EMBED, "--json", "--dims", "4", "--seed", "3"]) == 0
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 1
    fields = json.loads(printed.out)
    expected = {"method": "base", "data": "town", "task": "node", "epsilon": 2.0, "mechanism": "multibit"}
    expected |= {"seed": 3, "version": gv.__version__, "shape": [200, 4], "file": "town.npz"}
    assert {key: fields[key] for key in expected} == expected
    assert fields["privacy"]["features"] == {"epsilon": 2.0, "delta": 0.0}
    assert fields["seconds"] > 0 and fields["peak_mb"] > 0
    kept = gv.read_embedding(tmp_path / "town.npz")
    assert (kept.privacy.to_dict(), kept.statement, kept.shape) == (
        fields["privacy"],
        fields["statement"],
        (200, 4),
    )


def test_the_same_command_writes_the_same_file(tmp_path):
    contents = []
    for _ in range(2):
        assert status(EMBED) == 0
        contents.append((tmp_path / "town.npz").read_bytes())
    assert contents[0] == contents[1]


def test_the_command_and_python_agree(tmp_path):
    assert status([*EMBED, "--task", "link"]) == 0
    town = {"users": 200, "features": 16, "telling": 4, "labelled": 0.2, "validated": 0.2}
    graph, users = gv.load("town", **town)
    again = gv.embed("base", graph, users, epsilon=2.0, task="link", settings={"epochs": 3})
    assert np.array_equal(gv.read_embedding(tmp_path / "town.npz").values, again.values)


def test_a_map_is_drawn_of_what_was_written(capsys, tmp_path):
    assert status([*EMBED, "--dims", "4", "--map", "town.svg"]) == 0
    drawn = (tmp_path / "town.svg").read_text()
    assert "The map is in town.svg." in capsys.readouterr().out
    # 80 of 200 have a label that the server knows.
    texts = [
        ">base on town, ε = 2: t-SNE, by known class</text>",
        ">class 0</text>",
        ">class not known</text>",
    ]
    assert [text in drawn for text in texts] == [True] * 3
    assert drawn.count("<use ") >= 200


def test_settings_of_a_file_are_used(tmp_path):
    (tmp_path / "my.toml").write_text("hidden = 5\n")
    assert status([*EMBED, "--settings", "my.toml"]) == 0
    assert gv.read_embedding(tmp_path / "town.npz").shape == (200, 5)


MISTAKES = [
    (
        [*PLAIN, "--out", "town.csv"],
        "town.csv has the unsupported format .csv: use .npz or .parquet with --out",
    ),
    ([*PLAIN, "--out", "nowhere/town.npz"], "nowhere is not a folder"),
    ([*EMBED, "--map", "map.npz"], "map.npz has the unsupported format .npz: use .svg or .png with --map"),
    ([*EMBED, "--dims", "0"], "dims must be an integer of at least 1, got 0"),
    (["embed", "base", "--data", "town", "--out", "town.npz"], "needs a budget: give --epsilon"),
    ([*EMBED, "--set", "speed=1"], "there is no setting 'speed' here"),
    ([*EMBED, "--range", "wide"], "--range takes LOW,HIGH"),
]
LATER = [
    ([*EMBED, "--dims", "17"], "give at most 16"),
    (["embed", "structure", "--data", "town", "--out", "town.npz", *SMALL], "structure has no embedding"),
]


def test_a_mistake_exits_with_2_and_one_line(capsys, tmp_path):
    assert not_refused([*MISTAKES, *LATER], capsys, changed=lambda: list(tmp_path.glob("**/*town*"))) == []


def test_a_file_that_needs_pyarrow_is_refused_without_it(monkeypatch, capsys):
    monkeypatch.setattr(files, "find_spec", lambda _: None)
    command = importlib.import_module("graphveil.cli.one_run")
    monkeypatch.setattr(command, "embed_experiment", lambda *_, **__: pytest.fail("computed first"))
    assert status([*PLAIN, "--out", "town.parquet"]) == 2
    assert "needs pyarrow" in capsys.readouterr().err


def test_what_was_learned_of_several_labels_is_written_too(tmp_path):
    assert status([*EMBED[:3], "town-labels", *EMBED[4:]]) == 0
    assert gv.read_embedding(tmp_path / "town.npz").shape == (200, 16)
