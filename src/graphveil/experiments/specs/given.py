"""Data as Python gives them: a name, a graph with its users, or PyG's Data."""

from __future__ import annotations

from typing import Any

from graphveil.errors import InputError
from graphveil.graphs.convert import from_pyg
from graphveil.graphs.graph import Graph
from graphveil.graphs.users import Users

# The two sides of a graph that is given as an object.
Given = tuple[Graph, Users]
# What `from_pyg` takes besides the data, as options of a call that takes Data.
PYG_OPTIONS = ("range", "binary", "split", "label", "metric", "ids", "name")


def take_data(
    data: Any, users: Users | None, options: dict[str, Any]
) -> tuple[str, Given | None, dict[str, Any]]:
    """The name of what is given, its two sides where it is no name, and the options that are left for a spec.

    PyG's Data goes through `from_pyg`, with ``range``, ``binary``, ``split``, ``label``, ``metric``, ``ids`` and ``name`` of the options.
    With the name of a dataset these are options of its loader, so that ``range=(0, 1)`` means the same in both.
    """
    if isinstance(data, Graph):
        if users is None:
            raise InputError("give a graph together with its users, or the name of a dataset alone")
        _refuse(options, "a graph that is divided already: give it to from_pyg or from_arrays")
        return data.name, (data, users), options
    if users is not None:
        raise InputError("give a graph together with its users, or the name of a dataset alone")
    left = {key: value for key, value in options.items() if key not in PYG_OPTIONS}
    own = {key: value for key, value in options.items() if key in PYG_OPTIONS}
    if isinstance(data, str):
        return data, None, left | ({"data_options": {**left.get("data_options", {}), **own}} if own else {})
    if not hasattr(data, "edge_index"):
        raise InputError(
            f"data must be the name of a dataset, a path, a graph with its users, or PyG's Data, got {type(data).__name__}"
        )
    given = from_pyg(data, seed=int(options.get("seed", 0)), **own)
    return given[0].name, given, left


def _refuse(options: dict[str, Any], what: str) -> None:
    for name in PYG_OPTIONS:
        if name in options:
            raise InputError(f"{name} has no meaning for {what}")
