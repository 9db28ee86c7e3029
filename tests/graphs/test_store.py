import hashlib

import numpy as np
import pytest

from graphveil import InputError
from graphveil.graphs import store
from graphveil.graphs.npz import Raw, read_npz
from graphveil.graphs.store import checksum_path, find, keep, own_names, verify

RAW = Raw(np.array([[0, 1]]), np.array([0, 1]))


def test_the_data_folder_goes_before_the_cache(places):
    assert find("some") is None
    cached = keep("some", RAW)
    assert (find("some").path, find("some").place) == (cached, "cache")
    (places.data / "some.npz").write_bytes(b"")
    assert (find("some").path, find("some").place) == (places.data / "some.npz", "data folder")


def test_names_come_from_both_folders_once(places):
    keep("some", RAW)
    keep("other", RAW)
    (places.data / "some.npz").write_bytes(b"")
    assert own_names() == ["other", "some"]


def test_without_folders_nothing_is_found(monkeypatch, tmp_path):
    monkeypatch.delenv("GRAPHVEIL_DATA", raising=False)
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path / "nowhere"))
    assert (find("some"), own_names()) == (None, [])


def test_a_kept_file_has_its_checksum_beside_it(places):
    path = keep("some", RAW)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert checksum_path(path).read_text() == f"{digest}  some.npz\n"
    verify(path)
    assert read_npz(path).labels.tolist() == [0, 1]


def test_a_file_that_does_not_match_its_checksum_is_refused(places):
    path = keep("some", RAW)
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(InputError, match="does not match its checksum.*graphveil data get some --again"):
        verify(path)


def test_an_empty_checksum_matches_nothing(places):
    path = keep("some", RAW)
    checksum_path(path).write_text("")
    with pytest.raises(InputError, match="does not match its checksum"):
        verify(path)


def test_a_file_without_a_recorded_checksum_is_taken(places):
    (places.data / "some.npz").write_bytes(b"anything")
    verify(places.data / "some.npz")


def test_a_failure_while_writing_leaves_no_file_behind(places, monkeypatch):
    def half_written(file, raw):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(store, "write_npz", half_written)
    with pytest.raises(InputError, match="cannot be written .disk full"):
        keep("some", RAW)
    assert list(places.cache.iterdir()) == []


def test_a_failure_leaves_the_old_file_whole(places, monkeypatch):
    path = keep("some", RAW)

    def broken(file, raw):
        raise OSError("disk full")

    monkeypatch.setattr(store, "write_npz", broken)
    with pytest.raises(InputError, match="cannot be written .disk full"):
        keep("some", RAW)
    verify(path)
