"""What the server makes of reported links: which pairs, how plausible they are, and what they take in memory."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError, MessageError
from graphveil.graphs.graph import Graph
from graphveil.mechanisms import LinkMechanism, Reports

# What a pair takes while weights of pairs are learned: measured (see tests/denoise).
BYTES_A_PAIR = 160


@dataclass(frozen=True, eq=False)
class ReportedLinks:
    """The pairs that were reported (pairs x 2, the larger number first), and what is known in public about the others."""

    users: int
    flip: float
    pairs: NDArray[np.int32]

    @classmethod
    def of(cls, reports: Reports) -> ReportedLinks:
        """From the reports of all users, in their order."""
        mechanism = reports.mechanism
        if not isinstance(mechanism, LinkMechanism):
            raise InputError(f"links are read from reports of links, these are of {mechanism.subject}")
        if reports.users != mechanism.size:
            raise InputError(
                f"a graph takes the reports of all {mechanism.size} users, these are {reports.users}"
            )
        users = np.repeat(np.arange(reports.users, dtype=np.int32), reports.lengths)
        others = reports.codes.astype(np.int32)
        if (others >= users).any():
            raise MessageError(
                "a user has answered for a pair that is not theirs: only links to smaller numbers are reported"
            )
        return cls(reports.users, mechanism.flip, np.stack([users, others], axis=1))

    @property
    def pair_count(self) -> int:
        """How many pairs of users there are."""
        return count_pairs(self.users)

    @property
    def density(self) -> float:
        """Which share of all pairs is linked: unbiased, from the number of reported ones, but at least one link."""
        reported = len(self.pairs) / max(self.pair_count, 1)
        least = 1 / max(self.pair_count, 1)
        return min(max((reported - self.flip) / (1 - 2 * self.flip), least), 1.0)

    @property
    def plausibility(self) -> float:
        """The probability that a reported pair is linked, by Bayes from the density."""
        true, false = self.density * (1 - self.flip), (1 - self.density) * self.flip
        return true / (true + false)


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


def available_gigabytes() -> float:
    """The memory that this machine has left."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            fields = dict(line.split(":", 1) for line in lines)
        return int(fields["MemAvailable"].split()[0]) * 1024 / 1e9
    except (OSError, KeyError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


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
