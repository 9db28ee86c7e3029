import hashlib
import os

import pytest

from graphveil.errors import InputError
from graphveil.graphs import store
from graphveil.graphs.load import data_digest
from graphveil.graphs.store import file_digest
from tests.refusals import check_refused


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def test_a_file_is_known_by_its_content_and_read_once_as_long_as_it_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHVEIL_DATA", str(tmp_path))
    # A name in the data folder is its file.
    for name in ("cora", "mine"):
        file = tmp_path / f"{name}.npz"
        file.write_bytes(name.encode())
        assert data_digest(str(file), {}) == data_digest(name, {}) == sha256(name.encode())
    monkeypatch.setattr(store, "digest", lambda _: pytest.fail("read again"))
    assert file_digest(file) == sha256(b"mine")


@pytest.mark.parametrize("content", [b"a larger graph", b"a grapH"])
def test_a_changed_file_is_read_again(tmp_path, content):
    file = tmp_path / "my.npz"
    file.write_bytes(b"a graph")
    file_digest(file)
    file.write_bytes(content)
    os.utime(file, ns=(0, 12345))
    assert file_digest(file) == sha256(content)


def test_a_file_put_in_the_place_of_another_is_read_again_whatever_its_time(tmp_path):
    file, other = tmp_path / "my.npz", tmp_path / "other"
    file.write_bytes(b"a graph")
    other.write_bytes(b"a grapH")
    for each in (file, other):
        os.utime(each, ns=(0, 12345))
    file_digest(file)
    other.replace(file)
    assert file_digest(file) == sha256(b"a grapH")


def test_a_town_is_known_by_its_options_in_any_order():
    first, second = {"users": 400, "features": 9}, {"features": 9, "users": 400}
    assert data_digest("town", first) == data_digest("town", second)
    towns = [("town", {}), ("town", {"users": 400}), ("town", {"town_seed": 1}), ("town-labels", {})]
    assert len({data_digest(*town) for town in towns}) == 4


def test_what_is_not_there_is_refused(tmp_path):
    check_refused(
        lambda source: data_digest(source, {}),
        [("nowhere/x.npz", "nowhere/x.npz cannot be read"), ("nobody", "no dataset is named")],
    )
    with pytest.raises(InputError, match="cannot be read"):
        file_digest(tmp_path)
