"""A mechanism in a separate process, which has seen nothing but what it is sent and has loaded nothing else.

The process builds the mechanism from where its code is (a file, a module, a pickle). It answers two requests:
to randomize rows with words of a seed, and to decode a message of reports. While it counts, charges and
randomizes it records what is printed and logged, and what else leaves it: files that are written,
connections, programs, the environment.
"""

from __future__ import annotations

import gc
import hashlib
import logging
import os
import pickle
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.sampling import SeededBits
from graphveil.mechanisms.base import Estimate, Mechanism
from graphveil.mechanisms.registry import is_own_class, load_entry
from graphveil.mechanisms.reports import Reports
from graphveil.plugins import PREFIX, load_file

# Seconds that a request may take.
LIMIT = 120.0
START = "from graphveil.mechanisms.separate import serve; serve()"
# How far what cannot be pickled is followed.
DEPTH = 3
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# What Python tells of (PEP 578) when something leaves a process other than by a file that is opened to write.
LEAVING = {
    "os.putenv": "changes the environment",
    "os.system": "starts a program",
    "os.exec": "starts a program",
    "os.fork": "starts a process",
    "os.posix_spawn": "starts a program",
    "subprocess.Popen": "starts a program",
    "socket.connect": "opens a connection",
    "socket.bind": "opens a connection",
    "socket.sendto": "opens a connection",
    "socket.getaddrinfo": "asks for the address of another machine",
    "os.rename": "renames a file",
    "os.remove": "removes a file",
    "os.mkdir": "makes a folder",
    "os.utime": "changes a file",
    "os.symlink": "makes a file",
    "os.link": "makes a file",
}


class SeparateError(Exception):
    """The mechanism could not be built in the other process, or what was asked of it failed there."""


@dataclass(frozen=True)
class SentReports:
    """The result of `randomize` in the other process, after `count` and `costs`.

    It holds the message or the error, what was printed meanwhile, and what left the process.
    """

    message: bytes | None
    error: str | None
    said: bytes
    left: tuple[str, ...]


@dataclass(frozen=True)
class Decoded:
    """An estimate as plain arrays."""

    shape: tuple[int, int]
    indices: NDArray[np.int64] | None
    values: NDArray[np.float64]
    offset: float

    @classmethod
    def of(cls, estimate: Estimate) -> Decoded:
        """Copy an estimate of any class."""
        indices = None if estimate.indices is None else np.array(estimate.indices, dtype=np.int64)
        rows, columns = estimate.shape
        return cls(
            (int(rows), int(columns)),
            indices,
            np.array(estimate.values, dtype=np.float64),
            float(estimate.offset),
        )


class Separate:
    """A mechanism in another process.

    ``builder`` makes the mechanism with ``settings``, or is the mechanism; ``files`` are run before.
    """

    def __init__(self, builder: Any, settings: dict[str, Any] | None, files: list[Path]) -> None:
        # A pickle within the message: what it names can be loaded once the files were run.
        sent = pickle.dumps((builder, settings))
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        environment["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-B", "-c", START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        try:
            self._ask([str(path) for path in files], sent)
        except BaseException:
            self.close()
            raise

    def randomize(self, rows: Any, seed: int) -> SentReports:
        """Return the reports of some rows."""
        sent = self._ask("randomize", rows, seed)
        assert isinstance(sent, SentReports)
        return sent

    def decode(self, message: bytes, blind: bool = False) -> Decoded:
        """Decode a message of reports; with ``blind``, one of the control."""
        decoded = self._ask("decode", message, blind)
        assert isinstance(decoded, Decoded)
        return decoded

    def left_behind(self, rows: Any, seed: int) -> dict[str, str] | None:
        """Return digests, by name, of what the mechanism, its classes and their modules hold after a call.

        The call is then undone. None where a process cannot be forked (`os.fork`), so that nothing can be
        undone.
        """
        kept = self._ask("leave", rows, seed)
        assert kept is None or isinstance(kept, dict)
        return kept

    def _ask(self, *request: Any) -> Any:
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None and answers is not None
        late = threading.Timer(LIMIT, self._process.kill)
        late.start()
        try:
            pickle.dump(request, requests)
            requests.flush()
            answer = pickle.load(answers)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise SeparateError("it ended, or took too long") from error
        finally:
            late.cancel()
        if isinstance(answer, str):
            raise SeparateError(answer)
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass
class Watch:
    """A record of what a process prints and logs, and of what else leaves it, while it is watched."""

    streams: BinaryIO
    left: list[str] = field(default_factory=list)
    watching: bool = False

    def heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Record an event that Python reports."""
        if not self.watching:
            return
        if event == "open":
            _, mode, flags = arguments
            if (
                (set(mode) & set("wax+"))
                if isinstance(mode, str)
                else isinstance(flags, int) and flags & WRITING
            ):
                self.left.append("opens a file to write")
        elif event in LEAVING:
            self.left.append(LEAVING[event])

    def slept(self, seconds: object) -> None:
        """Record a call of sleep, and return at once."""
        self.left.append("sleeps")

    @contextmanager
    def during(self) -> Iterator[None]:
        """Watch while the context is open."""
        self.streams.seek(0)
        self.streams.truncate()
        self.left.clear()
        self.watching = True
        try:
            yield
        finally:
            self.watching = False
            sys.stdout.flush()
            sys.stderr.flush()

    def said(self) -> bytes:
        """Return what was printed and logged since."""
        self.streams.seek(0)
        return self.streams.read()


def build_named(name: str, **settings: Any) -> Mechanism:
    """Build the mechanism registered under a name, also where the builder itself cannot be sent."""
    return load_entry(name).build(**settings)


def serve() -> None:
    """Run the other process until no more requests come."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    streams = tempfile.TemporaryFile()  # noqa: SIM115 -- open as long as the process
    for stream in (1, 2):
        os.dup2(streams.fileno(), stream)
    watch = Watch(streams)
    sys.addaudithook(watch.heard)
    time.sleep = watch.slept
    logging.basicConfig(level=1, format="%(message)s")
    # The package loads the name of the audit, and nothing of it is used here.
    for name in [name for name in sys.modules if name.startswith("graphveil.audit")]:
        del sys.modules[name]
    built: Any = None
    names: dict[str, set[str]] = {}
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        try:
            if built is None:
                built = _built(*request)
                names = {name: set(vars(module)) for name, module in list(sys.modules.items())}
                answer: Any = True
            elif request[0] == "decode":
                answer = _decoded(built.blind() if request[2] else built, request[1])
            elif request[0] == "leave":
                answer = _left_behind(built, names, *request[1:])
            else:
                answer = _sent(built, watch, *request[1:])
        except Exception as error:  # noqa: BLE001 -- told, not raised
            answer = f"{type(error).__name__}: {error}"
        pickle.dump(answer, answers)
        answers.flush()


def _built(files: list[str], builder: bytes) -> Any:
    for path in files:
        load_file(Path(path))
    build, settings = pickle.loads(builder)
    return build if settings is None else build(**settings)


def _decoded(built: Any, message: bytes) -> Decoded:
    return Decoded.of(built.estimate(Reports.from_bytes(message, built)))


def _sent(built: Any, watch: Watch, rows: Any, seed: int) -> SentReports:
    message = error = None
    with watch.during():
        try:
            for look in (built.count, built.costs):
                with suppress(Exception):  # whether they fail is judged elsewhere
                    look(rows)
            message = Reports.to_bytes(built.randomize(rows, SeededBits(seed)))
        except Exception as raised:  # noqa: BLE001 -- told, not raised
            error = type(raised).__name__
    return SentReports(message, error, watch.said(), tuple(dict.fromkeys(watch.left)))


def _left_behind(built: Any, names: dict[str, set[str]], rows: Any, seed: int) -> dict[str, str] | None:
    if not hasattr(os, "fork"):
        return None
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with os.fdopen(writing, "wb") as answer:
            # Python seeds its generator anew in every process.
            random.seed(0)
            try:
                built.randomize(rows, SeededBits(seed))
            finally:
                answer.write(pickle.dumps(dict(_kept(built, names))))
                answer.close()
                os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        kept = pickle.loads(answer.read())
    os.waitpid(child, 0)
    assert isinstance(kept, dict)
    return kept


def _kept(built: Any, names: dict[str, set[str]]) -> Iterator[tuple[str, str]]:
    """Return digests, by name, of all that a third-party mechanism can remember something in.

    That is the mechanism itself, its classes and their modules, names that other modules did not have
    (``names``) when it was built, and the generators of Python and numpy.
    """
    strange = [kind for kind in type(built).__mro__ if not is_own_class(kind)]
    own = {kind.__module__ for kind in strange} | {name for name in names if name.startswith(PREFIX)}
    places: dict[str, Mapping[str, Any]] = {"itself": vars(built)}
    places |= {f"the class {kind.__name__}": vars(kind) for kind in strange}
    for name, before in names.items():
        members = vars(sys.modules[name]) if name in sys.modules else {}
        places[f"the module {name}"] = {
            key: member for key, member in members.items() if name in own or key not in before
        }
    places["numpy.random"] = {"the state": np.random.get_state()}
    places["random"] = {"the state": random.getstate()}
    for where, held in places.items():
        for name, member in list(held.items()):
            for part, value in enumerate(_held(member)):
                yield f"{name} of {where}{f' ({part})' if part else ''}", _digest(value)


def _digest(value: Any) -> str:
    return hashlib.sha256(b"".join(_bytes(value, DEPTH))).hexdigest()


def _bytes(value: Any, depth: int) -> Iterator[bytes]:
    """Return an object as bytes; for one that cannot be pickled (a queue, a generator), what it refers to."""
    try:
        yield pickle.dumps(value)
    except Exception:  # noqa: BLE001 -- whatever keeps it from being pickled
        for part in gc.get_referents(value) if depth else ():
            if not isinstance(part, ModuleType | type | FunctionType):
                yield from _bytes(part, depth - 1)


def _held(member: Any) -> Iterator[Any]:
    """Return what a member holds: itself, or the state of a function besides its code."""
    function = getattr(member, "fget", None) or getattr(member, "__func__", None) or member
    if hasattr(function, "cache_info"):
        yield tuple(function.cache_info())
    elif isinstance(function, FunctionType):
        yield function.__dict__, function.__defaults__, function.__kwdefaults__
        for cell in function.__closure__ or ():
            with suppress(ValueError):  # nothing is in it yet
                yield cell.cell_contents
    elif not isinstance(member, ModuleType | type):
        yield member
