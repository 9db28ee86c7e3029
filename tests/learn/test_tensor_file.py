"""Files of tensors come back as they were, or are refused; nothing in them is run, and none takes more memory than it has bytes."""

import io
import zipfile

import pytest
import torch

from graphveil import InputError, learn
from tests.together import each

CONTENT = {"a": torch.arange(3.0), "b": [1, None, "ü", (True, 2.5)], 3: {"c": torch.zeros(2, 2)}}


def saved(file, content=CONTENT):
    torch.save(content, file)
    return file


def read(file):
    return learn.read_tensors(file, "model", "train it again", "cpu")


def test_what_was_saved_comes_back_and_a_list_that_holds_itself_is_looked_at_once(tmp_path):
    found = read(saved(tmp_path / "a.pt"))
    assert torch.equal(found["a"], CONTENT["a"]) and found["b"] == CONTENT["b"]
    endless: list = []
    endless.append(endless)
    assert read(saved(tmp_path / "a.pt", {"a": endless}))["a"][0][0] is not None


def repacked(file, method, change=lambda name, content: content):
    stream = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(stream, "w", method) as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    file.write_bytes(stream.getvalue())
    return file


def test_only_what_is_packed_decides_whether_a_rewritten_file_is_read(tmp_path):
    assert torch.equal(read(repacked(saved(tmp_path / "a.pt"), zipfile.ZIP_STORED))["a"], CONTENT["a"])
    with pytest.raises(InputError, match=r"holds no model, or is damaged \(ValueError\): train it again"):
        read(repacked(saved(tmp_path / "b.pt"), zipfile.ZIP_DEFLATED))


def test_a_changed_number_is_noticed_and_a_file_that_cannot_be_opened_is_named(tmp_path):
    file = saved(tmp_path / "a.pt")
    whole = file.read_bytes()
    numbers = CONTENT["a"].numpy().tobytes()
    assert whole.count(numbers) == 1
    file.write_bytes(whole.replace(numbers, CONTENT["a"].flip(0).numpy().tobytes()))
    with pytest.raises(InputError, match="is damaged"):
        read(file)
    with pytest.raises(InputError, match=r"none\.pt cannot be read \(No such file or directory\)"):
        read(tmp_path / "none.pt")


def test_anything_but_dense_tensors_and_plain_values_is_refused(tmp_path):
    values = {
        "repeated": torch.zeros(1).expand(1 << 40),
        "sparse": torch.eye(3).to_sparse(),
        "empty": torch.empty(1 << 40, device="meta"),
        "set": {1, 2},
        "bytes": bytearray(3),
        "device": torch.device("cpu"),
    }

    def check(name):
        with pytest.raises(InputError, match="holds no model, or is damaged"):
            read(saved(tmp_path / f"{name}.pt", {"a": values[name]}))

    each(values, check)


# Half an hour in torch, whose message about an unknown name takes a time that grows with the square of its length.
@pytest.mark.timeout(60)
def test_a_long_name_is_refused_at_once(tmp_path):
    def change(name, content):
        return b"\x80\x02c" + b'{"a":' * 100_000 if name.endswith("data.pkl") else content

    with pytest.raises(InputError, match="holds no model, or is damaged"):
        read(repacked(saved(tmp_path / "a.pt"), zipfile.ZIP_STORED, change))
