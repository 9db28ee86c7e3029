"""What one person holds: only shapes are refused, and no error shows a value."""

import numpy as np
import pytest

from graphveil import InputError, Plan
from graphveil.client import Held
from graphveil.privacy.people import people_digests
from tests.client.support import ROW, USER, digits_of_row, values


def test_subjects_are_what_is_there():
    assert Held(row=ROW).subjects == ("features",)
    assert Held(label=1, level=2, neighbours=[3]).subjects == ("label", "level", "links")


@pytest.mark.parametrize("row", [ROW, tuple(ROW), np.array(ROW), np.array([ROW]), [*ROW[:3], "a word"]])
def test_a_row_is_one_persons(row):
    assert Held(row=row).row.shape == (1, 4)


@pytest.mark.parametrize("row", [[], np.array([ROW, ROW]), np.zeros((1, 1, 4)), np.array(0.123454321)])
def test_what_is_no_row_is_refused_without_a_value(row):
    with pytest.raises(InputError) as caught:
        Held(row=row)
    assert digits_of_row(str(caught.value)) == []


def test_a_missing_subject_is_said():
    plan = Plan(mechanism="krr", epsilon=1.0, classes=3, users=(USER,))
    with pytest.raises(InputError, match="this device holds no label"):
        Held(row=ROW).asked(plan, USER)


def test_lists_of_neighbours_have_an_owner():
    plan = Plan(mechanism="link-rr", epsilon=1.0, dims=40, users=(USER,))
    lists = Held(neighbours=[1, 3]).asked(plan, USER)
    assert lists.owners.tolist() == [USER] and lists.neighbours.tolist() == [1, 3]


def test_a_level_comes_along_where_it_is_asked_for():
    plan = values(mechanism="ppm", options={"budgets": [1.0, 2.0]})
    assert list(Held(row=ROW, level=2).asked(plan, USER).levels) == [2]
    assert list(Held(row=ROW).asked(plan, USER).levels) == [1]


def test_ids_of_neighbours_are_links_even_if_there_are_none():
    assert Held(neighbour_ids=()).subjects == ("links",)
    assert Held(neighbour_ids=()).needs_people and not Held(neighbours=[]).needs_people


def test_ids_of_neighbours_become_numbers():
    held = Held(neighbour_ids=("bob", "eve")).among("c0" * 16, people_digests("c0" * 16, ["ann", "bob"]))
    assert held.neighbours.tolist() == [1] and not held.needs_people
