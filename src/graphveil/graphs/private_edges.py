"""Which links are private where the others are public: those between users who are drawn, or those of a file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.checks import check_number
from graphveil.errors import InputError
from graphveil.files import read_text
from graphveil.graphs.graph import Graph, pair_codes
from graphveil.graphs.splits import check_seed

Pairs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DividedEdges:
    """The links of a graph that stay public (m x 2), and the numbers of those who may have private ones: both are public."""

    public: Pairs
    private_users: NDArray[np.int64]


def private_edges_file(given: Any) -> Path | None:
    """The file that says which links are private; None where a share of them is. Anything else is refused."""
    if isinstance(given, str):
        if Path(given).is_file():
            return Path(given)
        raise InputError(
            f"private_edges must be a share of all links or a file of pairs of users, and {given!r} is no file: name one that is there"
        )
    check_number(given, "private_edges", above=0, most=1)
    return None


def divide_edges(graph: Graph, given: Any, seed: int) -> DividedEdges:
    """Let some links of a graph be private: about a share of them, or those that a file lists.

    For a share ρ so many users are drawn by seed, whatever their links, that about ρ of all pairs lie between two of them, and so do about
    ρ of all links: these are private. Ends of links that were drawn themselves would tell who has a private link. A line of a file has
    the numbers of two users, whose link is private if there is one, or of one who may have private links. Who is named there is public.
    """
    file, pairs = private_edges_file(given), graph.pairs()
    if file is not None:
        listed = _listed(file, graph.node_count)
        ends = np.sort(listed[listed[:, 1] >= 0], axis=1)
        private = np.isin(pair_codes(pairs, graph.node_count), pair_codes(ends, graph.node_count))
        return DividedEdges(pairs[~private], np.unique(listed[listed >= 0]))
    nodes = graph.node_count
    # k of n users have k(k-1)/2 of n(n-1)/2 pairs.
    count = round((1 + math.sqrt(1 + 4 * float(given) * nodes * (nodes - 1))) / 2)
    drawn = np.sort(np.random.default_rng([check_seed(seed), 9]).permutation(nodes)[:count])
    private = np.asarray(np.isin(pairs, drawn).all(axis=1))
    return DividedEdges(pairs[~private], drawn)


def _listed(file: Path, users: int) -> Pairs:
    """Two numbers of users a line, or one (the second is then -1)."""
    rows = []
    lines = read_text(file, "give a text file of pairs of users").splitlines()
    for place, line in enumerate(lines, start=1):
        words = line.partition("#")[0].replace(",", " ").split()
        if not words:
            continue
        # A longer number is no user's.
        numbers = [
            int(word) if word.isascii() and word.isdecimal() and len(word) < 20 else users for word in words
        ]
        if len(numbers) > 2 or max(numbers) >= users or numbers[0] == numbers[-1] and len(numbers) == 2:
            raise InputError(
                f"{file}, line {place}: two different numbers of users from 0 to {users - 1} are expected, or one, got {line.strip()[:40]!r}"
            )
        rows.append([*numbers, -1][:2])
    if not rows:
        raise InputError(f"{file} names nobody: give at least one pair of users")
    return np.array(rows, dtype=np.int64)
