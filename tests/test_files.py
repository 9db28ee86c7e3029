"""Text files are read within a limit, or refused in a sentence that names the file and shows nothing of it."""

import os

import pytest

from graphveil import InputError, files
from graphveil.files import (
    FIGURES,
    PARQUET,
    check_output,
    memory_limit,
    read_array,
    read_arrays,
    read_json,
    read_text,
    read_toml,
)
from graphveil.graphs.tables import PairTable


def test_text_is_read_with_or_without_a_mark_of_its_order(tmp_path):
    (tmp_path / "a.txt").write_bytes("\ufeffçe".encode())
    assert read_text(tmp_path / "a.txt", "mend it") == "çe"


@pytest.mark.parametrize(
    ("read", "content", "said"),
    [
        (read_text, b"secret\xff", "is not UTF-8 text: mend it"),
        (read_json, b'{"secret": ', r"is not JSON \(line 1, column 12\): mend it"),
        (read_json, b"[" * 100_000, r"nested too deep\): mend it"),
        (read_json, b"9" * 5000, r"a number that is too long\): mend it"),
        (read_toml, b"a = \n", "is not TOML .*line 1.*: mend it"),
        (read_toml, b"a = " + b"[" * 10_000, r"nested too deep\): mend it"),
    ],
)
def test_what_cannot_be_read_is_refused_and_not_shown(tmp_path, read, content, said):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(InputError, match=rf"^{tmp_path / 'file'} .*{said}$") as caught:
        read(tmp_path / "file", "mend it")
    assert "secret" not in str(caught.value)


def test_a_file_that_is_not_there_and_a_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"none cannot be read \(No such file or directory\): mend it"):
        read_text(tmp_path / "none", "mend it")
    with pytest.raises(InputError, match="^there is none$"):
        read_json(tmp_path / "none", "mend it", "there is none")
    with pytest.raises(InputError, match=r"cannot be read \(Is a directory\): mend it"):
        read_text(tmp_path, "mend it")


@pytest.mark.parametrize(
    "read",
    [
        lambda path: read_text(path, "mend it"),
        lambda path: read_array(path, "a row", "mend it"),
        lambda path: read_arrays(path),
        lambda path: PairTable(path, "mend it").words(),
    ],
    ids=["text", "array", "arrays", "table"],
)
def test_a_pipe_to_which_nobody_writes_is_not_waited_for(tmp_path, read):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="it is a pipe or a device, not a file"):
        read(tmp_path / "pipe.csv")


def test_a_text_of_any_length_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_TEXT", 3 << 20)
    (tmp_path / "long").write_bytes(bytes(4 << 20))
    with pytest.raises(InputError, match="longer than 3 MB, the most that is read: mend it"):
        read_text(tmp_path / "long", "mend it")


def test_a_large_file_may_take_more_memory_than_a_small_one(tmp_path):
    (tmp_path / "file").write_bytes(bytes(1000))
    assert memory_limit(tmp_path / "file") == files.MAX_GIGABYTES == 4.0
    assert memory_limit(tmp_path / "file", 1e-9) == 4000 / 1e9
    assert memory_limit(tmp_path / "none", 0.5) == 0.5


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("x.jpg", "x.jpg has the unsupported format .jpg: use .svg or .png with out"),
        ("x", "x has no format: use .svg or .png with out"),
        ("nowhere/x.svg", "nowhere is not a folder: name a file in an existing folder with out"),
        ("folder.svg", "folder.svg is a folder: name a file in it with out"),
    ],
)
def test_a_file_that_could_not_be_written_is_refused(name, words, tmp_path):
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(InputError, match=f"{words}$"):
        check_output(tmp_path / name, FIGURES, "--out")


def test_a_file_that_can_be_written_is_returned(tmp_path):
    assert check_output(tmp_path / "x.svg", FIGURES) == tmp_path / "x.svg"
    assert check_output(tmp_path / "any.thing") == tmp_path / "any.thing"


def test_a_folder_that_may_not_be_written_to_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(files.os, "access", lambda *_: False)
    with pytest.raises(InputError, match=f"{tmp_path} is write-protected: name a file in another folder$"):
        check_output(tmp_path / "x.svg", FIGURES)


@pytest.mark.parametrize(
    ("formats", "instead"),
    [
        ((PARQUET, ".csv"), ", or use .csv"),
        ((".csv", PARQUET, ".json"), ", or use .csv or .json"),
        ((PARQUET,), ""),
    ],
)
def test_without_pyarrow_a_parquet_file_is_refused_with_what_to_install(
    formats, instead, tmp_path, monkeypatch
):
    monkeypatch.setattr(files, "find_spec", lambda _: None)
    words = rf"x.parquet needs pyarrow, which is not installed: pip install 'graphveil\[parquet\]'{instead}$"
    with pytest.raises(InputError, match=words):
        check_output(tmp_path / "x.parquet", formats)
