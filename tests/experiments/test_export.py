"""Kept results in files: what stands in them, and what is refused."""

import csv
import json

import pytest

from graphveil.experiments.results import StoredResult, read_results, write_export

FIELDS = {
    "number": 3,
    "tags": ["a", "b"],
    "method": "base",
    "data": "town",
    "epsilon": 2.0,
    "mechanism": "multibit",
}
FIELDS |= {
    "seed": 2**64 - 2,
    "runs": [0.5, 0.7],
    "mean": 0.6,
    "low": -0.1,
    "high": 1.3,
    "control": {"mean": 0.5},
}
FIELDS["structure"] = {"mean": 0.4, "low": 0.3, "high": 0.5, "name": "label propagation"}
FIELDS["gain"] = {"mean": 0.1, "low": 0.05, "high": 0.15}
FIELDS["spec"] = {"settings": {"epochs": 3}, "budgets": {"label_epsilon": 4.0}}
FIELDS |= {"time": "2026-01-01T00:00:00+00:00", "verdict": 'adds "much", and more'}
RECORD = StoredResult.model_validate(FIELDS)
OTHER = {"number": 7, "tags": (), "epsilon": None, "gain": None}
RESULTS = [RECORD, RECORD.model_copy(update=OTHER)]


def three(*names):
    return [f"{name}_{end}" for name in names for end in ("mean", "low", "high")]


TEXTS = ("structure_name", "verdict", "tags", "scores", "settings", "data_options")
NAMES = (
    *("number", "time", "version", "source", "method", "data", "task", "metric", "epsilon", "label_epsilon"),
    *("link_epsilon", "panel", "mechanism", "backbone", "seed", "runs", "mean", "low", "high"),
    *three("control", "structure", "gain", "gain_over_structure", "edgeless", "gain_over_edgeless"),
    *three("unasked", "gain_over_unasked"),
    *("structure_name", "verdict", "interrupted", "tags", "scores", "settings", "data_options"),
)
OTHERS = {"number": "int64", "panel": "int64", "runs": "int64", "seed": "uint64", "interrupted": "bool"}
OTHERS |= dict.fromkeys((*NAMES[1:8], "mechanism", "backbone", *TEXTS), "string")


def test_a_csv_file_reads_as_a_table(tmp_path):
    write_export(tmp_path / "x.csv", RESULTS)
    with (tmp_path / "x.csv").open(newline="") as file:
        first, second = csv.DictReader(file)
    assert tuple(first) == NAMES
    assert (first["number"], first["tags"], first["epsilon"], first["runs"]) == ("3", "a b", "2.0", "2")
    assert (first["mean"], first["control_mean"], first["control_low"]) == ("0.6", "0.5", "")
    assert (first["structure_name"], first["gain_high"]) == ("label propagation", "0.15")
    assert (first["label_epsilon"], json.loads(first["settings"])) == ("4.0", {"epochs": 3})
    assert json.loads(first["scores"]) == [0.5, 0.7]
    assert first["verdict"] == 'adds "much", and more'
    assert (second["epsilon"], second["gain_mean"], second["tags"]) == ("", "", "")


def test_a_parquet_file_reads_as_a_table_of_the_right_types(tmp_path):
    reader = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow: graphveil[parquet]")
    write_export(tmp_path / "x.parquet", RESULTS)
    table = reader.ParquetFile(tmp_path / "x.parquet").read()
    types = {name: str(table.schema.field(name).type) for name in table.column_names}
    assert types == {name: OTHERS.get(name, "double") for name in NAMES}
    assert table["epsilon"].to_pylist() == [2.0, None]
    assert table["seed"].to_pylist() == [2**64 - 2] * 2
    assert table["tags"].to_pylist() == ["a b", ""]
    assert table["interrupted"].to_pylist() == [False, False]
    # One of no result has its columns.
    write_export(tmp_path / "x.parquet", [])
    assert reader.ParquetFile(tmp_path / "x.parquet").read().column_names == list(NAMES)


def test_a_json_file_has_whole_records_and_is_read_as_results(tmp_path):
    write_export(tmp_path / "x.json", RESULTS)
    whole = json.loads((tmp_path / "x.json").read_text())["results"]
    assert whole == [each.listing() for each in RESULTS]
    assert (whole[0]["number"], whole[0]["tags"], whole[0]["runs"]) == (3, ["a", "b"], [0.5, 0.7])
    read = read_results([tmp_path / "x.json"])
    assert [each.to_dict() for each in read] == [each.to_dict() for each in RESULTS]
