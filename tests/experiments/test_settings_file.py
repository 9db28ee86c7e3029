import pytest

from graphveil.errors import InputError
from graphveil.experiments.experiment_file import read_settings
from tests.refusals import check_refused

WRITTEN = [
    ("a.toml", 'lr = 0.1\npatience = "none"\ndata.users = 200\n'),
    ("a.toml", '[settings]\nlr = 0.1\npatience = "none"\n[settings.data]\nusers = 200\n'),
    ("a.json", '{"lr": 0.1, "patience": null, "data.users": 200}'),
    ("a.json", '{"tuned": {}, "settings": {"lr": 0.1, "patience": null, "data": {"users": 200}}}'),
]


def test_files_by_hand_are_read(tmp_path):
    found = []
    for name, text in WRITTEN:
        (tmp_path / name).write_text(text)
        found.append(read_settings(tmp_path / name, "base"))
    assert found == [{"lr": 0.1, "patience": None, "data.users": 200}] * len(WRITTEN)


WRONG = [
    (
        "a.toml",
        '[tuned]\nmethod = "upgnet"\n[settings]\nlr = 1',
        "was tuned for upgnet, not for base: tune base",
    ),
    ("a.toml", "lr = ", "is not TOML"),
    ("a.json", "{", "is not JSON"),
    ("a.json", "[1]", "must hold an object of settings"),
    ("a.toml", "settings = 1", "must be tables"),
    ("a.toml", "epochs = 2\n[settings]\nlr = 1", "has 'epochs' beside"),
]


def test_what_is_wrong_with_a_file_is_said(tmp_path):
    def read(name, text):
        (tmp_path / name).write_text(text)
        return read_settings(tmp_path / name, "base")

    check_refused(read, WRONG)
    check_refused(read, [(name, text, str(tmp_path / name)) for name, text, _ in WRONG])


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_settings(tmp_path / "nowhere.toml", "base")
    with pytest.raises(InputError, match="cannot be read"):
        read_settings(tmp_path, "base")
    (tmp_path / "a.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not UTF-8 text"):
        read_settings(tmp_path / "a.toml", "base")
