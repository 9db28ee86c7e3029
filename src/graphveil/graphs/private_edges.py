"""Which links are private where the others are public: a random share of them, or those of a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.checks import check_number
from graphveil.errors import InputError
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
    """Let some links of a graph be private: a share of them, drawn by seed, or those that a file lists.

    Whoever has a private link is known to have some, and so is whoever a file names besides: a line of a file has the numbers of two
    users, or of one. All users are, where the share is 1. A pair of a file need not be linked.
    """
    file, pairs = private_edges_file(given), graph.pairs()
    if file is not None:
        listed = _listed(file, graph.node_count)
        ends = np.sort(listed[listed[:, 1] >= 0], axis=1)
        private = np.isin(pair_codes(pairs, graph.node_count), pair_codes(ends, graph.node_count))
        return DividedEdges(pairs[~private], np.unique(listed[listed >= 0]))
    if float(given) == 1:
        return DividedEdges(pairs[:0], np.arange(graph.node_count))
    count = round(float(given) * len(pairs))
    if not count:
        raise InputError(
            f"private_edges must be at least {1 / max(len(pairs), 1):.2g} here, got {given:g}: of {len(pairs)} links that is none"
        )
    drawn = np.random.default_rng([check_seed(seed), 9]).permutation(len(pairs))[:count]
    private = np.isin(np.arange(len(pairs)), drawn)
    return DividedEdges(pairs[~private], np.unique(pairs[private]))


def _listed(file: Path, users: int) -> Pairs:
    """Two numbers of users a line, or one (the second is then -1)."""
    rows = []
    try:
        lines = file.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{file} cannot be read: give a text file of pairs of users") from None
    for place, line in enumerate(lines, start=1):
        words = line.replace(",", " ").split()
        if not words or words[0].startswith("#"):
            continue
        numbers = [int(word) if word.isdecimal() else users for word in words]
        if len(numbers) > 2 or max(numbers) >= users or numbers[0] == numbers[-1] and len(numbers) == 2:
            raise InputError(
                f"{file}, line {place}: two different numbers of users from 0 to {users - 1} are expected, or one, got {line.strip()[:40]!r}"
            )
        rows.append([*numbers, -1][:2])
    if not rows:
        raise InputError(f"{file} names nobody: give at least one pair of users")
    return np.array(rows, dtype=np.int64)
