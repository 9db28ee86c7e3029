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
