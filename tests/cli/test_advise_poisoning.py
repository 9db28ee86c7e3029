"""graphveil advise poisoning: a table and sentences, JSON, and mistakes."""

from __future__ import annotations

import json

from graphveil.cli import status

TOWN = ["--data", "town", "--epsilon", "2", "--set", "data.users=200", "--set", "data.degree=8"]
SHORT = [*TOWN, "--set", "epochs=2", "--share", "0.1"]


def test_a_table_and_what_it_rests_on(capsys):
    assert status(["advise", "poisoning", *SHORT]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "10.0%" in said and "exact, from the alphabet and what is refused" in said
    assert "Predictions are measured, in 1 run" in said


def test_json_has_the_bound_of_every_share(capsys):
    assert status(["advise", "poisoning", "base", *SHORT, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["lines"][1]["moved"] == [0.1 * told["influences"][0]["most"]]


def test_a_share_that_is_none_is_a_mistake(capsys):
    assert status(["advise", "poisoning", *TOWN, "--share", "2"]) == 2
    assert "share" in capsys.readouterr().err
