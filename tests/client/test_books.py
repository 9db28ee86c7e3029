"""Books are kept as a whole or not at all, and read back as they were written."""

import json
import sqlite3
from dataclasses import replace

import pytest

from graphveil.client.agreement import write_agreement
from graphveil.client.books import Line, open_books, transaction
from graphveil.errors import StoreError
from tests.client.support import AGREEMENT, COLLECTION, succession

LINE = Line(
    COLLECTION, "ab" * 32, 0, (0.1, 0.2), 1e-5, 0.1, 0.0999, 7, 3, "krr label values", "01" * 16, b"\x00"
)


@pytest.fixture
def file(folder):
    open_books(folder / "books", folder / "witnesses")
    return folder / "books"


def test_an_instance_is_made_once(folder, file):
    assert open_books(file, folder / "witnesses") == open_books(file, folder / "witnesses")
    assert open_books(folder / "other", folder / "witnesses") != open_books(file, folder / "witnesses")


def test_a_line_is_read_back_with_its_answer_charged_once_and_not_kept_by_what_raises(file):
    with pytest.raises(KeyboardInterrupt), transaction(file) as books:
        books.charge([LINE])
        raise KeyboardInterrupt
    with transaction(file) as books:
        assert books.lines(COLLECTION) == [] and books.mark.count == 0
    with transaction(file) as books:
        books.charge([LINE])
    with transaction(file) as books:
        assert books.find(COLLECTION, LINE.digest) == LINE
        assert books.find("c1" * 16, LINE.digest) is None
        assert books.lines(COLLECTION) == [replace(LINE, envelope=None)]
    with pytest.raises(StoreError), transaction(file) as books:
        books.charge([LINE])


def test_every_charge_has_a_mark_that_names_the_one_before(file):
    with transaction(file) as books:
        first = books.mark
        second = books.charge([LINE])
    assert (second.count, second.before) == (1, first.last) and second.last != first.last
    assert second.continues(first) and not first.continues(second)


DAMAGES = {
    "an agreement that is no JSON": "UPDATE agreements SET agreement = 'x'",
    "an agreement in bytes": "UPDATE agreements SET agreement = x'ff00'",
    "no device": "DELETE FROM device",
    "a count that is a word": "UPDATE device SET count = 'x'",
    "a count that cannot grow": "UPDATE device SET count = 9223372036854775807",
    "an instance with a path": "UPDATE device SET instance = '../../x'",
    "an instance with a zero": "UPDATE device SET instance = 'a' || char(0) || 'b'",
    "costs that are no JSON": "UPDATE lines SET costs = '{'",
    "costs that are words": "UPDATE lines SET costs = '[\"a\"]'",
    "costs that give something back": "UPDATE lines SET costs = '[-1.0, -1.0]'",
    "no costs": "UPDATE lines SET costs = '[]'",
    "a period that is a word": "UPDATE lines SET period = 'p'",
    "an answer that is a text": "UPDATE lines SET envelope = 'x'",
    "a credential in bytes": "UPDATE credentials SET current = x'00'",
    "no table of lines": "DROP TABLE lines",
    "an old layout without credentials": "PRAGMA user_version = 1",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_books_are_said_when_they_are_opened(folder, file, damage):
    with transaction(file) as books:
        books.agree(AGREEMENT)
        books.draw_credential(COLLECTION, None)
        books.charge([LINE])
    open_books(file, folder / "witnesses")
    with sqlite3.connect(file) as connection:
        connection.execute(damage)
    connection.close()
    with pytest.raises(StoreError, match="damaged|cannot be read"):
        open_books(file, folder / "witnesses")


def test_books_of_a_later_graphveil_are_refused(folder, file):
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 4")
    connection.close()
    with pytest.raises(StoreError, match="layout 4, this graphveil reads 3"):
        open_books(file, folder / "witnesses")


def test_a_folder_that_cannot_be_written_is_said(folder):
    (folder / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be read or written"):
        open_books(folder / "file" / "books", folder / "witnesses")


@pytest.mark.parametrize("layout", [1, 2])
def test_books_of_earlier_layouts_are_brought_up_to_date(folder, file, layout):
    told = json.loads(write_agreement(AGREEMENT)) | {"credential": "made by the collector"}
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE credentials")
        if layout == 1:
            connection.execute("DROP TABLE successions")
        connection.execute("INSERT INTO agreements VALUES (?, ?, NULL)", (COLLECTION, json.dumps(told)))
        connection.execute(f"PRAGMA user_version = {layout}")
    connection.close()
    with transaction_after_opening(folder, file) as books:
        assert books.agreements() == [AGREEMENT]
        held = books.credentials(COLLECTION)
        assert (held.current, held.former, held.token) == (None, "made by the collector", None)
        books.keep_chain(books.chain(AGREEMENT).followed([succession(1)]))
    with transaction_after_opening(folder, file) as books:
        (agreement,) = books.agreements()
    assert agreement.offer.key == succession(1).statement.after


@pytest.mark.parametrize("token", [b"token", None])
def test_a_credential_is_drawn_once_and_counts_when_it_is_confirmed(file, token):
    with transaction(file) as books:
        assert books.credentials(COLLECTION).current is None
        drawn = books.draw_credential(COLLECTION, token)
    with transaction(file) as books:
        assert books.draw_credential(COLLECTION, token) == drawn
        assert books.credentials(COLLECTION).current is None
        books.confirm_credential(COLLECTION, token)
        # Another process that does the same changes nothing.
        assert books.draw_credential(COLLECTION, token) == drawn
        books.confirm_credential(COLLECTION, token)
        held = books.credentials(COLLECTION)
        assert (held.current, held.token) == (drawn, token)
        assert books.draw_credential(COLLECTION, b"another token") != drawn


def transaction_after_opening(folder, file):
    open_books(file, folder / "witnesses")
    return transaction(file)
