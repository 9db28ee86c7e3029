"""Kept results in files: what stands in them, and what is refused."""

import csv
import json

import pytest

from graphveil.experiments.results import (
    StoredResult,
    export_table,
    read_results,
    write_export,
)

RECORD = StoredResult.model_validate(
    {
        "number": 3,
        "tags": ["a", "b"],
        "method": "base",
        "data": "town",
        "epsilon": 2.0,
        "mechanism": "multibit",
        "seed": 2**64 - 2,
        "runs": [0.5, 0.7],
        "mean": 0.6,
        "low": -0.1,
        "high": 1.3,
        "control": {"mean": 0.5},
        "structure": {"mean": 0.4, "low": 0.3, "high": 0.5, "name": "label propagation"},
        "gain": {"mean": 0.1, "low": 0.05, "high": 0.15},
        "spec": {"settings": {"epochs": 3}, "budgets": {"label_epsilon": 4.0}},
        "time": "2026-01-01T00:00:00+00:00",
        "verdict": 'adds "much", and more',
    }
)
OTHER = {"number": 7, "tags": (), "epsilon": None, "gain": None}
RESULTS = [RECORD, RECORD.model_copy(update=OTHER)]


NAMES = (
    *("number", "time", "version", "source", "method", "data", "task", "metric", "epsilon", "label_epsilon"),
    *("link_epsilon", "panel", "mechanism", "backbone", "seed", "runs", "mean", "low", "high"),
    *("control_mean", "control_low", "control_high", "structure_mean", "structure_low", "structure_high"),
    *("gain_mean", "gain_low", "gain_high"),
    *("gain_over_structure_mean", "gain_over_structure_low", "gain_over_structure_high"),
    *("edgeless_mean", "edgeless_low", "edgeless_high"),
    *("gain_over_edgeless_mean", "gain_over_edgeless_low", "gain_over_edgeless_high"),
    *("unasked_mean", "unasked_low", "unasked_high"),
    *("gain_over_unasked_mean", "gain_over_unasked_low", "gain_over_unasked_high"),
    *("structure_name", "verdict", "interrupted", "tags", "scores", "settings", "data_options"),
)
OTHERS = {
    **dict.fromkeys(("number", "panel", "runs"), "int64"),
    "seed": "uint64",
    "interrupted": "bool",
    **dict.fromkeys(
        ("time", "version", "source", "method", "data", "task", "metric", "mechanism", "backbone"), "string"
    ),
    **dict.fromkeys(("structure_name", "verdict", "tags", "scores", "settings", "data_options"), "string"),
}


def test_a_csv_file_has_these_columns_in_this_order():
    assert tuple(export_table(RESULTS).csv().splitlines()[0].split(",")) == NAMES


def test_a_csv_file_reads_as_a_table(tmp_path):
    write_export(tmp_path / "x.csv", RESULTS)
    with (tmp_path / "x.csv").open(newline="") as file:
        first, second = csv.DictReader(file)
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


def test_a_parquet_file_of_no_result_has_its_columns(tmp_path):
    reader = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow: graphveil[parquet]")
    write_export(tmp_path / "x.parquet", [])
    assert reader.ParquetFile(tmp_path / "x.parquet").read().column_names == list(NAMES)


def test_a_json_file_has_whole_records_and_is_read_as_results(tmp_path):
    write_export(tmp_path / "x.json", RESULTS)
    whole = json.loads((tmp_path / "x.json").read_text())["results"]
    assert whole == [each.listing() for each in RESULTS]
    assert (whole[0]["number"], whole[0]["tags"], whole[0]["runs"]) == (3, ["a", "b"], [0.5, 0.7])
    assert [each.to_dict() for each in read_results([tmp_path / "x.json"])] == [
        each.to_dict() for each in RESULTS
    ]
