"""Addresses of a running Ray, as they are written behind ray://."""

from __future__ import annotations

import re

from graphveil.errors import InputError

# The Ray that runs on this machine already, whatever its address is.
AUTO = "auto"
# A host's name or address (in brackets, where it has colons itself) and a port.
ADDRESS = re.compile(r"(?P<host>[^\s:/\[\]]+|\[[0-9a-fA-F:.]+\]):(?P<port>\d{1,5})")
MOST_PORT = (1 << 16) - 1


def check_address(address: str) -> None:
    """Refuse what is no address of Ray; whether somebody is there is seen later."""
    found = ADDRESS.fullmatch(address)
    if address != AUTO and (found is None or not 1 <= int(found["port"]) <= MOST_PORT):
        raise InputError(
            f"ray://{address} is no address: give ray://HOST:PORT as `ray start --head` prints it, for example "
            f"ray://127.0.0.1:6379, or ray://{AUTO} for the Ray that runs on this machine"
        )


def host_and_port(address: str) -> tuple[str, int] | None:
    """Where to knock; None where Ray looks for itself.

    >>> host_and_port("[::1]:6379"), host_and_port("auto")
    (('::1', 6379), None)
    """
    found = ADDRESS.fullmatch(address)
    return None if found is None else (found["host"].strip("[]"), int(found["port"]))
