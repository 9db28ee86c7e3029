import sys
from pathlib import Path

import pytest

from graphveil.settings import device_file, settings, witness_folder


def test_both_folders_come_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("GRAPHVEIL_DATA", str(tmp_path / "a"))
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path / "b"))
    assert (settings().data, settings().cache) == (tmp_path / "a", tmp_path / "b")


@pytest.mark.parametrize("value", [None, ""])
def test_without_a_data_folder_there_is_none(monkeypatch, value):
    if value is None:
        monkeypatch.delenv("GRAPHVEIL_DATA", raising=False)
    else:
        monkeypatch.setenv("GRAPHVEIL_DATA", value)
    assert settings().data is None


def test_a_tilde_is_the_home_folder(monkeypatch):
    monkeypatch.setenv("GRAPHVEIL_DATA", "~/graphs")
    assert settings().data == Path.home() / "graphs"


@pytest.mark.parametrize(
    ("platform", "variable", "below_home"),
    [
        ("linux", "XDG_CACHE_HOME", ".cache"),
        ("darwin", None, "Library/Caches"),
        ("win32", "LOCALAPPDATA", "AppData/Local"),
    ],
)
def test_the_cache_is_where_the_platform_keeps_caches(monkeypatch, tmp_path, platform, variable, below_home):
    monkeypatch.delenv("GRAPHVEIL_CACHE", raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    if variable is not None:
        monkeypatch.setenv(variable, str(tmp_path))
        assert settings().cache == tmp_path / "graphveil"
        monkeypatch.delenv(variable)
    assert settings().cache == Path.home() / below_home / "graphveil"


def test_a_device_keeps_books_and_witness_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("GRAPHVEIL_STATE", str(tmp_path))
    assert (device_file(), witness_folder()) == (tmp_path / "device.sqlite", tmp_path / "witnesses")


@pytest.mark.parametrize(
    ("platform", "books", "witnesses"),
    [
        ("linux", ".local/share/graphveil", ".local/state/graphveil"),
        ("darwin", "Library/Application Support/graphveil", "Library/Application Support/graphveil"),
        ("win32", "AppData/Local/graphveil", "AppData/Local/graphveil"),
    ],
)
def test_books_and_witness_are_where_the_platform_keeps_such_things(monkeypatch, platform, books, witnesses):
    for variable in ("GRAPHVEIL_STATE", "XDG_DATA_HOME", "XDG_STATE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    assert device_file() == Path.home() / books / "device.sqlite"
    assert witness_folder() == Path.home() / witnesses / "witnesses"
