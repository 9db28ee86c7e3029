"""Whole graphs: what one link costs over everything that all users send, enumerated on the smallest graphs.

A report of one user does not show it. Both ends of a link may answer for it, and it is in the degrees of both: what they
send adds up. So all graphs of a few users are taken, and all pairs of them that differ in one link. Given a graph users answer
independently, so the reports of all together have the product of the users' probabilities, and the largest ratio of such
products is the product of the users' largest ratios: exact, in integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.candidate import Candidate
from graphveil.audit.findings import GRAPHS, Leak, Rank, Step, power
from graphveil.channels.exact import Loss
from graphveil.errors import GraphveilError
from graphveil.mechanisms.links import LinkMechanism
from graphveil.mechanisms.published import PublishedGraph

# Users of the graphs that are enumerated: with 4 there are 64 graphs, 192 pairs of them, and 128 lists of each user.
USERS = (2, 3, 4)

Pair = tuple[int, int]
Graph = frozenset[Pair]


@dataclass(frozen=True)
class WorstLink:
    """The link that all reports together tell best, in which graph; ratio None is infinite."""

    link: Pair
    graph: Graph
    ratio: Fraction | None

    @property
    def loss(self) -> Loss:
        """What the link costs."""
        return Loss.of(self.ratio)


def graphs_of(users: int) -> Iterator[Graph]:
    """All graphs of so many users."""
    pairs = list(combinations(range(users), 2))
    for number in range(1 << len(pairs)):
        yield frozenset(pair for place, pair in enumerate(pairs) if number >> place & 1)


def user_counts(mechanism: LinkMechanism, graph: Graph, user: int) -> tuple[NDArray[np.object_], int]:
    """How often each whole report of a user comes in a graph, out of the total."""
    near = [other for other in range(mechanism.size) if (min(user, other), max(user, other)) in graph]
    answers = [int(other in near) for other in mechanism.asked(user)]
    return mechanism.counts_of(answers, mechanism.degree_of(user, near))


def worst_link(mechanism: LinkMechanism) -> WorstLink:
    """The largest ratio of the probabilities of all reports together, over all graphs that differ in one link; exact."""
    if isinstance(mechanism, PublishedGraph):
        return worst_published(mechanism)
    best = WorstLink((0, 0), frozenset(), Fraction(1))
    counts: dict[tuple[int, Graph], list[int]] = {}

    def counts_of(graph: Graph, user: int) -> list[int]:
        # What a user sends follows from the user's own links, which many graphs share.
        key = user, frozenset(pair for pair in graph if user in pair)
        if key not in counts:
            counts[key] = user_counts(mechanism, graph, user)[0].tolist()
        return counts[key]

    for graph in graphs_of(mechanism.size):
        for link in graph:
            # Only what the two users hold is different.
            for one, other in ((graph, graph - {link}), (graph - {link}, graph)):
                ratio = Fraction(1)
                for user in link:
                    often, rarely = (counts_of(which, user) for which in (one, other))
                    if any(count and not against for count, against in zip(often, rarely, strict=True)):
                        return WorstLink(link, one, None)
                    ratio *= largest_ratio(often, rarely)
                if best.ratio is not None and ratio > best.ratio:
                    best = WorstLink(link, one, ratio)
    return best


def worst_published(mechanism: PublishedGraph) -> WorstLink:
    """The same where a curator publishes the whole graph at once."""
    counts = {graph: whole_numbers(mechanism.chances_of(graph)) for graph in graphs_of(mechanism.size)}
    best = WorstLink((0, 0), frozenset(), Fraction(1))
    for graph in counts:
        for link in graph:
            for one, other in ((graph, graph - {link}), (graph - {link}, graph)):
                # Noise leaves nothing impossible that can be published at all.
                (often, total), (rarely, against) = counts[one], counts[other]
                ratio = largest_ratio(often, rarely) * Fraction(against, total)
                if best.ratio is not None and ratio > best.ratio:
                    best = WorstLink(link, one, ratio)
    return best


def whole_numbers(chances: list[Fraction]) -> tuple[list[int], int]:
    """Probabilities as counts out of one total: they are compared without a common divisor each time."""
    total = math.lcm(*(chance.denominator for chance in chances))
    return [chance.numerator * (total // chance.denominator) for chance in chances], total


def largest_ratio(often: list[int], rarely: list[int]) -> Fraction:
    """The largest quotient of two counts of the same report."""
    top, bottom = 0, 1
    for count, against in zip(often, rarely, strict=True):
        if count * bottom > top * against:
            top, bottom = count, against
    return Fraction(top, bottom)


def graphs_step(candidate: Candidate) -> Step:
    """Whether one link costs what is claimed when the reports of all users are put together."""
    found: dict[int, WorstLink] = {}
    claimed = candidate.build().claim.epsilon
    leaks: list[str] = []
    for users in USERS:
        try:
            small = candidate.build(dims=users) if candidate.takes("dims") else candidate.build()
        except GraphveilError:
            continue
        if not isinstance(small, LinkMechanism) or small.size != users:
            continue
        worst = worst_link(small)
        found[users] = worst
        if worst.loss.exceeds(claimed):
            leaks.append(_told(users, worst, claimed))
    if not found:
        return Step(GRAPHS, "left out: it is not built for few users", skipped=True)
    # More users leave no less room for the worst case.
    users = max(found, key=lambda size: found[size].loss.epsilon)
    listed = ", ".join(map(str, found))
    seen = (
        f"all graphs of {listed} users, all pairs of them that differ in one link, everything that all users send together: "
        f"the largest ratio is {power(found[users].loss.epsilon)}, claimed e^{claimed:g}"
    )
    return Step(GRAPHS, seen, tuple(leaks[:1]))


def _told(users: int, worst: WorstLink, claimed: float) -> Leak:
    where = f"with {users} users, the link between users {worst.link[0]} and {worst.link[1]}"
    if worst.ratio is None:
        return Leak(
            f"{where} is certain from what both send: some reports are impossible with or without it",
            Rank.CLAIM,
        )
    times = worst.loss.epsilon / claimed if claimed else math.inf
    return Leak(
        f"{where} costs {worst.loss.epsilon:.6g} over everything that both send, {times:.3g} times the claimed {claimed:g}: what its "
        "two ends spend on it adds up",
        Rank.CLAIM,
    )
