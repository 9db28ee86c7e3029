"""The file of results: who may write it at once, what survives, and what is said when it cannot be used."""

import os
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from graphveil.errors import StoreError
from graphveil.experiments import store as database
from graphveil.experiments.store import LAYOUT, ResultStore, change, select

ADD = "INSERT INTO results (source, time, result) VALUES (?, '', ?)"
ALL = "SELECT source, result FROM results ORDER BY id"
NOBODY = 65534
# Adds rows one after the other and says of each that it is kept; starts when it is told to.
WRITER = """
import sys
from pathlib import Path
from graphveil.experiments.store import change
file, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
sys.stdin.readline()
for number in range(count):
    change(file, ("INSERT INTO results (source, time, result) VALUES (?, '', ?)", [(name, str(number))]))
    print(number, flush=True)
"""


def insert(file, statement, row):
    change(file, (statement, [row]))


def check_writable(file):
    ResultStore(file).check()


@pytest.fixture
def file(tmp_path):
    return tmp_path / "results.sqlite"


def wrote(file, names, count):
    """Other processes write so many rows each, at once."""
    writers = [start(file, name, count) for name in names]
    for writer in writers:
        go(writer)
    for writer in writers:
        writer.communicate(timeout=120)
    assert [writer.returncode for writer in writers] == [0] * len(writers)


def start(file, name, count):
    """Another process that writes once it is told to."""
    command = [sys.executable, "-c", WRITER, str(file), name, str(count)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def go(writer):
    writer.stdin.write("\n")
    writer.stdin.flush()


@pytest.fixture
def open_folder():
    """A folder that other users may look into, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


def as_nobody(call):
    """Call something as a user who is not root, for whom all may be written; 0 where it raises nothing."""
    child = os.fork()
    if child == 0:
        wrong = 1
        try:
            if os.getuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            call()
            wrong = 0
        finally:
            os._exit(wrong)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def changed(file, *statements):
    """Change the file behind our back."""
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_what_was_added_comes_back_and_reading_makes_no_file(file):
    assert select(file, ALL, ()) == [[]]
    assert not file.exists()
    # An empty file is one without rows.
    file.touch()
    assert select(file, ALL, ()) == [[]]
    insert(file, ADD, ("a", "1"))
    insert(file, ADD, ("b", "2"))
    assert select(file, ALL, ()) == [[("a", "1"), ("b", "2")]]
    # Every parameter has its own answer.
    assert select(file, "SELECT result FROM results WHERE source = ?", ("a",), ("c",)) == [[("1",)], []]


def test_the_log_is_written_ahead_and_to_the_disk_with_every_commit(file):
    with database._writing(file) as connection:
        for name, mode in (("journal_mode", "wal"), ("synchronous", 2)):
            assert connection.execute(f"PRAGMA {name}").fetchone()[0] == mode


def test_several_processes_write_at_once_and_lose_nothing(file):
    wrote(file, "abcd", 40)
    (rows,) = select(file, ALL, ())
    assert sorted(rows) == sorted((name, str(number)) for name in "abcd" for number in range(40))


def test_what_a_killed_process_has_kept_is_there(file):
    with start(file, "a", 10**6) as writer:
        go(writer)
        for _ in range(25):
            last = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        # What it has said before the signal reached it is kept too.
        last = max([last, *map(int, writer.stdout.read().split())])
    assert writer.returncode == -signal.SIGKILL
    (rows,) = select(file, ALL, ())
    kept = [int(number) for _, number in rows]
    # One more may have been written of which it could not say so any more.
    assert kept in (list(range(last + 1)), list(range(last + 2)))
    insert(file, ADD, ("b", "next"))
    assert select(file, ALL, ())[0][-1] == ("b", "next")


def newer(file):
    insert(file, ADD, ("a", "1"))
    changed(file, f"PRAGMA user_version = {LAYOUT + 1}")


OTHERS = {
    r"written by a newer graphveil \(layout 3, this one knows 2\): update": newer,
    "is a database of something else: move it away": lambda file: changed(
        file, "CREATE TABLE animals (name TEXT)"
    ),
    "is no database: move it away": lambda file: file.write_text('{"key": "a line of JSON"}\n' * 100),
}


@pytest.mark.parametrize("words", OTHERS)
def test_what_is_no_file_of_ours_is_refused_and_left_as_it_is(words, file):
    OTHERS[words](file)
    before = file.read_bytes()
    for use in (lambda: select(file, ALL, ()), lambda: insert(file, ADD, ("b", "2"))):
        with pytest.raises(StoreError, match=words):
            use()
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "statement", ["DROP TABLE results", "ALTER TABLE results RENAME COLUMN result TO other"]
)
def test_a_file_without_its_tables_or_columns_is_refused(file, statement):
    insert(file, ADD, ("a", "1"))
    changed(file, statement)
    with pytest.raises(StoreError, match=r"is damaged \(no such (table|column)"):
        select(file, ALL, ())


def test_damaged_pages_are_told(file):
    for number in range(200):
        insert(file, ADD, ("a", str(number) * 50))
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    file.write_bytes(content)
    with pytest.raises(StoreError, match="is damaged .*: move it away"):
        select(file, ALL, ())


def test_a_text_that_is_no_text_hides_no_other(file):
    insert(file, ADD, ("a", "1"))
    changed(file, "INSERT INTO results (source, time, result) VALUES ('b', '', CAST(x'ff' AS TEXT))")
    assert select(file, ALL, ()) == [[("a", "1"), ("b", "\ufffd")]]


def test_a_file_that_may_only_be_read_is_refused_before_anything_is_computed(file, monkeypatch):
    insert(file, ADD, ("a", "1"))
    connect = database._connect
    monkeypatch.setattr(database, "_connect", lambda file, _: connect(file, "ro"))
    said = r"cannot be read or written \(attempt to write a readonly database\)"
    with pytest.raises(StoreError, match=said):
        check_writable(file)


def test_a_file_in_a_folder_that_may_only_be_read_can_be_read(open_folder):
    file = open_folder / "results.sqlite"
    insert(file, ADD, ("a", "1"))
    assert not list(open_folder.glob("*-wal"))
    file.chmod(0o444)
    open_folder.chmod(0o555)

    def look():
        assert select(file, ALL, ()) == [[("a", "1")]]
        with pytest.raises(StoreError, match="attempt to write a readonly database"):
            check_writable(file)

    assert as_nobody(look) == 0


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "taken").touch()
    with pytest.raises(StoreError, match="name another folder with GRAPHVEIL_CACHE"):
        check_writable(tmp_path / "taken" / "results.sqlite")


def test_a_full_disk_is_told(file, monkeypatch):
    insert(file, ADD, ("a", "1"))
    connect = database._connect

    def full(*given):
        connection = connect(*given)
        connection.execute("PRAGMA max_page_count = 1")
        return connection

    monkeypatch.setattr(database, "_connect", full)
    with pytest.raises(StoreError, match="the disk is full: make room"):
        insert(file, ADD, ("b", "2" * 10**5))


def test_a_write_that_the_system_refuses_is_told(file):
    insert(file, ADD, ("a", "1"))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size, before[1]))
    try:
        with pytest.raises(StoreError, match="cannot be (read or )?written"):
            insert(file, ADD, ("b", "2" * 10**6))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert select(file, ALL, ()) == [[("a", "1")]]


def test_a_lock_that_is_never_given_up_is_told(file, monkeypatch):
    insert(file, ADD, ("a", "1"))
    monkeypatch.setattr(database, "PATIENCE", 0.1)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="has been locked by another process for 0.1 seconds"):
            insert(file, ADD, ("b", "2"))


def test_a_name_with_signs_of_an_address_is_a_name(tmp_path):
    file = tmp_path / "a?mode=ro#b%20c" / "results.sqlite"
    insert(file, ADD, ("a", "1"))
    assert file.is_file()


# What graphveil 0.1.0 made before results had tags.
FIRST_LAYOUT = """
CREATE TABLE units (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    setting TEXT NOT NULL, seed TEXT NOT NULL, part TEXT NOT NULL, data TEXT NOT NULL, source TEXT NOT NULL,
    version TEXT NOT NULL, time TEXT NOT NULL, unit TEXT NOT NULL,
    UNIQUE (setting, seed, part, data, source)
);
CREATE TABLE trials (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    search TEXT NOT NULL, data TEXT NOT NULL, source TEXT NOT NULL,
    version TEXT NOT NULL, time TEXT NOT NULL, trial TEXT NOT NULL
);
CREATE INDEX trials_by_search ON trials (search, data);
CREATE TABLE results (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL, time TEXT NOT NULL, result TEXT NOT NULL
);
PRAGMA application_id = 1735814144;
PRAGMA user_version = 1;
INSERT INTO results (source, time, result) VALUES ('a', '', '1'), ('a', '', '1');
INSERT INTO trials (search, data, source, version, time, trial) VALUES ('s', '', '', '', '', 't');
"""


@pytest.fixture
def old_file(file):
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(FIRST_LAYOUT)
    return file


def test_an_old_file_is_read_and_not_changed_by_that(old_file):
    before = old_file.read_bytes()
    assert select(old_file, ALL, ()) == [[("a", "1"), ("a", "1")]]
    # What it cannot have is not there.
    assert select(old_file, "SELECT name FROM tags", (), since=2) == [[]]
    assert old_file.read_bytes() == before


def test_an_old_file_is_brought_up_to_date_by_the_first_who_writes(old_file, tmp_path):
    insert(old_file, ADD, ("b", "2"))
    with closing(sqlite3.connect(old_file)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone()[0] == LAYOUT
    assert select(old_file, ALL, ()) == [[("a", "1"), ("a", "1"), ("b", "2")]]
    assert select(old_file, "SELECT trial FROM trials", ()) == [[("t",)]]
    # It has the same tables as a new one.
    new = tmp_path / "new.sqlite"
    check_writable(new)
    columns = "SELECT m.name, c.name, c.type FROM sqlite_master m, pragma_table_info(m.name) c ORDER BY 1, 2"
    assert select(old_file, columns, ()) == select(new, columns, ())


def test_several_processes_bring_an_old_file_up_to_date_at_once(old_file):
    wrote(old_file, "bcd", 5)
    assert len(select(old_file, ALL, ())[0]) == 2 + 15


def test_a_change_that_fails_midway_has_changed_nothing(file):
    insert(file, ADD, ("a", "1"))
    with pytest.raises(StoreError):
        change(file, ("DELETE FROM results WHERE source = ?", [("a",)]), ("DELETE FROM nothing", [()]))
    assert select(file, ALL, ()) == [[("a", "1")]]
