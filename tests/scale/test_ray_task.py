"""What a worker does with a call, without Ray: it is a function from bytes to bytes."""

import os
import pickle
import sys
from dataclasses import replace

import pytest

from graphveil import plugins as outside
from graphveil.errors import EngineError, InputError
from graphveil.scale.ray_pool import Sender, compute, packed, unpacked


@pytest.fixture(autouse=True)
def as_before(tmp_path, monkeypatch):
    """A call changes the process that computes it, which is this one here."""
    monkeypatch.chdir(tmp_path)
    for name in ("GRAPHVEIL_DATA", "GRAPHVEIL_CACHE", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, os.environ.get(name, "1"))
    monkeypatch.setattr(outside, "_expected", {})


def called(function, *arguments, sender=None):
    return unpacked(compute(sender or Sender.here(), packed(function, arguments)))


class UnpicklableError(Exception):
    def __init__(self, one, two):
        super().__init__(one)


def refuse():
    raise InputError("give --epsilon")


def end():
    sys.exit(3)


def break_off():
    raise UnpicklableError("broken", 2)


def test_an_error_is_the_same_as_is_a_result():
    assert called(divmod, 7, 2) == (3, 1)
    with pytest.raises(InputError) as raised:
        called(refuse)
    assert str(raised.value) == "give epsilon"
    assert raised.value.as_written == "give --epsilon"
    assert "in refuse" in raised.value.__notes__[0]


def test_an_error_or_a_result_that_cannot_travel_is_told_and_the_worker_goes_on():
    with pytest.raises(SystemExit):
        called(end)
    with pytest.raises(RuntimeError, match="UnpicklableError: broken"):
        called(break_off)
    with pytest.raises((AttributeError, TypeError, pickle.PicklingError)):
        called(compile, "lambda: 1", "none", "eval")


def test_another_version_computes_nothing(tmp_path):
    other = replace(Sender.here(), versions={"graphveil": "0.0, source none"})
    with pytest.raises(EngineError, match="in place of 0.0, source none"):
        called(os.mkdir, str(tmp_path / "made"), sender=other)
    assert not (tmp_path / "made").exists()


def test_folder_and_variables_are_those_of_the_sender(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHVEIL_DATA", "graphs")
    monkeypatch.delenv("GRAPHVEIL_CACHE")
    sender = Sender.here()
    monkeypatch.setenv("GRAPHVEIL_DATA", "others")
    monkeypatch.setenv("GRAPHVEIL_CACHE", "elsewhere")
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    assert called(os.getcwd, sender=sender) == str(tmp_path)
    assert called(os.getenv, "GRAPHVEIL_DATA", sender=sender) == "graphs"
    assert called(os.getenv, "GRAPHVEIL_CACHE", sender=sender) is None
    sender = replace(Sender.here(), folder=str(tmp_path / "nowhere"))
    assert called(os.getcwd, sender=sender) == str(tmp_path)


def test_a_file_must_be_the_one_that_the_sender_has_run(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("value = 1\n")
    sender = replace(Sender.here(), files={file.resolve(): "0" * 64})
    with pytest.raises(InputError, match="was changed while an experiment was running with it"):
        called(outside.load_file, file, sender=sender)
