"""What somebody names for an audit: a mechanism in a file of their own (PATH.py:NAME), or a plan in a JSON file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from graphveil.errors import InputError
from graphveil.files import read_text
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.registry import load_entry, registered_by
from graphveil.outside import divided, find_in, load_file
from graphveil.privacy.plan import Plan


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


def read_plan(path: Path, name: str | None = None) -> Plan:
    """Return the plan in a JSON file, as `Plan.to_json` writes it; where the ``name`` of its mechanism is given, that is loaded first."""
    if name is not None:
        load_entry(name)
    text = read_text(path, "give a plan in a JSON file")
    try:
        plan = Plan.from_json(text)
    except InputError as error:
        raise InputError(f"{path}: {error.as_written}") from None
    if name is not None and plan.mechanism not in (name, name.rpartition(":")[2]):
        raise InputError(f"the plan asks by {plan.mechanism}, not by {name}: name its own mechanism, or none")
    return plan
