"""Turnout: who answers when users are asked, drawn for a simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.graphs.splits import check_seed

# Who is silent more often than others: nobody, users with many links, or users of the later classes.
SILENCES = ("random", "degree", "class")


def draw_answering(
    users: int, participation: float, seed: int, by: NDArray[Any] | None = None
) -> NDArray[np.bool_]:
    """Who of so many users answers: each with the same chance, or with one that falls with a number of the own.

    With ``by`` the chance falls along the users in the order of these numbers, from P + δ to P - δ, δ = min(P, 1 - P); users with
    the same number have the same chance, and the mean chance is P.

    >>> draw_answering(4, 1.0, 0).tolist()
    [True, True, True, True]
    """
    random = np.random.default_rng([check_seed(seed), 7])
    drawn = random.random(users)
    if by is None:
        return drawn < participation
    spread = min(participation, 1 - participation)
    return drawn < participation + spread * (1 - 2 * _middle_ranks(by))


def _middle_ranks(numbers: NDArray[Any]) -> NDArray[np.float64]:
    """Where each number stands among all, from 0 to 1; equal ones share the middle of their places."""
    _, group, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    middles = np.cumsum(counts) - counts / 2
    return np.asarray(middles[group] / max(len(numbers), 1))
