"""Ray, started here or found at an address: quietly, and ended with what it was started for."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray
import ray._private.worker as ray_worker

from graphveil.errors import EngineError
from graphveil.experiments.engine import AUTO, host_and_port, uninterrupted
from graphveil.scale.scratch import RAY, Scratch

# Within it somebody listens at an address, or nobody does.
LISTEN_SECONDS = 5.0
# A Ray that can be reached answers within a few seconds, even if the machine is busy.
REACH_SECONDS = 60.0
TRY = """
import logging, sys
import ray
try:
    ray.init(sys.argv[1], logging_level=logging.CRITICAL, log_to_driver=False)
except Exception as error:
    print(str(error).strip() or type(error).__name__)
    sys.exit(1)
"""
# What Ray calls it where a cluster asks for a token.
TOKEN = "AuthToken"


def check_reachable(address: str) -> None:
    """Refuse an address where no Ray is that this process could take part in."""
    place = host_and_port(address)
    try:
        if place is not None:
            socket.create_connection(place, timeout=LISTEN_SECONDS).close()
    except OSError as error:
        raise EngineError(not_reached(address, error.strerror or str(error))) from None
    command = [sys.executable, "-c", TRY, address]
    try:
        tried = subprocess.run(command, capture_output=True, text=True, check=False, timeout=REACH_SECONDS)
    except subprocess.TimeoutExpired:
        raise EngineError(not_reached(address, "something else answers there")) from None
    if TOKEN in tried.stderr:
        raise EngineError(
            f"the Ray at {address} asks for a token: set RAY_AUTH_MODE=token and give Ray the token of that cluster, as its guide to "
            "token authentication says"
        )
    if tried.returncode:
        lines = tried.stdout.strip().splitlines() or ["it ended without a word"]
        raise EngineError(not_reached(address, lines[0].rstrip(".:")))


def not_reached(address: str, why: str) -> str:
    """Return the message that no Ray can be reached, with how to start one."""
    place = "on this machine" if address == AUTO else f"at {address}"
    return (
        f"no Ray can be reached {place} ({why}): start one with `ray start --head`, join it on other machines with "
        "`ray start --address=HOST:PORT`, and name the address that the first one prints; or give --engine ray, which starts one here"
    )


# Results are small; what is larger goes to a file of Ray's.
STORE_BYTES = 128 << 20
# How often a call is repeated whose worker died, or was ended for want of memory.
RETRIES = 3
# Sockets of Ray lie in its folder, and their paths are at most 107 bytes, of which Ray takes 64.
LONGEST_FOLDER = 40
# Workers run with the priority of this process, as processes of its own would; Ray's have a lower one.
CONFIGURATION = {"task_oom_retries": RETRIES, "worker_niceness": 0}
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # Workers see the same devices as this process.
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}

# Variables that Ray sets in this process; of the first, all that begin so.
OWN_VARIABLES = ("RAY_", "PYTHONBREAKPOINT")

# How many ask that Ray stays until they are done, once it is started.
_keeping: list[None] = []
# What ends the Ray that was started or found here.
_ending: list[_Session] = []


@contextmanager
def kept_open() -> Iterator[None]:
    """Ray that is started meanwhile stays until the end of it."""
    _keeping.append(None)
    try:
        yield
    finally:
        _keeping.pop()
        _end_unless_kept()


@contextmanager
def connected(address: str | None, count: int | None) -> Iterator[int]:
    """Ray until the end, and how many calls it computes at a time: ``count``, or as many as it has processors.

    A Ray that this process has been connected to before is taken as it is, and left; unless another one is named.
    """
    if ray.is_initialized():
        _check_named(address)
    else:
        session = _Session(address)
        # Noted first: an interrupt may come while Ray starts.
        _ending.append(session)
        try:
            session.start(count)
        except BaseException:
            session.end()
            _ending.remove(session)
            raise
    _keeping.append(None)
    try:
        yield count or max(1, int(ray.cluster_resources().get("CPU", 1)))
    finally:
        _keeping.pop()
        _end_unless_kept()


def _check_named(address: str | None) -> None:
    """Refuse an address where this process has another Ray already; it cannot have two."""
    known = [session.address for session in _ending] or [ray.get_runtime_context().gcs_address]
    if address not in (None, AUTO, *known):
        raise EngineError(
            f"this process has another Ray already ({known[0] or 'one that was started for it'}): leave the address out, or end that "
            "one with ray.shutdown() before"
        )


def _end_unless_kept() -> None:
    if not _keeping:
        while _ending:
            _ending.pop().end()


class _Session:
    """One start of Ray, or one connection to it, and what this process was before."""

    def __init__(self, address: str | None) -> None:
        self.address = address
        self.scratch: Scratch | None = None
        self.printing = ray_worker._worker_logs_enabled
        self.terminating: Any = None
        self.variables = _own_variables()

    def start(self, count: int | None) -> None:
        """Start or find Ray; whatever it would print is left out."""
        if threading.current_thread() is threading.main_thread():
            self.terminating = signal.getsignal(signal.SIGTERM)
        ray_worker._worker_logs_enabled = False
        options: dict[str, Any] = {"logging_level": logging.CRITICAL, "log_to_driver": False}
        if self.address is not None:
            check_reachable(self.address)
        # What an interrupt left half started, nobody would end.
        with uninterrupted():
            os.environ.update(QUIET)
            if self.address is None:
                place = tempfile.gettempdir()
                self.scratch = Scratch(RAY, place if len(place) + 24 <= LONGEST_FOLDER else "/tmp")
                options |= {
                    "num_cpus": count or _processors(),
                    "include_dashboard": False,
                    "object_store_memory": STORE_BYTES,
                    "_temp_dir": str(self.scratch.folder),
                    "_system_config": CONFIGURATION,
                }
                try:
                    ray.init("local", **options)
                except Exception as error:  # noqa: BLE001 -- Ray raises what has no class of its own
                    raise EngineError(not_started(error)) from None
                return
            try:
                ray.init(self.address, **options)
            except (OSError, RuntimeError, ValueError) as error:
                # It was there a moment ago.
                raise EngineError(not_reached(self.address, str(error).partition("\n")[0])) from None

    def end(self) -> None:
        """End what was started, or leave what was found; this process is as before."""
        with uninterrupted():
            ray.shutdown()
            ray_worker._worker_logs_enabled = self.printing
            if self.terminating is not None:
                signal.signal(signal.SIGTERM, self.terminating)
            for name in _own_variables().keys() | self.variables.keys():
                set_variable(name, self.variables.get(name))
            if self.scratch is not None:
                self.scratch.remove()


def not_started(error: Exception) -> str:
    """Return the message that Ray did not start on this machine, with what to do."""
    why = str(error).strip().partition("\n")[0].partition(". ")[0].rstrip(".") or type(error).__name__
    return (
        f"Ray did not start on this machine ({why}): it may be too busy, or short of memory or of room in {tempfile.gettempdir()}; give the same "
        "command again later, or leave --engine out, and --jobs computes in processes of this machine"
    )


def _processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _own_variables() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(OWN_VARIABLES)}


def set_variable(name: str, value: str | None) -> None:
    """Set a variable of the environment; None removes it."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value
