"""Graphs from outside: a function in a file (FILE.py:NAME) or in an installed package that gives a graph and its users."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from graphveil.errors import GraphveilError, InputError
from graphveil.graphs.divide import resplit
from graphveil.graphs.graph import Graph
from graphveil.graphs.users import Users
from graphveil.plugins import Origin, Registry, is_reference, plugins

GROUP = "graphveil.datasets"
Loader = Callable[..., tuple[Graph, Users]]


def _loader(name: str, member: Any) -> Loader:
    if not callable(member):
        raise InputError(
            f"{name} is a {type(member).__name__}: name a function that returns a graph and its users, as gv.from_arrays does"
        )
    return member  # type: ignore[no-any-return]


LOADERS = Registry[Loader]("dataset", group=GROUP, adapt=_loader)


def is_outside(source: str) -> bool:
    """Whether a name that no file of the data folder has is one of a function: in a file or in an installed package."""
    return is_reference(source) or source in LOADERS or source in plugins(GROUP)


def load_outside(source: str, seed: int, options: dict[str, Any]) -> tuple[Graph, Users]:
    """Call the function with the options that it takes by name; where it takes no ``seed``, the split is drawn again here."""
    load = LOADERS.load(source)
    accepted = inspect.signature(load).parameters
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in accepted.values())
    for key in options:
        if key not in accepted and not open_ended:
            raise InputError(f"{source} takes no {key}: it takes {', '.join(accepted) or 'no options'}")
    seeded = {"seed": seed} if "seed" in accepted else {}
    try:
        loaded = load(**options, **seeded)
    except GraphveilError:
        raise
    except Exception as error:
        raise InputError(f"{source} cannot be loaded: {type(error).__name__}: {error}") from error
    if not (isinstance(loaded, tuple) and [type(part) for part in loaded] == [Graph, Users]):
        raise InputError(
            f"{source} must return a graph and its users, as gv.from_arrays does, it returned {type(loaded).__name__}"
        )
    graph, users = loaded
    return (graph, users) if seeded else resplit(graph, users, seed)


def data_origin(name: str) -> Origin | None:
    """Where the function of a graph comes from; None for the library's own graphs and for files of data."""
    return LOADERS.origin(name)
