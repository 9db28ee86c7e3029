"""Tests on real graphs: skipped, with the reason, where the graph is not at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Users, undirected edges, features and classes of each graph, counted in its source.
COUNTS = {
    "cora": (2708, 5278, 1433, 7),
    "citeseer": (3327, 4552, 3703, 6),
    "pubmed": (19717, 44324, 500, 3),
    "facebook": (22470, 170823, 4714, 4),
    "wikipedia": (11631, 170773, 13183, 2),
    "twitch": (4648, 59382, 3170, 2),
    "lastfm-graph-only": (7624, 27806, 0, 18),
    "co-phy": (34493, 247962, 8415, 5),
    "co-cs": (18333, 81894, 6805, 15),
    "amazon-computers": (13752, 245861, 767, 10),
    "flickr-small": (7575, 239738, 12047, 9),
    "squirrel-filtered": (2223, 46998, 2089, 5),
    "tolokers": (11758, 519000, 10, 2),
}


def needs_data(name: str) -> pytest.MarkDecorator:
    """Skip a test unless GRAPHVEIL_DATA names a folder that holds this graph."""
    folder = os.environ.get("GRAPHVEIL_DATA", "")
    here = bool(folder) and (Path(folder).expanduser() / f"{name}.npz").is_file()
    return pytest.mark.skipif(not here, reason=f"set GRAPHVEIL_DATA to a folder that holds {name}.npz")


def each_real_graph() -> list[object]:
    """All real graphs as parameters of a test, each skipped where it is not at hand."""
    return [pytest.param(name, marks=needs_data(name)) for name in COUNTS]
