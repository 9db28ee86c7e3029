import json

import pytest

from graphveil.cli import status


def test_it_shows_every_level(capsys):
    assert status(["advise", "levels", "--data", "town", "--epsilon", "0.5", "--levels", "3"]) == 0
    out = capsys.readouterr().out
    assert "without it and" in out and "hidden up to ε" in out
    for budget in ("0.5", "1", "2"):
        assert budget in out


def test_json_is_one_object(capsys):
    assert status(["advise", "levels", "--data", "town", "--epsilon", "1", "--budgets", "1,3", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["budget"] for each in told["levels"]] == [1.0, 3.0]
    assert told["level_epsilon"] > 0


@pytest.mark.parametrize(
    ("more", "match"),
    [
        (["--mechanism", "multibit"], "levels"),
        (["--budgets", "1,x"], "--budgets takes numbers"),
        (["--level-distribution", "odd"], "no distribution of levels"),
        (["--level-distribution", "mine.txt"], "no distribution of levels"),
    ],
)
def test_what_makes_no_sense_is_refused(capsys, more, match):
    assert status(["advise", "levels", "--data", "town", "--epsilon", "1", *more]) == 2
    assert match in capsys.readouterr().err
