"""Volunteers: users who give the server their raw rows by consent, drawn or named by a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphveil.checks import check_array, check_whole
from graphveil.errors import InputError
from graphveil.graphs.splits import check_seed

if TYPE_CHECKING:
    from graphveil.graphs.graph import Graph
    from graphveil.graphs.users import Users

# The stream of a run's seed by which volunteers are drawn.
STREAM = 10


@dataclass(frozen=True, eq=False, repr=False)
class Panel:
    """The users who volunteered, sorted by number, and the raw rows of these users alone: CSR or a dense array.

    Rows are as users hold them, clipped to nothing. Volunteers give neither their labels nor their privacy levels by this.
    """

    users: NDArray[np.int64]
    rows: Any

    def __post_init__(self) -> None:
        if self.rows.shape[0] != len(self.users):
            count = len(self.users)
            raise InputError(f"a panel must have {count} rows, one a volunteer, got {self.rows.shape[0]}")
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

    @classmethod
    def of(cls, name: str, features: Any, who: Any, count: int) -> Panel | None:
        """Return the panel of the users who are marked; None where nobody is. Nothing of anybody else is kept.

        Rows change hands here, on the experimenter's side.

        Parameters
        ----------
        name
            The name of the graph, for errors.
        features
            (users, features), dense or sparse; None where users hold none.
        who
            (users,) bool.
        count
            The number of users.
        """
        marked = check_array(who, "panel", f"{count} truths, one a user", "b", (count,))
        chosen = np.flatnonzero(marked).astype(np.int64)
        if not chosen.size:
            return None
        if features is None:
            raise InputError(f"{name} has no features that volunteers could give: leave --panel out")
        # Selected by numbers, rows are copied: what others hold cannot be reached from them.
        return cls(chosen, features[chosen])

    def check(self, graph: Graph) -> None:
        """Refuse volunteers whom a graph does not have, and rows of other features."""
        if len(self) and not 0 <= int(self.users[0]) <= int(self.users[-1]) < graph.node_count:
            raise InputError(f"volunteers must be users 0..{graph.node_count - 1}")
        features, got = graph.feature_count, self.rows.shape[1]
        if got != features:
            raise InputError(f"rows of volunteers must have the {features} features of the graph, got {got}")


def with_panel(graph: Graph, users: Users, count: int, seed: int) -> Graph:
    """Return the graph with volunteers, drawn from its training users.

    Parameters
    ----------
    count
        The number of volunteers. With the same seed, a smaller panel is part of a larger one.
    seed
        The seed of the draw.

    >>> from graphveil.graphs.load import load
    >>> with_panel(*load("town", users=400), count=5, seed=0).panel
    Panel(5 volunteers, 64 features)
    """
    train = np.flatnonzero(graph.train)
    check_whole(count, "--panel", least=1)
    check_whole(count, "--panel", most=len(train), why="the number of training users")
    if graph.panel is not None:
        raise InputError(f"{graph.name} has {len(graph.panel)} volunteers of its own: leave --panel out")
    refuse_levels(users)
    drawn = np.random.default_rng([check_seed(seed), STREAM]).permutation(train)[:count]
    who = np.zeros(graph.node_count, dtype=bool)
    who[drawn] = True
    return replace(graph, panel=Panel.of(graph.name, users.raw.features, who, graph.node_count))


def refuse_levels(users: Users) -> None:
    """Refuse volunteers among users who chose privacy levels: a row may tell the level, which nobody has made public."""
    if users.have_levels:
        raise InputError("a row may tell a user's privacy level: leave out the panel, or the levels")
