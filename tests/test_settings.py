import sys
from pathlib import Path

import pytest

from graphveil.settings import device_file, former_witness_folders, settings, witness_folder


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


def test_books_and_witness_have_a_variable_each(monkeypatch, tmp_path):
    monkeypatch.setenv("GRAPHVEIL_STATE", str(tmp_path / "books"))
    monkeypatch.setenv("GRAPHVEIL_WITNESS", str(tmp_path / "witness"))
    assert (device_file(), witness_folder()) == (tmp_path / "books/device.sqlite", tmp_path / "witness")
    monkeypatch.delenv("GRAPHVEIL_WITNESS")
    assert not witness_folder().is_relative_to(tmp_path)


@pytest.mark.parametrize(
    ("platform", "books", "witnesses", "former"),
    [
        ("linux", ".local/share/graphveil", ".local/state/graphveil", ".local/state/graphveil"),
        (
            "darwin",
            "Library/Application Support/graphveil",
            "Library/Caches/graphveil-state",
            "Library/Application Support/graphveil",
        ),
        ("win32", "AppData/Local/graphveil", "AppData/Roaming/graphveil", "AppData/Local/graphveil"),
    ],
)
def test_no_platform_keeps_books_and_witness_in_one_folder(monkeypatch, platform, books, witnesses, former):
    for variable in (
        *("GRAPHVEIL_STATE", "GRAPHVEIL_WITNESS", "XDG_DATA_HOME", "XDG_STATE_HOME"),
        *("LOCALAPPDATA", "APPDATA"),
    ):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    assert device_file() == Path.home() / books / "device.sqlite"
    assert witness_folder() == Path.home() / witnesses / "witnesses"
    # Where the version before kept it.
    assert Path.home() / former / "witnesses" in former_witness_folders()
    monkeypatch.setenv("GRAPHVEIL_STATE", "/named")
    assert Path("/named/witnesses") in former_witness_folders()
