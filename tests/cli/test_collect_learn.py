"""graphveil collect learn: waiting is no error, mistakes are, and a result is a folder with a card."""

from __future__ import annotations

import json

import pytest
import typer

from graphveil.cli.collect_learn import collect_learn
from graphveil.collect.storage import open_collection
from graphveil.errors import InputError
from tests.collect.small import arrived, enrolled, made

app = typer.Typer()
app.command()(collect_learn)
BASE = ("base", "--epsilon", "1", "--set", "epochs=2")


def learn(*arguments):
    return app(args=[str(each) for each in arguments], standalone_mode=False)


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """A collection whose first round was published by one call, and answered by all but one."""
    folder = tmp_path_factory.mktemp("collect") / "survey"
    enrolled(made(folder, users=60))
    learn(folder, *BASE, "--json")
    collection = open_collection(folder)
    arrived(collection, collection.round(1), range(59))
    collection.close(1, force=True)
    return folder


@pytest.fixture(scope="module")
def result(survey, tmp_path_factory):
    out = tmp_path_factory.mktemp("result")
    learn(survey, *BASE, "--out", out)
    return out


def told(capsys):
    return json.loads(capsys.readouterr().out)


def test_a_first_call_publishes_and_says_what_to_do(tmp_path, capsys):
    enrolled(made(tmp_path / "new", users=60))
    assert learn(tmp_path / "new", *BASE) in (None, 0)
    said = capsys.readouterr().out
    assert "Round 1 is published: it asks 60 users (features, multibit)." in said
    assert "collect close" in said and "run this command again" in said


def test_an_open_round_is_told_as_json(tmp_path, capsys):
    enrolled(made(tmp_path / "new", users=60))
    states = []
    for _ in range(2):
        learn(tmp_path / "new", *BASE, "--json")
        states.append(told(capsys))
    assert [each["state"] for each in states] == ["published", "open"]
    assert states[1]["rounds"][0] | {"digest": ""} == {"round": 1, "digest": "", "asked": 60, "answered": 0}


def test_a_result_is_a_folder_with_everything(result):
    assert {each.name for each in result.iterdir()} == {
        "predictions.parquet",
        "predictions.parquet.json",
        "predictions.csv",
        "predictions.csv.json",
        "embeddings.parquet",
        "embeddings.parquet.json",
        "embeddings.csv",
        "embeddings.csv.json",
        "round-1.json",
        "card.html",
        "card.json",
    }


def test_predictions_are_by_external_id(result):
    lines = (result / "predictions.csv").read_text().splitlines()
    assert lines[0] == "user,id,part,class,probability,p0,p1"
    assert [line.split(",")[1] for line in lines[1:4]] == ["p0", "p1", "p2"] and len(lines) == 61


def test_the_card_says_what_was_collected_and_what_it_was_worth(result):
    card = json.loads((result / "card.json").read_text())
    assert (card["users"], card["enrolled"], card["asked"], card["answered"]) == (60, 60, 60, 59)
    (question,) = card["questions"]
    assert question["epsilon"] == 1.0 and 0.999 < question["exact"] <= 1.0 and question["as_asked"]
    assert set(card["scores"]) == {"method", "control", "structure"} == {"method", *card["gains"]}
    assert card["statement"].startswith("Every user was asked to report features at ε = 1")
    assert card["collection_spent"] == {"epsilon": 1.0, "delta": 0.0}
    page = (result / "card.html").read_text()
    assert question["digest"] in page and question["fingerprint"] in page and card["contributors"] in page


def test_the_result_is_kept_and_marked_when_somebody_in_it_is_forgotten(survey, result, capsys):
    learn(survey, *BASE, "--json", "--out", result)
    number = told(capsys)["result"]
    collection = open_collection(survey)
    before = {each.number: each.outdated for each in collection.results()}
    collection.forget(3)
    after = {each.number: each.outdated for each in collection.results()}
    assert not before[number] and after[number]
    learn(survey, *BASE, "--json", "--out", result)
    again = told(capsys)
    assert again["answered"] == 58 and again["contributors"] != collection.results()[0].card["contributors"]


def test_another_question_in_a_frozen_place_is_a_mistake(survey):
    with pytest.raises(InputError, match="round 1 of base is published and frozen"):
        learn(survey, "base", "--epsilon", "0.5")


def test_a_folder_that_holds_no_collection_is_a_mistake(tmp_path):
    with pytest.raises(InputError, match="holds no collection"):
        learn(tmp_path, *BASE)


def test_a_method_that_reads_raw_features_is_a_mistake(survey):
    with pytest.raises(InputError, match="no collection holds"):
        learn(survey, "nonprivate")
