import subprocess
import sys

import pytest

from graphveil.version import PACKAGE, digest_of, source_digest


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.py").write_text("one")
    (tmp_path / "inner" / "b.py").write_text("two")
    return tmp_path


def test_it_is_the_digest_of_this_package():
    assert source_digest() == digest_of(PACKAGE)
    assert (PACKAGE / "experiments" / "store.py").is_file()


def test_another_process_finds_the_same():
    code = "from graphveil.version import source_digest; print(source_digest())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == source_digest()


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "a.py").write_text("other"),
        lambda folder: (folder / "inner" / "b.py").write_text("two "),
        lambda folder: (folder / "a.py").rename(folder / "c.py"),
        lambda folder: (folder / "new.py").touch(),
        lambda folder: (folder / "new.toml").touch(),
        lambda folder: (folder / "a.py").unlink(),
    ],
)
def test_a_change_of_a_file_or_its_name_changes_it(folder, change):
    before = digest_of(folder)
    change(folder)
    assert digest_of(folder) != before


def test_what_moves_from_one_file_to_the_next_changes_it(folder):
    before = digest_of(folder)
    (folder / "a.py").write_text("on")
    (folder / "inner" / "b.py").write_text("etwo")
    assert digest_of(folder) != before


def test_other_files_do_not_count(folder):
    before = digest_of(folder)
    (folder / "notes.txt").touch()
    (folder / "a.pyc").touch()
    assert digest_of(folder) == before
