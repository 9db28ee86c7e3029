"""What the server makes of reported links: which pairs, how plausible they are, and what they take in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.sparse import coo_array

from graphveil.errors import InputError, MessageError
from graphveil.graphs.graph import Graph
from graphveil.mechanisms import LinkMechanism, Reports
from graphveil.settings import available_gigabytes

# What a pair takes at most while its weight is learned: 150 to 200 bytes, measured on facebook with 3 and 8 million pairs.
BYTES_A_PAIR = 200
# Users whose common neighbours are counted together, and steps that counting may take.
BLOCK_USERS, MOST_STEPS = 256, 300_000_000
# Reports that make a group of their own, and standard deviations of its density that noise explains.
RARE, DEVIATIONS = 30, 3.0


@dataclass(frozen=True, eq=False)
class ReportedLinks:
    """The pairs that were reported (m x 2, the larger number first), and what is known in public about the others.

    ``users`` is how many there are, ``flip`` the probability q that an answer about a pair is wrong. ``silent`` users have not
    answered for their pairs: about these nothing is known.
    """

    users: int
    flip: float
    pairs: NDArray[np.int32]
    silent: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, reports: Reports) -> ReportedLinks:
        """From the reports of all users, in their order; some may not have answered."""
        mechanism = reports.mechanism
        if not isinstance(mechanism, LinkMechanism):
            raise InputError(f"links are read from reports of links, these are of {mechanism.subject}")
        if reports.asked != mechanism.size:
            raise InputError(
                f"a graph takes the reports of all {mechanism.size} users, these are {reports.asked}"
            )
        users = np.repeat(reports.places.astype(np.int32), reports.lengths)
        others = reports.codes.astype(np.int32)
        if (others >= users).any():
            raise MessageError(
                "a user has answered for a pair that is not theirs: only links to smaller numbers are reported"
            )
        silent = None if reports.answered is None else ~reports.answered
        return cls(reports.asked, mechanism.flip, np.stack([users, others], axis=1), silent)

    @property
    def pair_count(self) -> int:
        """How many pairs of users have been answered for."""
        unknown = 0 if self.silent is None else int(np.flatnonzero(self.silent).sum())
        return count_pairs(self.users) - unknown

    @property
    def density(self) -> float:
        """Which share of all pairs is linked, from the number of reported ones; a share below 0 counts as 0."""
        return float(density(np.array(len(self.pairs)), np.array(self.pair_count), self.flip))

    @property
    def plausibility(self) -> float:
        """The probability that a reported pair is linked, by Bayes from the density."""
        return float(plausibility(np.array(self.density), self.flip))

    def plausibilities(self, most_steps: int = MOST_STEPS) -> NDArray[np.float64]:
        """The probability that each of m reported pairs is linked, given how many reported neighbours the two have in common.

        Their own answer is not part of that number. So among all pairs with c common neighbours, reported or not, the
        share that is reported is q + (1-2q)·(the share that is linked), which gives the density of links there, and
        Bayes the rest. A count that is rare is joined with the next smaller ones, a density that is within three standard
        deviations of that of all pairs counts as the same, and more common neighbours never make a link less plausible.
        Where counting takes more than ``most_steps`` steps, common neighbours are too many to say much, and all pairs
        are alike.
        """
        degrees = np.bincount(self.pairs.ravel(), minlength=self.users)
        if int((degrees.astype(np.int64) ** 2).sum()) > most_steps or not len(self.pairs):
            return np.full(len(self.pairs), self.plausibility)
        common, totals = self._common_neighbours()
        reported = np.bincount(common, minlength=len(totals))
        groups = _joined(reported, RARE)
        by_group = _rising_density(
            np.bincount(groups, weights=reported), np.bincount(groups, weights=totals), self.flip
        )
        return plausibility(by_group, self.flip)[groups[common]]

    def _common_neighbours(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many reported neighbours each reported pair has in common, and how many of all pairs have so many."""
        larger, smaller = self.pairs.T
        both = np.concatenate([larger, smaller]), np.concatenate([smaller, larger])
        links = coo_array((np.ones(len(both[0]), dtype=np.int32), both), shape=(self.users,) * 2).tocsr()
        common = np.zeros(len(self.pairs), dtype=np.int64)
        totals = np.zeros(1, dtype=np.int64)
        ends = np.searchsorted(larger, np.arange(0, self.users + BLOCK_USERS, BLOCK_USERS))
        for block, first in enumerate(range(0, self.users, BLOCK_USERS)):
            paths = (links[first : first + BLOCK_USERS] @ links).tocoo()
            known = paths.col < paths.row + first
            if self.silent is not None:
                known &= ~self.silent[paths.row + first]
            counts = np.bincount(paths.data[known])
            totals = np.pad(totals, (0, max(len(counts) - len(totals), 0)))
            totals[: len(counts)] += counts
            here = slice(int(ends[block]), int(ends[block + 1]))
            common[here] = paths.tocsr()[larger[here] - first, smaller[here]]
        totals[0] = self.pair_count - totals[1:].sum()
        return common, totals


def density(reported: NDArray[Any], pairs: NDArray[Any], flip: float) -> NDArray[np.float64]:
    """Which share of some pairs is linked, from how many of them are reported: (share - q)/(1 - 2q), within 0 and 1.

    ``reported`` and ``pairs`` count groups of pairs, in arrays of one shape, which the result has too; ``flip`` is q.
    """
    return np.clip(_unbiased_density(reported, pairs, flip), 0.0, 1.0)


def _unbiased_density(reported: NDArray[Any], pairs: NDArray[Any], flip: float) -> NDArray[np.float64]:
    share: NDArray[np.float64] = (reported / np.maximum(pairs, 1) - flip) / (1 - 2 * flip)
    return share


def _rising_density(reported: NDArray[Any], pairs: NDArray[Any], flip: float) -> NDArray[np.float64]:
    """The density of some groups of pairs, which rises from group to group, without differences that noise explains."""
    overall = _unbiased_density(reported.sum(), pairs.sum(), flip)
    apart = _unbiased_density(reported, pairs, flip) - overall
    noise = flip * (1 - flip) / np.maximum(pairs, 1) / (1 - 2 * flip) ** 2
    sure = np.maximum(1 - DEVIATIONS**2 * noise / np.maximum(apart**2, 1e-300), 0.0)
    rising: NDArray[np.float64] = isotonic_regression(overall + sure * apart, weights=np.maximum(pairs, 1)).x
    return np.clip(rising, 0.0, 1.0)


def plausibility(share: NDArray[Any], flip: float) -> NDArray[np.float64]:
    """The probability that a reported pair is linked where this share of pairs is: ρ(1-q)/(ρ(1-q) + (1-ρ)q)."""
    true: NDArray[np.float64] = share * (1 - flip)
    return true / (true + (1 - share) * flip)


def _joined(counts: NDArray[np.int64], least: int) -> NDArray[np.int64]:
    """A group for each place, in order, such that every group but the first counts at least so many."""
    groups = np.zeros(len(counts), dtype=np.int64)
    held = 0
    for place in range(len(counts) - 1, -1, -1):
        held += int(counts[place])
        groups[place] = 0
        if held >= least and place:
            groups[place], held = 1, 0
    return np.cumsum(groups)


def reported_graph(graph: Graph, links: ReportedLinks, kept: NDArray[np.bool_] | None = None) -> Graph:
    """The graph with the reported pairs, or with those that are kept, for its edges."""
    return graph.with_edges(links.pairs if kept is None else links.pairs[kept])


def count_pairs(users: int) -> int:
    """How many pairs of users there are."""
    return users * (users - 1) // 2


def expected_pairs(users: int, flip: float) -> float:
    """How many pairs are reported by mistake: all that can be known before anybody has answered."""
    return count_pairs(users) * flip


def candidate_gigabytes(users: int, flip: float) -> float:
    """What the expected list of pairs takes while their weights are learned."""
    return expected_pairs(users, flip) * BYTES_A_PAIR / 1e9


def dense_gigabytes(users: int) -> float:
    """What a dense matrix of users x users takes."""
    return users * users * 4 / 1e9


def refuse_too_many(mechanism: LinkMechanism, max_memory: float | None) -> None:
    """Refuse links whose noise alone would not fit into memory; from public numbers, before anything is drawn."""
    needed = candidate_gigabytes(mechanism.size, mechanism.flip)
    allowed = available_gigabytes() if max_memory is None else max_memory
    if needed <= allowed:
        return
    limit = "that this machine has left" if max_memory is None else "that --max-memory allows"
    raise InputError(
        f"{mechanism.name} at epsilon {mechanism.claim.epsilon:g} reports about "
        f"{expected_pairs(mechanism.size, mechanism.flip):,.0f} of {count_pairs(mechanism.size):,} pairs by mistake, which "
        f"take {needed:.1f} GB ({dense_gigabytes(mechanism.size):.1f} GB as one dense matrix), above the {allowed:.1f} GB "
        f"{limit}: give a larger --link-epsilon, another --link-mechanism, or a larger --max-memory"
    )
