import importlib

import numpy as np
import pytest

import graphveil as gv
from graphveil import files
from tests.cli.support import TOWN, town

SMALL = f"--set epochs=3 {town()}"
PLAIN = f"embed base --data town --epsilon 2 {SMALL}"
EMBED = f"{PLAIN} --out town.npz"

pytestmark = pytest.mark.usefixtures("own_folder")


def test_the_command_says_what_was_written_and_what_it_cost(call, tmp_path):
    first, second = call(EMBED).lines
    assert first.startswith("200 x 16 numbers are in town.npz (") and first.endswith(" kB).")
    assert second.startswith("Every user reported features at ε = 2; the server needs no trust.")
    assert gv.read_embedding(tmp_path / "town.npz").statement == second


def test_json_is_one_object_and_nothing_else(call, tmp_path):
    fields = call(EMBED, "--json --dims 4 --seed 3").json
    expected = {"method": "base", "data": "town", "task": "node", "epsilon": 2.0, "mechanism": "multibit"}
    expected |= {"seed": 3, "version": gv.__version__, "shape": [200, 4], "file": "town.npz"}
    assert {key: fields[key] for key in expected} == expected
    assert fields["privacy"]["features"] == {"epsilon": 2.0, "delta": 0.0}
    assert fields["seconds"] > 0 and fields["peak_mb"] > 0
    kept = gv.read_embedding(tmp_path / "town.npz")
    assert (kept.privacy.to_dict(), kept.statement) == (fields["privacy"], fields["statement"])
    assert kept.shape == (200, 4)


def test_the_command_writes_the_same_file_again_and_agrees_with_python(tmp_path, call):
    contents = []
    for _ in range(2):
        call(EMBED, "--task link")
        contents.append((tmp_path / "town.npz").read_bytes())
    assert contents[0] == contents[1]
    graph, users = gv.load("town", **TOWN)
    again = gv.embed("base", graph, users, epsilon=2.0, task="link", settings={"epochs": 3})
    assert np.array_equal(gv.read_embedding(tmp_path / "town.npz").values, again.values)


def test_a_map_is_drawn_of_what_was_written(call, tmp_path):
    assert "The map is in town.svg." in call(EMBED, "--dims 4 --map town.svg").out
    drawn = (tmp_path / "town.svg").read_text()
    # 80 of 200 have a label that the server knows.
    for text in ("base on town, ε = 2: t-SNE, by known class", "class 0", "class not known"):
        assert f">{text}</text>" in drawn
    assert drawn.count("<use ") >= 200


def test_settings_of_a_file_are_used(tmp_path, call):
    (tmp_path / "my.toml").write_text("hidden = 5\n")
    call(EMBED, "--settings my.toml")
    assert gv.read_embedding(tmp_path / "town.npz").shape == (200, 5)
    # So is what was learned of several labels.
    call(EMBED.replace("--data town", "--data town-labels"))
    assert gv.read_embedding(tmp_path / "town.npz").shape == (200, 16)


MISTAKES = [
    (f"{PLAIN} --out town.csv", "town.csv has the unsupported format .csv: use .npz or .parquet with --out"),
    (f"{PLAIN} --out nowhere/town.npz", "nowhere is not a folder"),
    (f"{EMBED} --map map.npz", "map.npz has the unsupported format .npz: use .svg or .png with --map"),
    (f"{EMBED} --dims 0", "dims must be an integer of at least 1, got 0"),
    ("embed base --data town --out town.npz", "needs a budget: give --epsilon"),
    (f"{EMBED} --set speed=1", "there is no setting 'speed' here"),
    (f"{EMBED} --range wide", "--range takes LOW,HIGH"),
]
LATER = [
    (f"{EMBED} --dims 17", "give at most 16"),
    (f"embed structure --data town --out town.npz {SMALL}", "structure has no embedding"),
]


def test_a_mistake_exits_with_2_and_one_line(refuses, tmp_path):
    refuses([*MISTAKES, *LATER], changed=lambda: list(tmp_path.glob("**/*town*")))


def test_a_file_that_needs_pyarrow_is_refused_without_it(monkeypatch, call):
    monkeypatch.setattr(files, "find_spec", lambda _: None)
    command = importlib.import_module("graphveil.cli.one_run")
    monkeypatch.setattr(command, "embed_experiment", lambda *_, **__: pytest.fail("computed first"))
    assert "needs pyarrow" in call(PLAIN, "--out town.parquet", ends=2).err
