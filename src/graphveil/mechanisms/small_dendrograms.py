"""All dendrograms of a few users, and the exact probabilities of what EDGERR publishes, in long arithmetic.

This is for audits and tests, and follows the definitions; `dendrogram` draws the same for graphs of any size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations, product
from typing import Any

from graphveil.errors import InputError
from graphveil.mechanisms.exact_sampling import noisy_chances

# A leaf is a user, an inner node a pair of nodes.
Node = Any
Pair = tuple[int, int]
Pairs = frozenset[Pair]
# Decimal digits that a probability is worked out to.
DIGITS = 50
# Users of a graph whose dendrograms are written out: with 5 there are 105.
MAX_LEAVES = 5


def dendrograms(users: int) -> list[Node]:
    """Return all (2n-3)!! dendrograms of users 0 to n-1.

    >>> dendrograms(3)
    [((0, 1), 2), ((0, 2), 1), (0, (1, 2))]
    """
    trees: list[Node] = [0]
    for leaf in range(1, users):
        trees = [larger for tree in trees for larger in _with_leaf(tree, leaf)]
    return trees


def _with_leaf(tree: Node, leaf: int) -> Iterator[Node]:
    """Yield the trees in which a leaf is added above one of the nodes."""
    yield (tree, leaf)
    if isinstance(tree, tuple):
        left, right = tree
        yield from ((new, right) for new in _with_leaf(left, leaf))
        yield from ((left, new) for new in _with_leaf(right, leaf))


def leaves(tree: Node) -> list[int]:
    """Return the users below a node."""
    return [*leaves(tree[0]), *leaves(tree[1])] if isinstance(tree, tuple) else [tree]


def inner_nodes(tree: Node) -> Iterator[Node]:
    """Yield the inner nodes, from the root down."""
    if isinstance(tree, tuple):
        yield tree
        yield from inner_nodes(tree[0])
        yield from inner_nodes(tree[1])


def between(tree: Node) -> Pairs:
    """Return the pairs whose lowest common ancestor is this inner node, smaller number first."""
    return frozenset((min(pair), max(pair)) for pair in product(leaves(tree[0]), leaves(tree[1])))


def log_likelihood(tree: Node, linked: Pairs, counted: Pairs) -> Decimal:
    """Return Σ ℓ(e, N) over the inner nodes, of the links among the pairs that are counted.

    Parameters
    ----------
    tree
        The dendrogram.
    linked
        The pairs that are links.
    counted
        The pairs that count.
    """
    return _likelihood([between(node) & counted for node in inner_nodes(tree)], linked)


def _likelihood(splits: list[Pairs], linked: Pairs) -> Decimal:
    """Return the log-likelihood of a dendrogram whose inner nodes have these pairs."""
    total = Decimal(0)
    for pairs in splits:
        links, all_of_them = len(pairs & linked), len(pairs)
        for part in (links, all_of_them - links):
            if part:
                total += part * _log_share(part, all_of_them)
    return total


@lru_cache(maxsize=1024)
def _log_share(part: int, whole: int) -> Decimal:
    context = Context(prec=DIGITS)
    return context.ln(context.divide(Decimal(part), Decimal(whole)))


def tree_chances(trees: list[Node], score: Callable[[Node], Decimal]) -> list[Fraction]:
    """Return the probability of each dendrogram, in proportion to the exponential of its score."""
    context = Context(prec=DIGITS)
    weights = [Fraction(context.exp(score(tree))) for tree in trees]
    total = sum(weights)
    return [weight / total for weight in weights]


@dataclass(frozen=True)
class Sketches:
    """All sketches from which EDGERR may draw a graph of a few users.

    A sketch is a dendrogram with noisy counts of its regions.

    ``private`` are the users with private links, ``known`` the public links (smaller number first); ``tilt`` is the weight of the private
    likelihood, ``ratio`` that of the noise, ``least_pairs`` says which subtrees are counted as one.
    """

    users: int
    private: frozenset[int]
    known: Pairs
    tilt: float
    ratio: Fraction
    least_pairs: tuple[float, float]

    def __post_init__(self) -> None:
        if self.users > MAX_LEAVES:
            raise InputError(f"{self.users} users have too many dendrograms: take at most {MAX_LEAVES}")

    @cached_property
    def domain(self) -> Pairs:
        """The private pairs."""
        return frozenset(combinations(sorted(self.private), 2)) - self.known

    def drawn(
        self, linked: Pairs
    ) -> Iterator[tuple[Node, Fraction, list[tuple[Pairs, tuple[Fraction, ...]]]]]:
        """Yield every dendrogram with its probability and its regions.

        Each region has the probabilities of its noisy counts from 0 on.
        """

        def score(tree: Node) -> Decimal:
            public, splits, _ = self._trees[tree]
            return public + Decimal(self.tilt) * _likelihood(splits, linked)

        trees = list(self._trees)
        for tree, chance in zip(trees, tree_chances(trees, score), strict=True):
            regions = [
                (pairs, noisy_chances(len(pairs & linked), len(pairs), self.ratio))
                for pairs in self._trees[tree][2]
            ]
            yield tree, chance, regions

    @cached_property
    def _trees(self) -> dict[Node, tuple[Decimal, list[Pairs], list[Pairs]]]:
        """The parts that are the same for all private links.

        Of every dendrogram the public likelihood, the private pairs of its inner nodes, and its regions.
        """
        everything = frozenset(combinations(range(self.users), 2))
        return {
            tree: (
                log_likelihood(tree, self.known, everything),
                [between(node) & self.domain for node in inner_nodes(tree)],
                self.regions(tree),
            )
            for tree in dendrograms(self.users)
        }

    def regions(self, tree: Node) -> list[Pairs]:
        """Return the private pairs of each region, from the root down."""
        if not isinstance(tree, tuple):
            return []
        left, right = (len(self.private.intersection(leaves(side))) for side in tree)
        both = left + right
        if both < 2:
            return []
        if left * right <= self.least_pairs[0] and both * (both - 1) <= self.least_pairs[1]:
            return [frozenset(combinations(sorted(leaves(tree)), 2)) & self.domain]
        here = [between(tree) & self.domain] if left and right else []
        return [*here, *self.regions(tree[0]), *self.regions(tree[1])]

    def chances(self, linked: Pairs) -> list[Fraction]:
        """Return the probability of every dendrogram with all its noisy counts, in a fixed order."""
        products: dict[tuple[tuple[Fraction, ...], ...], list[Fraction]] = {}
        listed: list[Fraction] = []
        for _, chance, regions in self.drawn(linked):
            # Many dendrograms have regions of the same sizes and counts.
            key = tuple(chances for _, chances in regions)
            if key not in products:
                products[key] = [math.prod(numbers, start=Fraction(1)) for numbers in product(*key)]
            listed += [chance * noise for noise in products[key]]
        return listed

    def published(self, linked: Pairs, pairs: list[Pair]) -> list[Fraction]:
        """Return, for every set of some pairs, the probability that exactly this set is published.

        The first pair is the lowest bit of a set's number.
        """
        chances = [Fraction(0)] * (1 << len(pairs))
        drawn = list(self.drawn(linked))
        for number in range(len(chances)):
            named = frozenset(pair for place, pair in enumerate(pairs) if number >> place & 1)
            if named <= self.domain:
                for _, chance, regions in drawn:
                    parts = (set_chance(region, named, numbers) for region, numbers in regions)
                    chances[number] += chance * math.prod(parts, start=Fraction(1))
        return chances


def set_chance(region: Pairs, published: Pairs, numbers: tuple[Fraction, ...]) -> Fraction:
    """Return the probability that exactly these pairs of a region are published.

    Parameters
    ----------
    region
        The pairs of the region.
    published
        The pairs that are published, here and elsewhere.
    numbers
        The probability of each noisy count of the region, from 0 on.
    """
    most, named = len(region), len(region & published)
    shares = [Fraction(count, most) if most else Fraction(0) for count in range(most + 1)]
    return sum(
        (
            chance * share**named * (1 - share) ** (most - named)
            for share, chance in zip(shares, numbers, strict=True)
        ),
        Fraction(0),
    )
