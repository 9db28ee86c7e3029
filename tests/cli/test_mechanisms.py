import json

from graphveil.cli import status
from graphveil.mechanisms import entry, names


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
