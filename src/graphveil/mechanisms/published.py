"""Graphs that a curator publishes, who is trusted with everybody's links."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from graphveil.channels.exact import TOTAL
from graphveil.errors import InputError
from graphveil.mechanisms.base import Trust
from graphveil.mechanisms.estimate import Estimate
from graphveil.mechanisms.links import LinkMechanism, NeighbourLists
from graphveil.mechanisms.reports import Reports

# Users of one graph: it has fewer than 2^47 pairs, which `geometric.hits` can number.
MAX_USERS = 1 << 24

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False, repr=False)
class PublishedGraph(LinkMechanism):
    """A curator's mechanism: whoever runs it sees every link and must be trusted. No device can, as it takes all lists.

    A report is a row of the published graph: of each user the sorted smaller numbers that the graph links it to. Reports are
    written by the curator, all at once; an estimate is the published graph as it is, 1 and 0, and biased. Where two users' lists
    differ about their link, the list of the one with the larger number counts.

    ``private`` are the `NeighbourLists` of everybody. An array (graphs x n) are so many graphs of n cells each, published one by
    one: this is how an audit looks at it, where a row is an input and what is published of it a report.
    """

    unbiased: bool = False
    trust: ClassVar[Trust] = "curator"

    @property
    def as_many_as_links(self) -> bool:
        return True

    @property
    def flip(self) -> float:
        """All but 0: there are about as many published pairs as links, and they are read as links."""
        return 1 / TOTAL

    @abstractmethod
    def chances_of(self, graph: frozenset[Pair]) -> list[Fraction]:
        """How likely everything is that may be published of a small graph (pairs, smaller number first), in a fixed order, to 50 digits or exactly."""

    def estimate(self, reports: Reports) -> Estimate:
        shape, values = (reports.users, self.size), np.ones(reports.codes.size)
        return Estimate(shape, reports.indptr, reports.codes.astype(np.int32), values, 0.0, self.unbiased)

    def _everybody(self, private: NeighbourLists) -> NeighbourLists:
        """The lists, where they are everybody's; which is a question of their owners alone."""
        if not np.array_equal(private.owners, np.arange(self.size)):
            raise InputError(
                f"{self.name} is a curator's: it takes the lists of all {self.size} users, in their order"
            )
        return private

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, epsilon={self.claim.epsilon:g} a link, {self.size} users, a trusted curator)"
