"""A mechanism from a user's own file: PATH.py:NAME."""

from __future__ import annotations

from collections.abc import Callable

from graphveil.errors import InputError
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.registry import registered_by
from graphveil.outside import divided, find_in, load_file


def load_mechanism(reference: str) -> Mechanism | str | Callable[..., Mechanism]:
    """What ``PATH.py:NAME`` refers to, ready for an audit.

    NAME is a name that the file registers, a function or class in it that builds a mechanism, or a mechanism.
    """
    path, name = divided(reference, "mechanism")
    file = load_file(path)
    registered = registered_by(file)
    if name in registered:
        return name
    member = find_in(file, name, registered, path, "function that builds a mechanism")
    if isinstance(member, Mechanism):
        return member
    if not callable(member):
        raise InputError(
            f"{name!r} in {path} is a {type(member).__name__}: name a function that builds a mechanism"
        )
    built: Callable[..., Mechanism] = member
    return built
