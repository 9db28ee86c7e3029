"""The package's own classes and builders, as they were when the package was imported.

An audit believes what they say of themselves. They are told by identity: a class of somebody else's may bear any name, and a
method that was replaced since is somebody else's too.
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType, NoneType
from typing import Any

import numpy as np

ROOMS = ("graphveil.channels.", "graphveil.mechanisms.")
PLAIN = (NoneType, bool, int, float, str, bytes, Fraction, range)
# Python writes these into a class when somebody reads or pickles it.
LATE = {"__annotations__", "__signature__", "__slotnames__"}

# Every class with its members and their code; the functions that build the registered mechanisms, with theirs.
_classes: dict[type, dict[str, tuple[Any, Any]]] = {}
_builders: dict[Any, Any] = {}
# What Python brings that they inherit from.
_bases: set[type] = {object}


def remember(builders: list[Any]) -> None:
    """Take down the package's classes and builders; called once, at the end of its import, before anybody else's code runs."""
    for name in [name for name in sys.modules if name.startswith(ROOMS)]:
        for kind in vars(sys.modules[name]).values():
            if isinstance(kind, type) and kind.__module__ == name:
                _classes[kind] = {key: (member, _code(member)) for key, member in vars(kind).items()}
    _bases.update(base for kind in _classes for base in kind.__mro__ if base not in _classes)
    _builders.update((build, _code(build)) for build in builders)


def _code(member: Any) -> Any:
    """What a function, a property or a method runs."""
    function = getattr(member, "fget", None) or getattr(member, "func", None) or member
    return getattr(getattr(function, "__func__", function), "__code__", None)


def is_own_builder(build: Any) -> bool:
    """Whether this is a function of the package that builds one of its mechanisms."""
    try:
        return build in _builders and _builders[build] is _code(build)
    except TypeError:  # it has no hash
        return False


def is_own_class(kind: type) -> bool:
    """Whether a class is the package's, with nothing of it replaced; so are those that it is made of."""
    return all(part in _bases or _unchanged(part) for part in kind.__mro__)


def is_own_member(owner: type, name: str) -> bool:
    """Whether the package has written what a class has under a name."""
    known = _classes.get(owner, {}).get(name)
    member = vars(owner).get(name)
    return known is not None and known[0] is member and known[1] is _code(member)


def _unchanged(kind: type) -> bool:
    known = _classes.get(kind)
    if known is None or vars(kind).keys() - known.keys() - LATE:
        return False
    return all(is_own_member(kind, name) for name in known.keys() - LATE)


def is_own(thing: Any, seen: set[int] | None = None) -> bool:
    """Whether a mechanism, and everything that it is made of, is of the package's own classes.

    >>> from graphveil.mechanisms import mechanism
    >>> is_own(mechanism("multibit", epsilon=1.0, dims=4, range=(0, 1)))
    True
    """
    seen = set() if seen is None else seen
    kind = type(thing)
    if kind in PLAIN or id(thing) in seen:
        return True
    seen.add(id(thing))
    if kind is np.ndarray or isinstance(thing, np.generic | np.dtype):
        return not thing.dtype.hasobject if kind is np.ndarray else True
    if kind in (dict, MappingProxyType):
        return all(is_own(part, seen) for pair in thing.items() for part in pair)
    if kind in (tuple, list, set, frozenset):
        return all(is_own(part, seen) for part in thing)
    if not is_own_class(kind):
        return False
    held = getattr(thing, "__dict__", {})
    parts = [*held.values(), *(thing if isinstance(thing, tuple) else ())]
    return not any(hides_member(thing, name) for name in held) and all(is_own(part, seen) for part in parts)


def hides_member(thing: Any, name: str) -> bool:
    """Whether an attribute of an object stands before a member of its class that is no field and no stored result."""
    if name not in getattr(thing, "__dict__", {}):
        return False
    member = inspect.getattr_static(type(thing), name, None)
    field = is_dataclass(thing) and name in {field.name for field in fields(thing)}
    return member is not None and not field and not isinstance(member, cached_property)
