import hashlib
import os

import pytest

from graphveil.errors import InputError
from graphveil.graphs import store
from graphveil.graphs.load import data_digest
from graphveil.graphs.store import file_digest


def test_a_file_is_known_by_its_content(tmp_path):
    file = tmp_path / "my.npz"
    file.write_bytes(b"a graph")
    assert data_digest(str(file), {}) == hashlib.sha256(b"a graph").hexdigest()


def test_a_name_in_the_data_folder_is_its_file(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHVEIL_DATA", str(tmp_path))
    for name in ("cora", "mine"):
        (tmp_path / f"{name}.npz").write_bytes(name.encode())
        assert data_digest(name, {}) == hashlib.sha256(name.encode()).hexdigest()


def test_a_file_is_read_once_as_long_as_it_is_the_same(tmp_path, monkeypatch):
    file = tmp_path / "my.npz"
    file.write_bytes(b"a graph")
    first = file_digest(file)
    monkeypatch.setattr(store, "digest", lambda _: pytest.fail("read again"))
    assert file_digest(file) == first


@pytest.mark.parametrize("content", [b"a larger graph", b"a grapH"])
def test_a_changed_file_is_read_again(tmp_path, content):
    file = tmp_path / "my.npz"
    file.write_bytes(b"a graph")
    file_digest(file)
    file.write_bytes(content)
    os.utime(file, ns=(0, 12345))
    assert file_digest(file) == hashlib.sha256(content).hexdigest()


def test_a_file_put_in_the_place_of_another_is_read_again_whatever_its_time(tmp_path):
    file, other = tmp_path / "my.npz", tmp_path / "other"
    file.write_bytes(b"a graph")
    other.write_bytes(b"a grapH")
    for each in (file, other):
        os.utime(each, ns=(0, 12345))
    file_digest(file)
    other.replace(file)
    assert file_digest(file) == hashlib.sha256(b"a grapH").hexdigest()


def test_a_town_is_known_by_its_options_in_any_order():
    assert data_digest("town", {"users": 400, "features": 9}) == data_digest(
        "town", {"features": 9, "users": 400}
    )
    assert len({data_digest("town", options) for options in ({}, {"users": 400}, {"town_seed": 1})}) == 3


@pytest.mark.parametrize(
    ("source", "words"),
    [("nowhere/x.npz", "nowhere/x.npz cannot be read"), ("nobody", "no dataset is named")],
)
def test_what_is_not_there_is_refused(source, words):
    with pytest.raises(InputError, match=words):
        data_digest(source, {})


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        file_digest(tmp_path)


def test_towns_of_one_class_and_of_several_labels_are_not_the_same():
    assert data_digest("town", {}) != data_digest("town-labels", {})
