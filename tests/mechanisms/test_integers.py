"""Tables of integers: nothing but integers, read once, and never changed."""

import hashlib
import pickle
import struct

import numpy as np
import pytest

from graphveil.errors import InputError
from graphveil.mechanisms.classes import Integers
from tests.together import together


@pytest.mark.parametrize(
    "given", [[[1, -2], [3, 4]], ((1, -2), (3, 4)), np.array([[1, -2], [3, 4]], dtype=np.int16)]
)
def test_lists_and_arrays_are_the_same_table(given):
    table = Integers.of(given, "lists", 2)
    assert table == Integers.of([[1, -2], [3, 4]], "lists", 2)
    assert table.tolist() == [[1, -2], [3, 4]]
    assert table.sha256 == hashlib.sha256(struct.pack("<4q", 1, -2, 3, 4)).hexdigest()


@together(
    "wrong",
    [
        [[1, True]],
        [[1, 2.0]],
        [["1", 2]],
        [[1, None]],
        [[1], [1, 2]],
        [[1 << 63, 0]],
        [],
        [[]],
        [1, 2],
        "12",
        {"a": 1},
        7,
        np.zeros((2, 2)),
        np.zeros(2, dtype=np.int64),
        np.zeros((2, 2), dtype=bool),
        np.full((1, 1), (1 << 64) - 1, dtype=np.uint64),
    ],
)
def test_what_is_no_table_of_integers_is_refused_by_name(wrong):
    with pytest.raises(
        InputError, match="^lists must be lists of one length of integers of at most 63 bits, got"
    ):
        Integers.of(wrong, "lists", 2)


@pytest.mark.parametrize("given", [[[1, 2], [3, 4]], np.ones((2, 2), dtype=np.int64)])
def test_more_integers_than_allowed_are_refused(given):
    assert Integers.of(given, "lists", 2, 4).shape == (2, 2)
    with pytest.raises(InputError, match="lists may hold at most 3 integers, got 4"):
        Integers.of(given, "lists", 2, 3)


def test_nobody_else_can_write_into_a_table():
    held = np.array([[1, 2]])
    table = Integers.of(held, "lists", 2)
    held[0, 0] = 9
    assert table.tolist() == [[1, 2]]
    with pytest.raises(ValueError, match="WRITEABLE"):
        table.array.setflags(write=True)
    with pytest.raises(ValueError, match="read-only"):
        table.floats[0, 0] = 3.0


def test_tables_are_equal_by_shape_and_numbers_and_survive_pickling():
    flat, tall = Integers.of([[1, 2]], "lists", 2), Integers.of([[1], [2]], "lists", 2)
    assert flat != tall and len({flat, tall, Integers.of([[1, 2]], "lists", 2)}) == 2
    again = pickle.loads(pickle.dumps(flat))
    assert again == flat and not again.array.flags.writeable


def test_some_rows_of_a_table():
    assert Integers.of([[1, 2], [3, 4], [5, 6]], "lists", 2).rows([2, 0]).tolist() == [[5, 6], [1, 2]]


def test_a_table_with_a_row_a_user_may_have_none():
    empty = np.empty((0, 3), dtype=np.int64)
    table = Integers.of(empty, "lists", 2, rowless=True)
    assert table.shape == (0, 3) and table.largest == 0
    assert Integers.of(table, "lists", 2, rowless=True) is table
    for wrong, rowless in ((empty, False), (empty.T, True), ([], True)):
        with pytest.raises(InputError, match="^lists must be lists of one length"):
            Integers.of(wrong, "lists", 2, rowless=rowless)
