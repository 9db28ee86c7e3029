import json

from graphveil.cli import status
from graphveil.mechanisms import entry, names
from tests.cli.support import not_refused


def test_all_mechanisms_are_listed(capsys):
    assert status(["mechanisms"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in names())


def test_json_has_name_subject_and_summary(capsys):
    assert status(["mechanisms", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["mechanisms"]
    assert [one["name"] for one in found] == names()
    assert all(one["summary"] == entry(one["name"]).summary for one in found)


def test_json_says_whom_one_has_to_trust(capsys):
    assert status(["mechanisms", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["mechanisms"]
    assert [one["name"] for one in found if one["trust"] == "curator"] == ["lapgraph", "privhrg", "edgerr"]
    assert {one["trust"] for one in found} == {"local", "curator"}


def test_the_table_says_whom_one_has_to_trust(capsys):
    assert status(["mechanisms", "lapgraph"]) == 0
    assert "curator" in capsys.readouterr().out.splitlines()[1]


def test_a_mechanism_is_drawn_at_a_budget(tmp_path, capsys):
    file = tmp_path / "krr.svg"
    assert status(["mechanisms", "krr", "--plot", str(file), "--epsilon", "2"]) == 0
    assert "krr at ε = 2" in file.read_text(encoding="utf-8")
    assert capsys.readouterr().out == f"The figure is in {file}.\n"


NO_DRAWINGS = [
    (["--plot", "x.svg"], "draws one mechanism: name it"),
    (["krr", "--epsilon", "2"], "give --plot FILE.svg too"),
    (["krr", "--plot", "x.pdf"], "x.pdf has the unsupported format .pdf"),
    (["krr", "--plot", "x.svg", "--epsilon", "-1"], "epsilon must be"),
]


def test_a_drawing_that_cannot_be_is_refused(capsys):
    assert not_refused([(["mechanisms", *words], said) for words, said in NO_DRAWINGS], capsys) == []
