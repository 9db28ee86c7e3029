"""Calls of the command, as whoever gives them sees them: words are a text, as in a terminal, or a list."""

import json
import shlex
from dataclasses import dataclass

import pytest

from graphveil.cli import status
from graphveil.experiments import ResultStore, store
from tests.experiments.known import counted, forget_measures  # noqa: F401 - fixtures


@dataclass(frozen=True)
class Told:
    """What a call has printed, and said on stderr."""

    ended: object
    out: str
    err: str

    @property
    def lines(self):
        return self.out.splitlines()

    @property
    def words(self):
        """What is printed, however the terminal breaks it."""
        return " ".join(self.out.split())

    @property
    def said(self):
        """What is said on stderr, however the terminal breaks it."""
        return " ".join(self.err.split())

    @property
    def json(self):
        """The one object that is printed, on one line."""
        assert len(self.lines) == 1, self.out
        return json.loads(self.out)


@pytest.fixture
def tried(capsys):
    """Calls the command, and gives what it told; an exception stands in the place of the exit status."""

    def tried(*words):
        split = [word for each in words for word in (shlex.split(each) if isinstance(each, str) else each)]
        capsys.readouterr()
        try:
            ended = status(split)
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is told
            ended = repr(error)
        return Told(ended, *capsys.readouterr())

    return tried


@pytest.fixture
def call(tried):
    """Calls the command, which has to end with a status, and gives what it told."""

    def call(*words, ends=0):
        told = tried(*words)
        assert told.ended == ends, (words, told)
        return told

    return call


@pytest.fixture
def refuses(tried):
    """Checks calls with the words that must be said: each ends with status 2 and one line with them.

    ``before`` stands before the words of each. Where nothing may be printed on stdout, ``printed`` is false; ``changed`` says whether a
    call has left something.
    """

    def refuses(cases, *before, printed=True, changed=lambda: False):
        wrong = []
        for words, said in cases:
            told = tried(*before, words)
            one = len(told.err.strip().splitlines()) == 1 and "Traceback" not in told.err
            # What is longer than a terminal is wide is broken there.
            right = (said in told.err or said in told.said) and told.said.startswith("Error: ")
            if told.ended != 2 or not one or not right or (told.out and not printed) or changed():
                wrong.append((words, said, told))
        assert not wrong, "\n".join(map(str, wrong))

    return refuses


@pytest.fixture
def call_another_version(call, monkeypatch):
    """Calls as another version of graphveil would."""

    def call_another_version(*words):
        with monkeypatch.context() as context:
            context.setattr(store, "source_digest", lambda: "e" * 64)
            return call(*words)

    return call_another_version


@pytest.fixture
def kept():
    """Gives the results that are kept."""
    return lambda: ResultStore(store.results_file()).results()
