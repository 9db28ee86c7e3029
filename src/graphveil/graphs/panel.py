"""The panel: volunteers, users who give the server their raw rows of features by consent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.checks import check_whole
from graphveil.errors import InputError
from graphveil.graphs.graph import Graph, Mask
from graphveil.graphs.splits import check_seed
from graphveil.graphs.users import Users

# The stream of a run's seed by which volunteers are drawn.
STREAM = 10


@dataclass(frozen=True, eq=False, repr=False)
class Panel:
    """Who volunteered, in the order of users' numbers, and the raw rows of these users alone: CSR or a dense array.

    Rows are as users hold them, clipped to nothing. Volunteers give neither their labels nor their privacy levels by this.
    """

    users: NDArray[np.int64]
    rows: Any

    def __post_init__(self) -> None:
        if self.rows.shape[0] != len(self.users):
            raise InputError(
                f"a panel must have one row for each of {len(self.users)} volunteers, got {self.rows.shape[0]}"
            )
        if (np.diff(self.users) <= 0).any():
            raise InputError("volunteers must be sorted by their numbers, each once")
        sparse = hasattr(self.rows, "tocsr")
        own = (self.rows.data, self.rows.indices, self.rows.indptr) if sparse else (self.rows,)
        for array in (self.users, *own):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.users)

    def __repr__(self) -> str:
        return f"Panel({len(self)} volunteers, {self.rows.shape[1]} features)"


def panel_of(features: Any, who: Mask) -> Panel | None:
    """The panel of those who are marked, a truth a user; None where nobody is. Nothing of anybody else is kept."""
    chosen = np.flatnonzero(who).astype(np.int64)
    # Selected by numbers, rows are copied: what others hold cannot be reached from them.
    return Panel(chosen, features[chosen]) if chosen.size else None


def with_panel(graph: Graph, users: Users, count: int, seed: int) -> Graph:
    """The graph with so many volunteers, drawn from its training users by seed; fewer of them are among more of them.

    Rows change hands here, on the side of whoever runs the experiment.

    >>> from graphveil.graphs.load import load
    >>> with_panel(*load("town", users=400), count=5, seed=0).panel
    Panel(5 volunteers, 64 features)
    """
    train = np.flatnonzero(graph.train)
    check_whole(count, "--panel", least=1)
    if users.raw.features is None:
        raise InputError(
            f"{graph.name} has no features, so volunteers have nothing to give: leave --panel out"
        )
    if graph.panel is not None:
        raise InputError(
            f"{graph.name} comes with {len(graph.panel)} volunteers of its own, and others cannot be drawn besides: leave --panel out"
        )
    if count > len(train):
        raise InputError(
            f"--panel must be at most {len(train)}, as volunteers are drawn from the training users, got {count}"
        )
    refuse_levels(users)
    drawn = np.random.default_rng([check_seed(seed), STREAM]).permutation(train)[:count]
    who = np.zeros(graph.node_count, dtype=bool)
    who[drawn] = True
    return replace(graph, panel=panel_of(users.raw.features, who))


def refuse_levels(users: Users) -> None:
    """Refuse volunteers among users who chose privacy levels: a row may tell the level, which nobody has made public."""
    if users.have_levels:
        raise InputError(
            "these users chose privacy levels, and volunteers give their row, not their level: leave out the panel, or the levels"
        )
