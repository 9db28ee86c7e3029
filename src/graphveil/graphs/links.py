"""Links: those to predict (known, held out, and pairs that are none), and those that are private where others are public."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphveil.checks import check_number
from graphveil.errors import InputError
from graphveil.files import read_text
from graphveil.graphs.graph import Graph, pair_codes
from graphveil.graphs.splits import check_seed, check_split_shares

if TYPE_CHECKING:
    from graphveil.graphs.users import Users

Pairs = NDArray[np.int64]
# LDP-GE divides links 85/5/10.
TRAIN_SHARE, VALIDATION_SHARE = 0.85, 0.05
# Links that are needed for each of the three parts to get one.
FEWEST_LINKS = 20
# Draw pairs at random where non-links are so many times as frequent as wanted; else list them all.
PLENTY = 4


@dataclass(frozen=True, eq=False)
class LinkPairs:
    """Pairs of users (the smaller number first): some linked, as many others not."""

    linked: Pairs
    unlinked: Pairs

    def __post_init__(self) -> None:
        for array in (self.linked, self.unlinked):
            array.setflags(write=False)

    def mixed(self, seed: int) -> tuple[Pairs, NDArray[np.bool_]]:
        """All pairs in a random order that gives nothing away, and which of them are linked."""
        pairs = np.concatenate([self.linked, self.unlinked])
        order = np.random.default_rng([check_seed(seed), 4]).permutation(len(pairs))
        return pairs[order], order < len(self.linked)


@dataclass(frozen=True, eq=False)
class KnownLinks:
    """The server's knowledge where links are to be predicted: pairs to learn from, and pairs to choose a model by."""

    train: LinkPairs
    validation: LinkPairs


def hold_out_links(
    graph: Graph,
    users: Users,
    seed: int,
    train: float = TRAIN_SHARE,
    validation: float = VALIDATION_SHARE,
) -> tuple[Graph, Users]:
    """Return the data for link prediction: a graph of the training links, and users who hold the test pairs.

    Links are divided at random, and each part gets as many pairs that are not linked in the whole graph; no
    pair is drawn twice. The graph has the training links for edges and no labels; users list those links
    alone. Test pairs stay on the users' side.

    Parameters
    ----------
    train, validation
        The shares of links that train (0.85) and validate (0.05); the others test.
    """
    if graph.links is not None:
        raise InputError("links are held out of this graph already: start from the graph that was loaded")
    check_split_shares(train, validation)
    pairs = graph.pairs()
    if len(pairs) < FEWEST_LINKS:
        raise InputError(f"link prediction needs {FEWEST_LINKS} links, this graph has {len(pairs)}")
    random = np.random.default_rng([check_seed(seed), 3])
    linked = pairs[random.permutation(len(pairs))]
    unlinked = non_links(graph, len(linked), random)
    first = round(train * len(linked))
    second = round((train + validation) * len(linked))
    if not 0 < first < second < len(linked):
        raise InputError(f"shares {train} and {validation} leave a part of {len(linked)} links empty")
    parts = [
        # Copies: a view would bring the other parts along.
        LinkPairs(linked[part].copy(), unlinked[part].copy())
        for part in (slice(first), slice(first, second), slice(second, None))
    ]
    public = graph.with_edges(parts[0].linked).without_labels()
    known = replace(public, links=KnownLinks(parts[0], parts[1]))
    return known, users.with_test_links(parts[2], (known.indptr, known.indices))


def known_links(graph: Graph, seed: int) -> Graph:
    """A graph whose edges are all that is known of links, divided for link prediction: some of them validate, the others train.

    As many as of public links would (5 of 90), each part with as many pairs that are no edges here. The edges of the result are
    the training links, with the weights that they have.
    """
    pairs = graph.pairs()
    if len(pairs) < FEWEST_LINKS:
        more = "give a larger --link-epsilon, or another --link-mechanism"
        raise InputError(f"link prediction needs {FEWEST_LINKS} links, here are {len(pairs)}: {more}")
    random = np.random.default_rng([check_seed(seed), 6])
    order = random.permutation(len(pairs))
    held = max(1, round(len(pairs) * VALIDATION_SHARE / (TRAIN_SHARE + VALIDATION_SHARE)))
    validating, training = order[:held], np.sort(order[held:])
    unlinked = non_links(graph, len(pairs), random)
    weights = None if graph.weights is None else graph.pair_weights()[training]
    train = LinkPairs(pairs[training], unlinked[held:].copy())
    validation = LinkPairs(pairs[validating], unlinked[:held].copy())
    public = replace(graph, links=None).with_edges(pairs[training], weights)
    return replace(public, links=KnownLinks(train, validation))


def no_known_links() -> KnownLinks:
    """The knowledge before any link is known."""
    nothing = np.empty((0, 2), dtype=np.int64)
    return KnownLinks(LinkPairs(nothing, nothing), LinkPairs(nothing, nothing))


def non_links(graph: Graph, count: int, random: np.random.Generator) -> Pairs:
    """Draw different pairs of users that are not linked, each equally likely, in a random order.

    Parameters
    ----------
    count
        The number of pairs.
    random
        The generator to draw from.

    >>> from graphveil.graphs import from_arrays
    >>> path = from_arrays(np.array([[0, 1], [1, 2], [2, 3]]), None, None)[0]
    >>> sorted(map(tuple, non_links(path, 3, np.random.default_rng(0)).tolist()))
    [(0, 2), (0, 3), (1, 3)]
    """
    nodes = graph.node_count
    there = nodes * (nodes - 1) // 2 - graph.edge_count
    if count > there:
        raise InputError(f"the graph is too dense: {count} unlinked pairs are needed, it has {there}")
    links = pair_codes(graph.pairs(), nodes)
    if there < PLENTY * count:
        first, second = np.triu_indices(nodes, 1)
        codes = np.setdiff1d(first * nodes + second, links, assume_unique=True)
        return _pairs(random.permutation(codes)[:count], nodes)
    unlinked = np.empty(0, dtype=np.int64)
    while len(unlinked) < count:
        drawn = np.sort(random.integers(0, nodes, (2 * (count - len(unlinked)) + 16, 2)), axis=1)
        codes = pair_codes(drawn[drawn[:, 0] != drawn[:, 1]], nodes)
        unlinked = np.concatenate([unlinked, codes[~np.isin(codes, links)]])
        # Each pair counts where it was drawn first.
        unlinked = unlinked[np.sort(np.unique(unlinked, return_index=True)[1])]
    return _pairs(unlinked[:count], nodes)


def _pairs(codes: NDArray[np.int64], nodes: int) -> Pairs:
    return np.stack(np.divmod(codes, nodes), axis=1)


@dataclass(frozen=True, eq=False)
class DividedEdges:
    """The links of a graph that stay public (m x 2), and the numbers of those who may have private ones: both are public."""

    public: Pairs
    private_users: NDArray[np.int64]


# The option that says which links are private, where the others are public.
PRIVATE_EDGES = "private_edges"


def private_edges_file(given: Any) -> Path | None:
    """The file that says which links are private; None where a share of them is. Anything else is refused."""
    if isinstance(given, str):
        if Path(given).is_file():
            return Path(given)
        raise InputError(f"private_edges must be a share of links or a file, there is no file {given!r}")
    check_number(given, PRIVATE_EDGES, above=0, most=1)
    return None


def divide_edges(graph: Graph, given: Any, seed: int) -> DividedEdges:
    """Let some links of a graph be private: about a share of them, or those that a file lists.

    For a share ρ so many users are drawn by seed, whatever their links, that about ρ of all pairs lie between
    two of them, and so do about ρ of all links: these are private. Ends of links that were drawn themselves
    would tell who has a private link.

    Parameters
    ----------
    given
        A share, or a file. A line of a file has the numbers of two users, whose link is private if there is
        one, or of one who may have private links. Who is named there is public.
    seed
        The seed by which users are drawn for a share.
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
            got = f"got {line.strip()[:40]!r}"
            raise InputError(f"{file}, line {place} must name one or two users, 0..{users - 1}, {got}")
        rows.append([*numbers, -1][:2])
    if not rows:
        raise InputError(f"{file} names nobody: give at least one pair of users")
    return np.array(rows, dtype=np.int64)
