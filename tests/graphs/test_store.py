import hashlib

import numpy as np
import pytest

from graphveil import InputError
from graphveil.graphs import store
from graphveil.graphs.npz import Raw, read_npz
from graphveil.graphs.store import checksum_path, find, keep, own_names, verify

RAW = Raw(np.array([[0, 1]]), np.array([0, 1]))


def test_the_data_folder_goes_before_the_cache(places, monkeypatch):
    assert find("some") is None
    keep("other", RAW)
    cached = keep("some", RAW)
    assert (find("some").path, find("some").place) == (cached, "cache")
    (places.data / "some.npz").write_bytes(b"")
    assert (find("some").path, find("some").place) == (places.data / "some.npz", "data folder")
    assert own_names() == ["other", "some"]
    monkeypatch.delenv("GRAPHVEIL_DATA")
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(places.cache / "nowhere"))
    assert (find("some"), own_names()) == (None, [])


def test_a_kept_file_is_compared_with_the_checksum_beside_it(places):
    path = keep("some", RAW)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert checksum_path(path).read_text() == f"{digest}  some.npz\n"
    verify(path)
    assert read_npz(path).labels.tolist() == [0, 1]
    path.write_bytes(path.read_bytes() + b"x")
    for _ in range(2):
        with pytest.raises(InputError, match="does not match its checksum.*graphveil data get some --again"):
            verify(path)
        # An empty one matches nothing.
        checksum_path(path).write_text("")
    checksum_path(path).unlink()
    verify(path)


def test_a_failure_while_writing_leaves_the_old_file_whole_and_no_other_behind(places, monkeypatch):
    def half_written(file, raw):
        file.write(b"half")
        raise OSError("disk full")

    path = keep("some", RAW)
    monkeypatch.setattr(store, "write_npz", half_written)
    for name in ("other", "some"):
        with pytest.raises(InputError, match="cannot be written .disk full"):
            keep(name, RAW)
    verify(path)
    assert sorted(places.cache.iterdir()) == [path, checksum_path(path)]
