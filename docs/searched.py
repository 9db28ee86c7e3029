"""The table of what `graphveil tune` searches, from the grids of the methods."""

from __future__ import annotations

from typing import Any

from graphveil.experiments.table import Table
from graphveil.methods import METHODS
from graphveil.methods.method import LABEL_GRID, LEVEL_GRID
from graphveil.number_format import exact_text


def searched_table() -> str:
    """Each setting with its values, and the methods that search it so."""
    found: dict[tuple[str, tuple[Any, ...]], list[str]] = {}
    for name in METHODS.own():
        method = METHODS.find(name)
        for key, values in method.grid.items():
            found.setdefault((key, values), []).append(name)
    for name in METHODS.own():
        for key, values in METHODS.find(name).links.grid.items():
            found.setdefault((key, values), []).append(f"{name} with private links")
    found |= {(key, values): ["all, with private labels"] for key, values in LABEL_GRID.items()}
    found |= {(key, values): ["where users choose levels"] for key, values in LEVEL_GRID.items()}
    rows = (
        (f"`{key}`", ", ".join(map(exact_text, values)), ", ".join(methods))
        for (key, values), methods in sorted(found.items(), key=lambda one: one[0][0])
    )
    return Table(("setting", "values", "methods"), rows).markdown()
