"""Links that are planted by coins, and what is published of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphveil.attacks.game import Numbers, Reporting
from graphveil.graphs.graph import pair_codes, symmetric_csr
from graphveil.mechanisms import LinkMechanism, NeighbourLists, Reports
from graphveil.mechanisms.edgerr import EdgeRR


@dataclass(frozen=True)
class Planted:
    """Pairs of users (smaller number first) that are linked where a coin says so, among all other links, ``around``."""

    pairs: Numbers
    bits: NDArray[np.bool_]
    around: Numbers
    lists: NeighbourLists

    @classmethod
    def of(cls, target: Reporting, pairs: Numbers, dice: np.random.Generator) -> Planted:
        """The links of a graph, with coins in the place of some pairs."""
        bits, size = dice.random(len(pairs)) < 0.5, target.graph.node_count
        around = without(target.graph.pairs(), pairs, size)
        indptr, neighbours = symmetric_csr(np.concatenate([around, pairs[bits]]), size)
        return cls(pairs, bits, around, NeighbourLists(np.arange(size), indptr, neighbours))


class PublishedLinks:
    """What everybody named, read as the mechanism that is attacked sends it."""

    def __init__(self, mechanism: LinkMechanism, reports: Reports) -> None:
        self.size = mechanism.size
        pointers, named = mechanism.neighbours(reports)
        owners = np.repeat(np.arange(self.size), np.diff(pointers))
        self._codes = owners * self.size + named.astype(np.int64)
        self.degrees = mechanism.degrees(reports)

    @property
    def count(self) -> int:
        """How many are named in all."""
        return len(self._codes)

    def says(self, owners: Numbers, others: Numbers) -> NDArray[np.bool_]:
        """Whether each of some users named another."""
        return np.isin(owners * self.size + others, self._codes)

    def names(self, pairs: Numbers) -> NDArray[np.bool_]:
        """Whether either end of each pair (smaller number first) named the other."""
        return self.says(pairs[:, 1], pairs[:, 0]) | self.says(pairs[:, 0], pairs[:, 1])


def paired_off(mechanism: LinkMechanism, dice: np.random.Generator) -> Numbers:
    """Users in pairs at random, smaller number first, each in one at most; pairs whose links are public are left out."""
    users = np.arange(mechanism.size)
    if isinstance(mechanism, EdgeRR):
        users = np.flatnonzero(mechanism.private)
    shuffled = dice.permutation(users)
    pairs = np.sort(shuffled[: len(shuffled) // 2 * 2].reshape(-1, 2), axis=1)
    return private_pairs(mechanism, pairs)


def private_pairs(mechanism: LinkMechanism, pairs: Numbers) -> Numbers:
    """Those of some pairs whose links are private."""
    if not isinstance(mechanism, EdgeRR):
        return pairs
    both = mechanism.private[pairs].all(axis=1)
    return without(pairs[both], np.sort(mechanism.public, axis=1), mechanism.size)


def without(pairs: Numbers, others: Numbers, size: int) -> Numbers:
    """Those of some pairs that are not among others."""
    return pairs[~np.isin(pair_codes(pairs, size), pair_codes(others, size))]
