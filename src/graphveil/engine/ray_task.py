"""What a worker of Ray does with a call: it becomes like the process that sent it, computes, and sends back what came of it."""

from __future__ import annotations

import os
import pickle
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphveil.engine.twin import algebra_threads, check_same, set_algebra_threads, versions
from graphveil.plugins import expect, expected

# Where graphs are looked for and kept; what is kept of experiments, the sender alone writes.
ENVIRONMENT = ("GRAPHVEIL_DATA", "GRAPHVEIL_CACHE")
# Libraries that are loaded later read it then. Ray has a number of its own for it.
THREADS = "OMP_NUM_THREADS"


@dataclass(frozen=True)
class Sender:
    """The process that sends calls: its versions, its folder, its variables, its files from outside and its threads."""

    versions: Mapping[str, str]
    folder: str
    variables: Mapping[str, str | None]
    files: Mapping[Path, str]
    threads: int

    @classmethod
    def here(cls) -> Sender:
        """This process."""
        variables = {name: os.environ.get(name) for name in ENVIRONMENT}
        return cls(versions(), os.getcwd(), variables, expected(), algebra_threads())

    def become(self) -> None:
        """Make this process, which computes for nobody else, like that one."""
        check_same(self.versions)
        for name, value in self.variables.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        # Where a node has no such folder, whatever is named from there is missing and says so.
        if os.path.isdir(self.folder):
            os.chdir(self.folder)
        expect(self.files)
        os.environ[THREADS] = str(self.threads)
        set_algebra_threads(self.threads)


@dataclass(frozen=True)
class Failure:
    """What a call raised, and where."""

    error: BaseException
    where: str


class RemoteError(Exception):
    """Where in a worker an error came from, shown above it."""

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.where = where

    def __str__(self) -> str:
        return f'\n"""\n{self.where}"""'


def packed(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    """A call as it travels."""
    return pickle.dumps((function, arguments))


def compute(sender: Sender, call: bytes) -> bytes:
    """Compute a call for another process. Errors of the call are part of what is returned, so that Ray repeats none of them."""
    try:
        # Nothing is unpacked before it is clear that both sides understand the same by it.
        sender.become()
        function, arguments = pickle.loads(call)
        return pickle.dumps(function(*arguments))
    except BaseException as error:  # noqa: BLE001 -- whatever it is, the sender raises it
        return _packed_failure(error)


def unpacked(answer: bytes) -> Any:
    """What came of a call; what it raised is raised here."""
    found = pickle.loads(answer)
    if isinstance(found, Failure):
        found.error.__cause__ = RemoteError(found.where)
        raise found.error
    return found


def _packed_failure(error: BaseException) -> bytes:
    where = traceback.format_exc()
    try:
        packed_error = pickle.dumps(Failure(error, where))
        pickle.loads(packed_error)
    except Exception:  # noqa: BLE001 -- a class may refuse in any way
        # Not every error can travel.
        return pickle.dumps(Failure(RuntimeError(f"{type(error).__name__}: {error}"), where))
    return packed_error
