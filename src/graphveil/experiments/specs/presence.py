"""Whether a graph is on this machine, and what to do where it is not."""

from __future__ import annotations

from pathlib import Path

from graphveil.graphs.load import TOWNS
from graphveil.graphs.store import find
from graphveil.outside import is_reference


def not_here(data: str) -> str:
    """What to do about a graph that is not on this machine; empty where it is."""
    if data in TOWNS or find(data) is not None or Path(data).is_file() or is_reference(data):
        return ""
    return f"{data} is not here: `graphveil data get {data}`, or put {data}.npz into the folder that GRAPHVEIL_DATA names"
