"""Files of artefacts: what is written, and the record beside it."""

import csv
import json

import numpy as np
import pytest

from graphveil import files
from graphveil.errors import InputError
from graphveil.experiments import artefacts
from graphveil.experiments.artefacts import check_predictions_file, write_artefact
from graphveil.files import write_whole
from tests.refusals import check_refused

COLUMNS = {
    "user": np.arange(2),
    "id": np.array(["ada", "bob"]),
    "part": np.array(["train", "test"]),
    "class": np.array([1, 0]),
    "probability": np.array([0.75, 2 / 3], dtype=np.float32),
}
ABOUT = {"method": "base", "privacy": {"total": {"epsilon": 1.0}}}


def test_a_csv_file_is_a_plain_table_with_its_record_beside_it(tmp_path):
    write_artefact(tmp_path / "town.csv", COLUMNS, ABOUT, record=True)
    with (tmp_path / "town.csv").open() as file:
        first, second = csv.DictReader(file)
    assert first == {"user": "0", "id": "ada", "part": "train", "class": "1", "probability": "0.75"}
    assert second["probability"] == "0.666667"
    assert json.loads((tmp_path / "town.csv.json").read_text()) == ABOUT
    assert sorted(file.name for file in tmp_path.iterdir()) == ["town.csv", "town.csv.json"]


def test_a_parquet_file_has_the_record_inside_too(tmp_path):
    reader = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow: graphveil[parquet]")
    write_artefact(tmp_path / "town.parquet", COLUMNS, ABOUT, record=True)
    table = reader.ParquetFile(tmp_path / "town.parquet").read()
    first = {"user": 0, "id": "ada", "part": "train", "class": 1, "probability": 0.75}
    assert table.to_pylist()[0] == first
    assert json.loads(table.schema.metadata[b"graphveil"]) == ABOUT
    assert json.loads((tmp_path / "town.parquet.json").read_text()) == ABOUT


def test_no_table_is_there_without_its_record(tmp_path, monkeypatch):
    def full(*_):
        raise InputError("no room")

    monkeypatch.setattr(artefacts, "write_whole", full)
    with pytest.raises(InputError, match="no room"):
        write_artefact(tmp_path / "town.csv", COLUMNS, ABOUT, record=True)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_leaves_what_was_there(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    file = tmp_path / "x.csv"
    file.write_text("before")
    monkeypatch.setattr(files.os, "replace", refuse)
    with pytest.raises(InputError, match="cannot be written .*No space left on device"):
        write_whole(file, b"after")
    assert file.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


def test_a_file_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "other.csv.json").mkdir()
    cases = [
        ("town.npz", "town.npz has the unsupported format .npz: use .parquet or .csv"),
        ("nowhere/town.csv", "nowhere is not a folder"),
        ("folder.csv", "folder.csv is a folder"),
        ("other.csv", "other.csv.json is a folder"),
    ]
    check_refused(lambda name: check_predictions_file(tmp_path / name), cases)
