import json

import numpy as np
import pytest
from typer.testing import CliRunner

from graphveil import InputError
from graphveil.cli.listings import data_app
from graphveil.graphs import DATASETS
from tests.cli.support import without_example

EDGES = np.array([[0, 1], [1, 2]])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHVEIL_DATA", str(tmp_path))
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "120")
    np.savez(tmp_path / "mine.npz", edges=EDGES, x=np.zeros((3, 5)), y=[0, 1, 0], range=[0, 7])
    np.savez(tmp_path / "cora.npz", edges=EDGES, y=[0, 1, 0])
    return tmp_path


def run(*words):
    return CliRunner().invoke(data_app, list(words), catch_exceptions=False)


def lines(output):
    return {line.split()[0]: line.split() for line in output.splitlines() if line.strip()}


def test_the_list_names_sizes_range_and_place(folder):
    rows = lines(run("list").stdout)
    assert rows["cora"] == ["cora", "2,708", "5,278", "1,433", "7", "0..1", "data", "folder"]
    assert rows["town"][-1] == "embedded"
    assert rows["reddit"][-4:] == ["give", "one", "not", "here"]
    assert rows["mine"] == ["mine", "3", "2", "5", "2", "0..7", "data", "folder"]
    assert rows["lastfm-graph-only"][3:6] == ["0", "18", "-"]


def test_the_list_fits_a_narrow_terminal(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert lines(run("list").stdout)["amazon-computers"][1] == "13,752"


def test_the_list_as_json_is_one_object(folder):
    graphs = {graph["name"]: graph for graph in json.loads(run("list", "--json").stdout)["graphs"]}
    assert set(graphs) == {*DATASETS, "mine"}
    assert (graphs["mine"]["range"], graphs["cora"]["where"], graphs["actor"]["edges"]) == (
        [0, 7],
        "data folder",
        None,
    )


def test_info_says_what_a_graph_holds_and_where_it_is(folder):
    output = run("info", "cora").stdout
    rows = lines(output)
    assert rows["users"] == ["users", "2,708"]
    assert rows["values"] == ["values", "0", "or", "1"]
    assert str(folder / "cora.npz") in output.replace("\n", "")


def test_info_of_a_path(folder):
    assert json.loads(run("info", str(folder / "mine.npz"), "--json").stdout)["users"] == 3


def test_get_prints_where_the_file_is(folder):
    assert run("get", "cora").stdout.strip() == str(folder / "cora.npz")


def test_get_again_downloads_although_it_is_here(folder):
    np.savez(folder / "squirrel-filtered.npz", edges=EDGES, y=[0, 1, 0])
    assert run("get", "squirrel-filtered").exit_code == 0
    with pytest.raises(InputError, match="squirrel-filtered cannot be downloaded"):
        run("get", "squirrel-filtered", "--again")


@pytest.mark.parametrize("command", ["info", "get"])
def test_an_unknown_name_is_an_input_error(folder, command):
    with pytest.raises(InputError, match="is named 'nobody'"):
        run(command, "nobody")


def test_every_command_has_help_with_an_example(capsys):
    assert without_example([f"data {command}" for command in ["list", "info", "get"]], capsys) == []


def test_without_a_command_the_help_is_shown(call):
    assert "List all graphs" in call("data").out


def test_a_mistake_is_one_line_and_status_2(folder, call):
    shown = call("data get nobody", ends=2)
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert shown.err.startswith("Error: no dataset is named 'nobody'")


def test_info_says_that_users_have_several_labels(folder):
    assert "any number of labels a user" in run("info", "town-labels").stdout
    assert "any number" not in run("info", "town").stdout
    assert json.loads(run("info", "ppi", "--json").stdout)["several_labels"] is True


def test_a_graph_with_volunteers_says_so(folder):
    np.savez(folder / "club.npz", edges=EDGES, x=np.zeros((3, 5)), range=[0, 1], panel=[True, False, True])
    assert lines(run("list").stdout)["club"][-4:] == ["data", "folder,", "2", "volunteers"]
    assert "2 users, whose raw features the server may know" in run("info", "club").stdout
    assert json.loads(run("info", "club", "--json").stdout)["volunteers"] == 2
    assert json.loads(run("info", "mine", "--json").stdout)["volunteers"] == 0
