"""A witness remembers a mark, one process at a time."""

import stat

import pytest

import graphveil.client.witness as witness_module
from graphveil.client.witness import Mark, locked_witness
from graphveil.errors import StoreError


def test_a_new_witness_has_seen_nothing(folder):
    with locked_witness(folder / "state", "me") as witness:
        assert witness.mark is None


def test_what_was_seen_is_remembered(folder):
    for mark in (Mark(1, "a"), Mark(2, "b", "a")):
        with locked_witness(folder, "me") as witness:
            witness.see(mark)
        with locked_witness(folder, "me") as witness:
            assert witness.mark == Mark(mark.count, mark.last)
    with locked_witness(folder, "you") as other:
        assert other.mark is None


def test_what_raises_was_not_seen(folder):
    with pytest.raises(KeyboardInterrupt), locked_witness(folder, "me") as witness:
        witness.see(Mark(1, "a"))
        raise KeyboardInterrupt
    with locked_witness(folder, "me") as witness:
        assert witness.mark is None


@pytest.mark.parametrize(
    ("books", "fits"),
    [
        (Mark(5, "e", "d"), True),
        (Mark(6, "f", "e"), True),
        (Mark(4, "d", "c"), False),
        (Mark(5, "x", "d"), False),
        (Mark(6, "f", "x"), False),
        (Mark(7, "g", "f"), False),
    ],
)
def test_books_continue_what_was_seen_or_do_not(books, fits):
    assert books.continues(Mark(5, "e")) == fits


def test_one_process_at_a_time(folder, monkeypatch):
    monkeypatch.setattr(witness_module, "PATIENCE", 0.01)
    with locked_witness(folder, "me"):
        with pytest.raises(StoreError, match="locked"), locked_witness(folder, "me"):
            pass
        with locked_witness(folder, "you"):
            pass


def test_its_file_is_its_owners_alone_and_safe_from_power_cuts(folder):
    with locked_witness(folder, "me"):
        pass
    assert stat.S_IMODE((folder / "me.sqlite").stat().st_mode) == 0o600
    connection = witness_module.connect(folder / "me.sqlite")
    # EXTRA: what is committed stays, even if the power fails right after.
    assert connection.execute("PRAGMA synchronous").fetchone() == (3,)
    connection.close()


def test_a_file_that_is_none_is_said(folder):
    (folder / "me.sqlite").write_bytes(b"something else" * 100)
    with pytest.raises(StoreError, match="nothing was answered"), locked_witness(folder, "me"):
        pass
