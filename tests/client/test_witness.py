"""A witness remembers a mark, one process at a time."""

import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

import graphveil.client.witness as witness_module
from graphveil.client import Device
from graphveil.client.witness import Mark, check_apart, locked_witness, move_witness
from graphveil.errors import InputError, StoreError
from graphveil.settings import device_file, witness_folder
from tests.client.support import AGREEMENT, COLLECTION, HELD, NOW, asked, refusal, values


def test_what_was_seen_is_remembered_and_what_raises_was_not_seen(folder):
    with locked_witness(folder / "state", "me") as witness:
        assert witness.mark is None
    with pytest.raises(KeyboardInterrupt), locked_witness(folder, "me") as witness:
        witness.see(Mark(1, "a"))
        raise KeyboardInterrupt
    with locked_witness(folder, "me") as witness:
        assert witness.mark is None
    for mark in (Mark(1, "a"), Mark(2, "b", "a")):
        with locked_witness(folder, "me") as witness:
            witness.see(mark)
        with locked_witness(folder, "me") as witness:
            assert witness.mark == Mark(mark.count, mark.last)
    with locked_witness(folder, "you") as other:
        assert other.mark is None


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


def test_its_file_is_its_owners_alone_and_safe_from_power_cuts_and_one_that_is_none_is_said(folder):
    with locked_witness(folder, "me"):
        pass
    assert stat.S_IMODE((folder / "me.sqlite").stat().st_mode) == 0o600
    connection = witness_module.connect(folder / "me.sqlite")
    # EXTRA: what is committed stays, even if the power fails right after.
    assert connection.execute("PRAGMA synchronous").fetchone() == (3,)
    connection.close()
    (folder / "me.sqlite").write_bytes(b"something else" * 100)
    with pytest.raises(StoreError, match="nothing was answered"), locked_witness(folder, "me"):
        pass


@pytest.mark.parametrize(
    "damage", ["INSERT INTO witness VALUES (1, 'x', 'y')", "INSERT INTO keys VALUES ('c', 1, 'x')"]
)
def test_a_witness_with_a_value_of_another_type_is_said(folder, damage):
    with locked_witness(folder, "me"):
        pass
    with sqlite3.connect(folder / "me.sqlite") as connection:
        connection.execute(damage)
    connection.close()
    with pytest.raises(StoreError, match="is damaged"), locked_witness(folder, "me"):
        pass


@pytest.mark.parametrize(
    ("books", "witnesses"),
    [("a", "a"), ("a", "a/witnesses"), ("a/b", "a"), ("link", "a/b"), ("a", "link/b"), ("b", "sub/../b/c")],
)
def test_books_and_witness_in_one_folder_are_refused(folder, books, witnesses):
    (folder / "a").mkdir()
    (folder / "link").symlink_to(folder / "a")
    with pytest.raises(InputError, match="set GRAPHVEIL_WITNESS to a folder elsewhere"):
        Device(folder / books / "device.sqlite", witnesses=folder / witnesses)
    assert not list(folder.rglob("*.sqlite"))


def test_books_that_are_linked_to_the_witness_or_a_folder_that_leads_nowhere_are_refused(folder):
    (folder / "books").mkdir()
    (folder / "books" / "device.sqlite").symlink_to(folder / "witnesses" / "device.sqlite")
    with pytest.raises(InputError, match="must not lie in one another"):
        check_apart(folder / "books" / "device.sqlite", folder / "witnesses")
    (folder / "loop").symlink_to(folder / "loop")
    with pytest.raises(StoreError, match="cannot be read or written"):
        Device(folder / "books" / "device.sqlite", witnesses=folder / "loop")


@pytest.fixture
def at_home(folder, monkeypatch):
    """A home folder in which a device and its witness have their usual places."""
    for variable in ("GRAPHVEIL_WITNESS", "XDG_STATE_HOME", "XDG_DATA_HOME", "APPDATA", "LOCALAPPDATA"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(folder / "home"))
    monkeypatch.setenv("GRAPHVEIL_STATE", str(folder / "state"))
    return folder / "state"


def usual():
    device = Device(device_file(), clock=lambda: NOW)
    device.agree(AGREEMENT)
    return device


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
@pytest.mark.parametrize("named", [True, False])
def test_a_restored_folder_of_the_books_is_noticed_wherever_they_are(at_home, monkeypatch, platform, named):
    monkeypatch.setattr("sys.platform", platform)
    if not named:
        monkeypatch.delenv("GRAPHVEIL_STATE")
    device = usual()
    shutil.copytree(device.path.parent, at_home.parent / "backup")
    device.answer(COLLECTION, asked(values()), HELD)
    shutil.rmtree(device.path.parent)
    shutil.copytree(at_home.parent / "backup", device.path.parent)
    assert refusal(usual().answer, COLLECTION, asked(values(round=2)), HELD) == "memory"


def kept_beside_its_books(at_home):
    """A device of an earlier version, which has answered once: its witness is in the folder of the books."""
    device = usual()
    device.answer(COLLECTION, asked(values()), HELD)
    (file,) = witness_folder().iterdir()
    (at_home / "witnesses").mkdir()
    return Path(shutil.move(file, at_home / "witnesses" / file.name))


def test_a_witness_beside_the_books_is_moved_once_and_nothing_is_forgotten(at_home):
    old = kept_beside_its_books(at_home)
    device = usual()
    device.answer(COLLECTION, asked(values(round=2)), HELD)
    assert device.doubt(COLLECTION) is None and not old.exists()
    with locked_witness(witness_folder(), old.stem) as witness:
        assert witness.mark.count == 2 and witness.has_answered(COLLECTION)


def test_a_stop_before_the_old_witness_is_deleted_loses_nothing(at_home, monkeypatch):
    old = kept_beside_its_books(at_home)
    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.unlink", interrupt)
        with pytest.raises(KeyboardInterrupt):
            usual()
    behind = old.read_bytes()
    usual().answer(COLLECTION, asked(values(round=2)), HELD)
    assert not old.exists()
    # Not even where a backup brings it back: the new one is further ahead.
    old.write_bytes(behind)
    assert usual().doubt(COLLECTION) is None and not old.exists()


def test_a_stop_before_the_new_witness_is_written_leaves_the_old_one(at_home, monkeypatch):
    old = kept_beside_its_books(at_home)
    with monkeypatch.context() as patch:
        patch.setattr(witness_module.Witness, "adopt", interrupt)
        with pytest.raises(KeyboardInterrupt):
            usual()
    assert old.exists() and usual().doubt(COLLECTION) is None and not old.exists()


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_of_two_witnesses_whichever_is_further_ahead_counts(folder):
    marks = {"old": (Mark(3, "c"), 1, "one"), "new": (Mark(2, "b"), 2, "two")}
    for name, (mark, number, collection) in marks.items():
        with locked_witness(folder / name, "me") as witness:
            witness.see(mark)
            witness.answers(collection)
            witness.follows("shared", number, bytes([number]))
    move_witness(folder / "old", folder / "new", "me")
    with locked_witness(folder / "new", "me") as witness:
        assert witness.mark == Mark(3, "c") and witness.key("shared") == (2, b"\2")
        assert witness.has_answered("one") and witness.has_answered("two")
    move_witness(folder / "new", folder / "new" / ".." / "new", "me")
    assert (folder / "new" / "me.sqlite").exists()
