"""Packages that load a module when one of its names is first used, so that a command can check its arguments before torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def load_later(
    package: str, names: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A package's ``__getattr__`` and ``__dir__`` (PEP 562), where ``names`` says what each of its modules holds.

    The modules are found by their own names too.

    >>> find, names = load_later("graphveil.channels", {"words": ("SeededWords",)})
    >>> find("SeededWords").__name__, names()
    ('SeededWords', ['SeededWords'])
    """
    places = {name: module for module, held in names.items() for name in held}

    def find(name: str) -> Any:
        if name in names:
            return import_module(f"{package}.{name}")
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{places[name]}"), name)

    return find, lambda: sorted(places)
