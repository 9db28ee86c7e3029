"""What one person holds: only shapes are refused, and no error shows a value."""

import json

import numpy as np
import pytest

from graphveil import InputError, Ledger, Plan, answer
from graphveil.client import Held
from graphveil.client.held import read_held, read_links
from graphveil.privacy.people import people_digests
from tests.client.support import ROW, USER, digits_of_row, values
from tests.together import together


def test_subjects_are_what_is_there():
    assert Held(row=ROW).subjects == ("features",)
    assert Held(label=1, level=2, neighbours=[3]).subjects == ("label", "level", "links")
    assert Held(neighbour_ids=()).subjects == ("links",)
    assert Held(neighbour_ids=()).needs_people and not Held(neighbours=[]).needs_people


@pytest.mark.parametrize("row", [ROW, tuple(ROW), np.array(ROW), np.array([ROW]), [*ROW[:3], "a word"]])
def test_a_row_is_one_persons(row):
    assert Held(row=row).row.shape == (1, 4)


@pytest.mark.parametrize("row", [[], np.array([ROW, ROW]), np.zeros((1, 1, 4)), np.array(0.123454321)])
def test_what_is_no_row_is_refused_without_a_value(row):
    with pytest.raises(InputError) as caught:
        Held(row=row)
    assert digits_of_row(str(caught.value)) == []


def test_what_is_asked_for_comes_with_its_owner_or_is_said_to_be_missing():
    plan = Plan(mechanism="krr", epsilon=1.0, classes=3, users=(USER,))
    with pytest.raises(InputError, match="this device holds no label"):
        Held(row=ROW).asked(plan, USER)
    plan = Plan(mechanism="link-rr", epsilon=1.0, dims=40, users=(USER,))
    lists = Held(neighbours=[1, 3]).asked(plan, USER)
    assert lists.owners.tolist() == [USER] and lists.neighbours.tolist() == [1, 3]
    plan = values(mechanism="ppm", options={"budgets": [1.0, 2.0]})
    assert list(Held(row=ROW, level=2).asked(plan, USER).levels) == [2]
    assert list(Held(row=ROW).asked(plan, USER).levels) == [1]
    held = Held(neighbour_ids=("bob", "eve")).among("c0" * 16, people_digests("c0" * 16, ["ann", "bob"]))
    assert held.neighbours.tolist() == [1] and not held.needs_people


# A row from a file; an error says where something is wrong, and never what stands there


def written(folder, name, text):
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("me.csv", ",".join(map(str, ROW)) + "\n"),
        ("me.CSV", "a,b,c,d\r\n" + ",".join(map(str, ROW)) + "\r\n\r\n"),
        ("me.json", json.dumps(ROW)),
        ("me.json", json.dumps({"values": ROW})),
    ],
)
def test_a_row_is_read(tmp_path, name, text):
    assert read_held(written(tmp_path, name, text)).row.tolist() == [ROW]


def test_an_array_an_empty_cell_and_an_object_with_more_are_read(tmp_path):
    for array in (np.array(ROW), np.array([ROW])):
        np.save(tmp_path / "me.npy", array)
        assert read_held(tmp_path / "me.npy").row.tolist() == [ROW]
    row = read_held(written(tmp_path, "me.csv", "1,,0\n")).row
    assert np.isnan(row[0, 1]) and row[0, [0, 2]].tolist() == [1, 0]
    told = {"values": ROW, "label": 2, "level": 1, "neighbours": [3, 4]}
    held = read_held(written(tmp_path, "me.json", json.dumps(told)))
    assert held.subjects == ("features", "label", "level", "links")


@together(
    ("name", "text", "said"),
    [
        ("me.csv", "0.123454321,0.987656789 private\n", "column 2 of .* must be a number"),
        ("me.csv", "0.123454321\n0.987656789\n0.5\n", "it has 3 lines"),
        ("me.csv", "", "it has 0 lines"),
        ("me.csv", "name,other,more\n0.123454321,0.987656789\n", "it has 2 lines"),
        ("me.json", "[0.123454321, 0.987656789", "is not JSON"),
        ("me.json", '["0.123454321"]', "must be a list of numbers"),
        ("me.json", '{"secret": 0.123454321}', "an object with values"),
        ("me.json", '{"values": [1], "label": "0.987656789"}', "label in .* must be a number"),
        ("me.npy", "0.123454321", "not a row of numbers in an .npy file"),
        ("me.txt", "0.123454321", "ends in .csv, .json, .npy"),
    ],
)
def test_what_is_no_row_is_refused_and_not_shown(tmp_path, name, text, said):
    with pytest.raises(InputError, match=said) as caught:
        read_held(written(tmp_path, name, text))
    assert digits_of_row(str(caught.value)) == [] and "private" not in str(caught.value)


def test_a_file_that_is_not_there_or_pickled_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_held(tmp_path / "me.csv")
    np.save(tmp_path / "me.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="must hold numbers, booleans or words, got object"):
        read_held(tmp_path / "me.npy")
    np.save(tmp_path / "me.npy", np.array(["0.123454321"]))
    with pytest.raises(InputError, match="it is one of words: write a row of numbers"):
        read_held(tmp_path / "me.npy")


def test_a_label_that_is_missing_is_held_and_answered_at_random(tmp_path):
    file = tmp_path / "me.json"
    file.write_text('{"values": [1, null], "label": null, "level": null}')
    held = read_held(file)
    assert held.subjects == ("features", "label", "level")
    plan = Plan(mechanism="krr", epsilon=1.0, classes=3, users=(0,))
    assert answer(plan, held.asked(plan, 0), Ledger(1, 1.0)).users == 1


@pytest.mark.parametrize(
    ("text", "ids"), [("ann\n\n bob \r\n", ("ann", "bob")), ("", ()), ("\ufeffçe b", ("çe b",))]
)
def test_links_are_an_id_a_line(tmp_path, text, ids):
    assert read_links(written(tmp_path, "links.txt", text)) == ids


def test_links_that_cannot_be_read_are_refused_without_an_id(tmp_path):
    (tmp_path / "links.txt").write_bytes(b"private-id\xff")
    for name, said in (("links.txt", "is not UTF-8 text"), ("none.txt", "cannot be read")):
        with pytest.raises(InputError, match=said) as caught:
            read_links(tmp_path / name)
        assert "private-id" not in str(caught.value)
