import csv

import numpy as np
import pytest

import graphveil as gv
from tests.cli.support import TOWN, town

pytestmark = pytest.mark.usefixtures("own_folder")
PREDICT = f"predict base --data town --epsilon 2 --set epochs=3 {town()} --out town.csv"


def test_the_command_and_python_write_the_same(call, tmp_path):
    first, second, third = call(PREDICT).lines
    assert first.startswith("Predictions are in town.csv (") and "on 120 test users" in first
    assert second.startswith("Probabilities are calibrated by one temperature")
    assert third.startswith("What it cost is in town.csv.json: Every user reported features at ε = 2")
    graph, users = gv.load("town", **TOWN)
    gv.predict("base", graph, users, epsilon=2.0, settings={"epochs": 3}).save("again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "town.csv").read_bytes()


def test_json_is_one_object_and_nothing_else(call):
    fields = call(PREDICT, "--json --seed 3").json
    expected = {"method": "base", "data": "town", "epsilon": 2.0, "seed": 3, "tested": 120}
    assert {key: fields[key] for key in expected} == expected
    assert fields["record"] == "town.csv.json" and fields["privacy"]["trust"] == "local"


def test_a_graph_of_one_s_own_has_its_ids_in_the_file(tmp_path, call):
    random = np.random.default_rng(0)
    ids = [f"u{each}" for each in range(60)]
    arrays = {"edges": random.integers(0, 60, (120, 2)), "x": random.random((60, 8)), "range": [0.0, 1.0]}
    np.savez(tmp_path / "mine.npz", **arrays, y=random.integers(0, 2, 60), ids=ids)
    call("predict base --data mine.npz --epsilon 4 --set epochs=2 --out mine.csv")
    with (tmp_path / "mine.csv").open() as file:
        assert [row["id"] for row in csv.DictReader(file)] == ids


MISTAKES = [
    ("predict base --data town --out town.csv", "needs a budget"),
    (f"{PREDICT} --out town.txt", "town.txt has the unsupported format .txt: use .parquet or .csv"),
    (f"{PREDICT} --task link", "predictions are classes"),
]


def test_a_mistake_exits_with_2_and_one_line(refuses, tmp_path):
    refuses(MISTAKES, changed=lambda: list(tmp_path.glob("**/*town*")))
