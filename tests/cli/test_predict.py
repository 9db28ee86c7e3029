import csv
import json

import numpy as np
import pytest

import graphveil as gv
from graphveil.cli import status
from tests.cli.support import not_refused

SMALL = [
    *("--set", "epochs=3", "--set", "data.users=200", "--set", "data.features=16"),
    *("--set", "data.telling=4", "--set", "data.labelled=0.2", "--set", "data.validated=0.2"),
]
PREDICT = ["predict", "base", "--data", "town", "--epsilon", "2", *SMALL, "--out", "town.csv"]


@pytest.fixture(autouse=True)
def own_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def test_the_command_and_python_write_the_same(capsys, tmp_path):
    assert status(PREDICT) == 0
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith("Predictions are in town.csv (") and "on 120 test users" in first
    assert second.startswith("Probabilities are calibrated by one temperature")
    assert third.startswith("What it cost is in town.csv.json: Every user reported features at ε = 2")
    town = {"users": 200, "features": 16, "telling": 4, "labelled": 0.2, "validated": 0.2}
    graph, users = gv.load("town", **town)
    gv.predict("base", graph, users, epsilon=2.0, settings={"epochs": 3}).save("again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "town.csv").read_bytes()


def test_json_is_one_object_and_nothing_else(capsys):
    assert status([*PREDICT, "--json", "--seed", "3"]) == 0
    fields = json.loads(capsys.readouterr().out)
    expected = {"method": "base", "data": "town", "epsilon": 2.0, "seed": 3, "tested": 120}
    assert {key: fields[key] for key in expected} == expected
    assert fields["record"] == "town.csv.json" and fields["privacy"]["trust"] == "local"


def test_a_graph_of_one_s_own_has_its_ids_in_the_file(tmp_path):
    random = np.random.default_rng(0)
    arrays = {"edges": random.integers(0, 60, (120, 2)), "x": random.random((60, 8)), "range": [0.0, 1.0]}
    np.savez(
        tmp_path / "mine.npz", **arrays, y=random.integers(0, 2, 60), ids=[f"u{each}" for each in range(60)]
    )
    words = "predict base --data mine.npz --epsilon 4 --set epochs=2 --out mine.csv"
    assert status(words.split()) == 0
    with (tmp_path / "mine.csv").open() as file:
        assert [row["id"] for row in csv.DictReader(file)] == [f"u{each}" for each in range(60)]


MISTAKES = [
    (["predict", "base", "--data", "town", "--out", "town.csv"], "needs a budget"),
    ([*PREDICT[:-1], "town.txt"], "town.txt has the unsupported format .txt: use .parquet or .csv"),
    ([*PREDICT, "--task", "link"], "predictions are classes"),
]


def test_a_mistake_exits_with_2_and_one_line(capsys, tmp_path):
    assert not_refused(MISTAKES, capsys, changed=lambda: list(tmp_path.glob("**/*town*"))) == []
