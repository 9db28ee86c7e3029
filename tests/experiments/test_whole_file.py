"""Files that are there as a whole or not at all."""

import pytest

from graphveil import files as whole_file
from graphveil.errors import InputError
from graphveil.files import write_whole


def test_a_file_that_cannot_be_written_leaves_what_was_there(tmp_path, monkeypatch):
    file = tmp_path / "x.csv"
    file.write_text("before")

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(whole_file.os, "replace", refuse)
    with pytest.raises(InputError, match="cannot be written .*No space left on device"):
        write_whole(file, b"after")
    assert file.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]
