"""Whether a Ray can be reached: tried in a process of its own, since Ray waits for minutes and writes to the terminal meanwhile."""

from __future__ import annotations

import socket
import subprocess
import sys

from graphveil.engine.address import AUTO, host_and_port
from graphveil.errors import EngineError

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
    """Why there is no Ray, and how to get one."""
    place = "on this machine" if address == AUTO else f"at {address}"
    return (
        f"no Ray can be reached {place} ({why}): start one with `ray start --head`, join it on other machines with "
        "`ray start --address=HOST:PORT`, and name the address that the first one prints; or give --engine ray, which starts one here"
    )
