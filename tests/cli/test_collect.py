"""The commands of a collection, from its first invitation on."""

import csv

import pytest
from pyarrow import parquet

from graphveil.collect.schema import ROSTER
from graphveil.collect.storage import open_collection
from graphveil.privacy.invitation import Invitation
from graphveil.scale import open_shards
from tests.collect.small import PLAN, arrived, enrolled, later


@pytest.fixture
def folder(tmp_path, monkeypatch, call):
    """A collection of six people, made by the command."""
    monkeypatch.chdir(tmp_path)
    names = "abcdef"
    links = [f"{one},{other}" for one, other in zip(names, names[1:] + names[0], strict=True)]
    (tmp_path / "links.csv").write_text("\n".join(["source,target", *links]))
    (tmp_path / "labels.csv").write_text("id,label\na,cat\nb,dog\nc,cat\nd,dog\ne,cat\nf,dog\n")
    terms = "--purpose why --epsilon 2 --dims 8 --range 0,1"
    call("collect init survey --graph links.csv --labels labels.csv", terms)
    return tmp_path / "survey"


@pytest.fixture
def collection(folder):
    opened = open_collection(folder)
    yield opened
    opened.database.close()


def test_init_makes_a_collection_of_the_people_in_a_table(collection):
    assert collection.ids.tolist() == list("abcdef")
    assert collection.labels.tolist() == [0, 1, 0, 1, 0, 1]
    assert collection.settings.classes == 2 and collection.settings.epsilon == 2.0


MISTAKES = [
    ("init survey --graph links.csv --purpose why --epsilon 2", "holds a collection already"),
    ("init other --graph links.csv --purpose why --epsilon 0", "epsilon must be a positive"),
    ("init other --graph links.csv --purpose why --epsilon 1 --dims 3", "dims and range belong together"),
    ("init other --graph links.txt --purpose why --epsilon 1", "unknown form"),
    ("init other --graph absent.csv --purpose why --epsilon 1", "there is no file absent.csv"),
    ("init other --graph links.csv --purpose why --epsilon 1 --database mysql://x", "PostgreSQL"),
    (
        "init other --graph links.csv --private-links --purpose why --epsilon 1",
        "the graph holds 6 of them in the open",
    ),
    ("init other --private-links --purpose why --epsilon 1", "nobody is named"),
    ("rotate nowhere", "holds no collection"),
    ("operator nowhere ada", "holds no collection"),
    ("status nowhere", "holds no collection"),
    ("close survey 4", "there is no round 4"),
    ("forget survey zz", "nobody in this collection has the id 'zz'"),
]


def test_a_mistake_is_told_in_a_sentence(folder, refuses):
    refuses(MISTAKES, "collect")


def invited():
    """The people in a file of tokens, and the keys that these pin."""
    with open("tokens.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return [row["id"] for row in rows], {Invitation.read(row["token"]).key for row in rows}


def test_invite_gives_everybody_a_token_that_pins_the_key(folder, collection, call):
    call(f"collect invite {folder} --out tokens.csv")
    assert invited() == (list("abcdef"), {collection.key.public})
    assert "name another file" in call(f"collect invite {folder} --out tokens.csv", ends=2).err


def test_people_can_be_invited_again_and_new_ones_later(folder, collection, tmp_path, call):
    before = dict(csv.reader(call(f"collect invite {folder}").lines))
    after = dict(csv.reader(call(f"collect invite {folder} --again c").lines))
    assert set(after) == {"id", "c"} and after["c"] != before["c"]
    (tmp_path / "later.csv").write_text("source,target\na,g\ng,h\n")
    lines = call(f"collect invite {folder} --graph later.csv --labels labels.csv").lines
    assert [line.split(",")[0] for line in lines] == ["id", "g", "h"]


def test_status_close_export_and_forget(folder, collection, call):
    enrolled(collection)
    # Somebody who is enrolled can be invited again.
    assert set(dict(csv.reader(call(f"collect invite {folder} --again c").lines))) == {"id", "c"}
    assert collection.roster().enrolled.all()
    arrived(collection, collection.publish(PLAN, later()), [0, 1, 2, 4])
    assert "has 4 answers, and is read from 6 on" in call(f"collect close {folder} 1", ends=2).err
    assert call(f"collect close {folder} 1 --force").out == "Round 1 is closed: 4 of 6 answered.\n"
    told = call(f"collect status {folder} --json").json
    assert (told["enrolled"], told["reports"], told["rounds"][0]["closed"]) == (6, 4, True)
    assert "multibit" in call(f"collect status {folder}").out
    call(f"collect export {folder} --out tables")
    reports = parquet.read_table("tables/reports.parquet").to_pydict()
    roster = collection.roster()
    assert reports["node"] == [0, 1, 2, 4]
    assert reports["pseudonym"] == [roster.pseudonym[node].hex() for node in (0, 1, 2, 4)]
    links = parquet.read_table("tables/links.parquet").to_pydict()
    pairs = list(zip(links["source"], links["target"], strict=True))
    assert pairs == [(0, 1), (0, 5), (1, 2), (2, 3), (3, 4), (4, 5)]
    assert "external" not in parquet.read_table("tables/roster.parquet").column_names
    assert "6 people in 2 partitions" in call(f"collect export {folder} --out shards --shards 2").out
    assert open_shards("shards").reports(PLAN).answered == 4
    assert "name a new folder" in call(f"collect export {folder} --out shards --shards 2", ends=2).err
    assert "reports deleted: 1;" in call(f"collect forget {folder} b").out


def test_a_purpose_is_shown_as_it_is_written(folder, call):
    call("collect init marked --graph links.csv --purpose '[/red] who [bold]' --epsilon 1")
    assert "[/red] who [bold]" in call("collect status marked").out


def test_a_token_of_an_operator_is_printed_once_and_can_be_taken_back(folder, collection, call):
    said = call("collect operator survey ada")
    assert len(said.out.split()) == 1 and "only copy" in said.err
    assert "--revoke" in call("collect operator survey ada", ends=2).err
    assert "works no more" in call("collect operator survey ada --revoke").err


def test_rotate_names_the_new_key_which_tokens_hold_from_then_on_and_what_to_keep(folder, collection, call):
    before = collection.key.public.hex()
    told = call("collect rotate survey").out
    assert f"Change 1 of the key: questions are now signed by {collection.key.public.hex()}" in told
    assert "survey/key-1 and survey/successions.json" in told and before not in told
    shown = call("collect status survey --json").json
    assert shown["rotations"] == 1 and shown["key"] == collection.key.public.hex()
    assert not (folder / "key").exists()
    call("collect invite survey --out tokens.csv")
    assert invited()[1] == {collection.key.public}


def test_status_and_rotate_say_who_has_no_credential_of_their_own(folder, collection, call):
    enrolled(collection)
    with collection.database.writing() as connection:
        connection.execute(ROSTER.update().where(ROSTER.c.external.in_(["b", "d"])).values(derived=True))
    assert "2 devices have a credential of an earlier graphveil" in call("collect status survey").out
    told = call("collect rotate survey").out
    assert "2 devices had not registered" in told and "--again ID`: b, d." in told
