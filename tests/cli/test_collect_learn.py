"""graphveil collect learn: waiting is no error, mistakes are, and a result is a folder with a card."""

import json
from dataclasses import replace

import pytest

import graphveil as gv
from graphveil.cli import status
from graphveil.cli.collect import _plain
from graphveil.collect.folder import CollectionSettings
from graphveil.collect.storage import create_collection, open_collection
from tests.collect.small import arrived, enrolled, made, ring

BASE = "base --epsilon 1 --set epochs=2"


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """A collection whose first round was published by one call, and answered by all but one."""
    folder = tmp_path_factory.mktemp("collect") / "survey"
    enrolled(made(folder, users=60))
    assert status(f"collect learn {folder} {BASE} --json".split()) == 0
    collection = open_collection(folder)
    arrived(collection, collection.round(1), range(59))
    collection.close(1, force=True)
    return folder


@pytest.fixture(scope="module")
def result(survey, tmp_path_factory):
    out = tmp_path_factory.mktemp("result")
    assert status(f"collect learn {survey} {BASE} --out {out}".split()) == 0
    return out


def test_a_first_call_publishes_and_says_what_to_do(tmp_path, call):
    enrolled(made(tmp_path / "new", users=60))
    said = call(f"collect learn {tmp_path / 'new'}", BASE).out
    assert "Round 1 is published: it asks 60 users (features, multibit)." in said
    assert "collect close" in said and "run this command again" in said


def test_an_open_round_is_told_as_json(tmp_path, call):
    enrolled(made(tmp_path / "new", users=60))
    first, second = (call(f"collect learn {tmp_path / 'new'}", BASE, "--json").json for _ in range(2))
    assert (first["state"], second["state"]) == ("published", "open")
    assert second["rounds"][0] | {"digest": ""} == {"round": 1, "digest": "", "asked": 60, "answered": 0}


def test_a_result_is_a_folder_with_everything(result):
    tables = {f"{name}.{form}" for name in ("predictions", "embeddings") for form in ("parquet", "csv")}
    others = {"model.pt", "round-1.json", "card.html", "card.json"}
    assert {each.name for each in result.iterdir()} == tables | {f"{name}.json" for name in tables} | others
    lines = (result / "predictions.csv").read_text().splitlines()
    assert lines[0] == "user,id,part,class,probability,p0,p1"
    assert [line.split(",")[1] for line in lines[1:4]] == ["p0", "p1", "p2"] and len(lines) == 61


def test_predictions_say_labels_in_the_words_of_the_operator(tmp_path, call):
    named = replace(ring(60), class_names=("chess", "football"))
    told = {"purpose": "to test", "epsilon": 2.0, "dims": 8, "range": (0.0, 1.0)}
    collection = create_collection(tmp_path / "named", named, CollectionSettings(id="", **told))
    enrolled(collection)
    call(f"collect learn {collection.folder}", BASE)
    arrived(collection, collection.round(1), range(60))
    collection.close(1)
    call(f"collect learn {collection.folder}", BASE, f"--out {tmp_path / 'out'}")
    head, *lines = [line.split(",") for line in (tmp_path / "out/predictions.csv").read_text().splitlines()]
    assert head == ["user", "id", "part", "class", "label", "probability", "p0", "p1"]
    assert {(line[3], line[4]) for line in lines} <= {("0", "chess"), ("1", "football")}


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


def test_the_card_names_the_model_which_predicts_the_same(survey, result):
    name = json.loads((result / "card.json").read_text())["model"]
    found = gv.load_model(result / name).predict(open_collection(survey).graph())
    lines = (result / "predictions.csv").read_text().splitlines()[1:]
    assert found.classes.tolist() == [int(line.split(",")[3]) for line in lines]
    assert name in (result / "card.html").read_text()


def test_the_result_is_kept_and_marked_when_somebody_in_it_is_forgotten(survey, result, call):
    again = (f"collect learn {survey}", BASE, f"--json --out {result}")
    number = call(*again).json["result"]
    collection = open_collection(survey)
    before = {each.number: each.outdated for each in collection.results()}
    assert "hold reports of forgotten people: delete these files" in call(f"collect forget {survey} p3").out
    after = {each.number: each.outdated for each in collection.results()}
    assert not before[number] and after[number]
    told = call(*again).json
    assert told["answered"] == 58 and told["contributors"] != collection.results()[0].card["contributors"]


MISTAKES = [
    ("base --epsilon 0.5", "round 1 of base is published and frozen"),
    ("base --epsilon 0.5 --as-published", "round 1 was published with another epsilon"),
    ("nonprivate", "which no collection holds"),
    ("base", "needs a budget"),
    (f"{BASE} --days 0", "days"),
    (f"{BASE} --days 1e308", "days"),
    ("base --epsilon 9 --study more", "nobody would answer this plan"),
]


def test_mistakes_are_exit_status_2(survey, refuses):
    refuses(MISTAKES, f"collect learn {survey}")


def test_a_folder_that_holds_no_collection_is_a_mistake(tmp_path, call):
    assert "holds no collection" in call(f"collect learn {tmp_path}", BASE, ends=2).err
    assert list(tmp_path.iterdir()) == []


def test_a_collection_is_replayed_bit_for_bit(survey, result, tmp_path, call):
    # Somebody may have been forgotten in between: then it is the same twice from now on.
    for out in (tmp_path, tmp_path / "again"):
        call(f"collect learn {survey}", BASE, f"--out {out}")
    for name in ("predictions.parquet", "embeddings.parquet", "model.pt", "card.json"):
        assert (tmp_path / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_a_study_writes_below_the_results_of_its_collection():
    assert [_plain(name) for name in ("..", "../x", "a.b", "")] == ["study", "-x", "a.b", "study"]
