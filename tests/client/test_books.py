"""Books are kept as a whole or not at all, and read back as they were written."""

import sqlite3
from dataclasses import replace

import pytest

from graphveil.client import Cap
from graphveil.client.books import Line, open_books, read_agreement, transaction, write_agreement
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


def test_a_line_is_read_back_with_its_answer(file):
    with transaction(file) as books:
        books.charge([LINE])
    with transaction(file) as books:
        assert books.find(COLLECTION, LINE.digest) == LINE
        assert books.find("c1" * 16, LINE.digest) is None
        assert books.lines(COLLECTION) == [replace(LINE, envelope=None)]


def test_what_raises_is_not_kept(file):
    with pytest.raises(KeyboardInterrupt), transaction(file) as books:
        books.charge([LINE])
        raise KeyboardInterrupt
    with transaction(file) as books:
        assert books.lines(COLLECTION) == [] and books.mark.count == 0


def test_a_plan_is_charged_once(file):
    with transaction(file) as books:
        books.charge([LINE])
    with pytest.raises(StoreError), transaction(file) as books:
        books.charge([LINE])


def test_every_charge_has_a_mark_that_names_the_one_before(file):
    with transaction(file) as books:
        first = books.mark
        second = books.charge([LINE])
    assert (second.count, second.before) == (1, first.last) and second.last != first.last
    assert second.continues(first) and not first.continues(second)


@pytest.mark.parametrize(
    "agreement",
    [
        AGREEMENT,
        replace(AGREEMENT, cap=Cap(0.1, 1e-6, (0.1, 0.3), 30), excluded=(0, 3), subjects=("label", "links")),
    ],
)
def test_an_agreement_is_read_back(agreement):
    assert read_agreement(write_agreement(agreement)) == agreement


def test_an_agreement_that_is_damaged_is_said():
    with pytest.raises(StoreError, match="damaged"):
        read_agreement(write_agreement(AGREEMENT).replace('"user"', '"loser"'))


def test_books_of_a_later_graphveil_are_refused(folder, file):
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 3")
    connection.close()
    with pytest.raises(StoreError, match="layout 3, this one reads 2"):
        open_books(file, folder / "witnesses")


def test_a_folder_that_cannot_be_written_is_said(folder):
    (folder / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be read or written"):
        open_books(folder / "file" / "books", folder / "witnesses")


def test_books_of_the_first_layout_are_brought_up_to_date(folder, file):
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE successions")
        connection.execute("PRAGMA user_version = 1")
    with transaction_after_opening(folder, file) as books:
        books.agree(AGREEMENT)
        books.keep_chain(books.chain(AGREEMENT).followed([succession(1)]))
    with transaction(file) as books:
        (agreement,) = books.agreements()
    assert agreement.offer.key == succession(1).statement.after
    assert replace(agreement, offer=AGREEMENT.offer) == AGREEMENT


def transaction_after_opening(folder, file):
    open_books(file, folder / "witnesses")
    return transaction(file)
