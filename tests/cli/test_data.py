import numpy as np
import pytest

from graphveil.graphs import DATASETS

EDGES = np.array([[0, 1], [1, 2]])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHVEIL_DATA", str(tmp_path))
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "120")
    np.savez(tmp_path / "mine.npz", edges=EDGES, x=np.zeros((3, 5)), y=[0, 1, 0], range=[0, 7])
    np.savez(tmp_path / "cora.npz", edges=EDGES, y=[0, 1, 0])
    return tmp_path


@pytest.fixture
def rows(call):
    """Calls the command: the words of each line by their first."""
    return lambda words: {line.split()[0]: line.split() for line in call("data", words).lines if line.strip()}


def test_the_list_names_sizes_range_and_place(rows, monkeypatch):
    listed = rows("list")
    assert listed["cora"] == ["cora", "2,708", "5,278", "1,433", "7", "0..1", "data", "folder"]
    assert listed["town"][-1] == "embedded"
    assert listed["reddit"][-4:] == ["give", "one", "not", "here"]
    assert listed["mine"] == ["mine", "3", "2", "5", "2", "0..7", "data", "folder"]
    assert listed["lastfm-graph-only"][3:6] == ["0", "18", "-"]
    # It fits a narrow terminal.
    monkeypatch.setenv("COLUMNS", "80")
    assert rows("list")["amazon-computers"][1] == "13,752"


def test_the_list_as_json_is_one_object(call):
    graphs = {graph["name"]: graph for graph in call("data list --json").json["graphs"]}
    assert set(graphs) == {*DATASETS, "mine"}
    assert (graphs["mine"]["range"], graphs["cora"]["where"]) == ([0, 7], "data folder")
    assert graphs["actor"]["edges"] is None


def test_info_says_what_a_graph_holds_and_where_it_is(folder, rows, call):
    told = rows("info cora")
    assert told["users"] == ["users", "2,708"]
    assert told["values"] == ["values", "0", "or", "1"]
    assert str(folder / "cora.npz") in call("data info cora").out.replace("\n", "")
    assert call(f"data info {folder / 'mine.npz'} --json").json["users"] == 3


def test_get_prints_where_the_file_is_and_downloads_again_although_it_is_here(folder, call, refuses):
    assert call("data get cora").out.strip() == str(folder / "cora.npz")
    np.savez(folder / "squirrel-filtered.npz", edges=EDGES, y=[0, 1, 0])
    call("data get squirrel-filtered")
    wrong = [
        ("get squirrel-filtered --again", "squirrel-filtered cannot be downloaded"),
        ("get nobody", "Error: no dataset is named 'nobody'"),
        ("info nobody", "is named 'nobody'"),
    ]
    refuses(wrong, "data", printed=False)


def test_without_a_command_the_help_is_shown(call):
    assert "List all graphs" in call("data").out


def test_info_says_that_users_have_several_labels(call):
    assert "any number of labels a user" in call("data info town-labels").words
    assert "any number" not in call("data info town").words
    assert call("data info ppi --json").json["several_labels"] is True


def test_a_graph_with_volunteers_says_so(folder, rows, call):
    np.savez(folder / "club.npz", edges=EDGES, x=np.zeros((3, 5)), range=[0, 1], panel=[True, False, True])
    assert rows("list")["club"][-4:] == ["data", "folder,", "2", "volunteers"]
    assert "2 users, whose raw features the server may know" in call("data info club").words
    volunteers = [call(f"data info {name} --json").json["volunteers"] for name in ("club", "mine")]
    assert volunteers == [2, 0]
