"""Dendrograms of a graph's users, and a walk over all of them, in compiled code.

A dendrogram is a rooted binary tree whose leaves are the users. Every pair of users belongs to its lowest common ancestor: a
hierarchical random graph (Clauset, Moore and Newman 2008) says of each inner node with which probability its pairs are linked,
and the likeliest such probabilities give a dendrogram its log-likelihood Σ ℓ(e_r, N_r), ℓ(e, N) = e ln(e/N) + (N-e) ln(1-e/N).

Leaves are 0 to n-1, inner nodes n to 2n-2. Links are of three kinds: public ones, public ones of which both ends are users with
private links (whose pair is then known, and is no private pair), and private ones. Only whoever is trusted with all links needs
this file, so nothing else loads what it stands on.

All of it is compiled when it first runs, and loops over numbers compile several times as fast as what copies, sorts and searches
whole arrays: so they are loops.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

# Kinds of links, and the columns in which inner nodes count them: known ones count as public ones too.
PUBLIC, KNOWN, PRIVATE = 0, 1, 2
# Random words that one step takes: which node and how, the public step, the private step.
WORDS_A_STEP = 3
NOBODY = -1


class Tree(NamedTuple):
    """A dendrogram. ``size`` counts the leaves below each node, ``held`` those with private links, ``links`` (nodes x 3) the
    links of each kind whose lowest common ancestor a node is."""

    parent: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    size: NDArray[np.int64]
    held: NDArray[np.int64]
    links: NDArray[np.int64]


class Links(NamedTuple):
    """Links of n users in both directions, as rows, with the kind of each."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    kinds: NDArray[np.int8]


class Regions(NamedTuple):
    """Groups of private users' pairs that are counted together.

    They are the pairs between two runs of a line of users, or those within one.

    ``line`` holds the private users in the order of the leaves. A region takes the places ``first`` to ``middle`` and ``middle``
    to ``last`` of it, and is whole (``middle`` = ``last``) where the pairs within are meant. ``pairs`` are how many of them are private,
    ``counts`` how many of these are linked.
    """

    line: NDArray[np.int32]
    first: NDArray[np.int64]
    middle: NDArray[np.int64]
    last: NDArray[np.int64]
    pairs: NDArray[np.int64]
    counts: NDArray[np.int64]


@numba.njit(cache=True, nogil=True)
def random_tree(users: int, private: Any, words: Any) -> Any:
    """Draw a dendrogram, all equally likely, adding each leaf above a random node.

    Parameters
    ----------
    users
        The number of leaves.
    private
        (users,) bool: who may have private links.
    words
        (users,) uint64, one word per user.
    """
    nodes = 2 * users - 1
    parent = np.full(nodes, NOBODY, dtype=np.int32)
    left, right = np.full(nodes, NOBODY, dtype=np.int32), np.full(nodes, NOBODY, dtype=np.int32)
    there = np.empty(nodes, dtype=np.int32)
    there[0] = 0
    for leaf in range(1, users):
        below = there[words[leaf] % np.uint64(2 * leaf - 1)]
        inner, above = users + leaf - 1, parent[below]
        parent[inner], parent[below], parent[leaf] = above, inner, inner
        left[inner], right[inner] = below, leaf
        if above != NOBODY:
            if left[above] == below:
                left[above] = inner
            else:
                right[above] = inner
        there[2 * leaf - 1], there[2 * leaf] = leaf, inner
    size, held = np.zeros(nodes, dtype=np.int64), np.zeros(nodes, dtype=np.int64)
    for leaf in range(users):
        node = leaf
        while node != NOBODY:
            size[node] += 1
            held[node] += private[leaf]
            node = parent[node]
    return Tree(parent, left, right, size, held, np.zeros((nodes, 3), dtype=np.int64))


@numba.njit(cache=True, nogil=True)
def count_links(tree: Any, links: Any) -> None:
    """Count, for every inner node, the links whose lowest common ancestor it is."""
    tree.links[:] = 0
    for user in range(len(links.indptr) - 1):
        for place in range(links.indptr[user], links.indptr[user + 1]):
            other = links.indices[place]
            if other >= user:
                continue
            one, two = user, other
            while one != two:
                # The smaller subtree cannot hold the other node.
                if tree.size[one] <= tree.size[two]:
                    one = tree.parent[one]
                else:
                    two = tree.parent[two]
            _add(tree.links, one, links.kinds[place])


@numba.njit(cache=True, nogil=True, inline="always")
def _add(counts: Any, node: int, kind: int) -> None:
    if kind == PRIVATE:
        counts[node, PRIVATE] += 1
    else:
        counts[node, PUBLIC] += 1
        if kind == KNOWN:
            counts[node, KNOWN] += 1


@numba.njit(cache=True, nogil=True)
def _term(linked: Any, pairs: Any) -> Any:
    """ℓ(e, N): the log-likelihood of so many links among so many pairs, at the likeliest probability."""
    if linked <= 0 or linked >= pairs:
        return 0.0
    others = pairs - linked
    # The logarithm of a share near 1 is computed from what is missing.
    if linked < others:
        return linked * np.log(linked / pairs) + others * np.log1p(-linked / pairs)
    return linked * np.log1p(-others / pairs) + others * np.log(others / pairs)


@numba.njit(cache=True, nogil=True)
def likelihoods(tree: Any) -> Any:
    """Return the log-likelihoods of a dendrogram by public links and by private links.

    The first counts all pairs, the second private pairs.
    """
    users = (len(tree.parent) + 1) // 2
    public, private = 0.0, 0.0
    for node in range(users, len(tree.parent)):
        one, two = tree.left[node], tree.right[node]
        public += _term(tree.links[node, PUBLIC], tree.size[one] * tree.size[two])
        private += _term(tree.links[node, PRIVATE], tree.held[one] * tree.held[two] - tree.links[node, KNOWN])
    return public, private


@numba.njit(cache=True, nogil=True)
def _between(tree: Any, links: Any, one: int, two: int, stack: Any, found: Any) -> None:
    """Count the links of each kind between the leaves below two nodes.

    Fastest where the first has few leaves.
    """
    users = len(links.indptr) - 1
    found[0, PUBLIC], found[0, KNOWN], found[0, PRIVATE] = 0, 0, 0
    stack[0] = one
    top = 1
    while top:
        top -= 1
        node = stack[top]
        if node >= users:
            stack[top], stack[top + 1] = tree.left[node], tree.right[node]
            top += 2
            continue
        for place in range(links.indptr[node], links.indptr[node + 1]):
            # Subtrees grow on the way up, so one that is as large and another one ends the search.
            other = links.indices[place]
            while tree.size[other] < tree.size[two]:
                other = tree.parent[other]
            if other == two:
                _add(found, 0, links.kinds[place])


@numba.njit(cache=True, nogil=True)
def walk(tree: Any, links: Any, words: Any, tilt: float) -> int:
    """Walk over dendrograms by as many steps as there are words for, and return the number of accepted steps.

    A step takes an inner node other than the root with its two subtrees a and b, and the subtree c beside it, and proposes to let c
    change places with one of the two; the way back is as likely. A public step accepts it by what it does to the likelihood of the
    public links; what that accepts is accepted by a private step according to ``tilt`` times what it does to the likelihood of the
    private ones. Both are rules of Metropolis and so is one after the other, which leaves the distribution in proportion to
    exp(public + tilt · private) as it is.

    Parameters
    ----------
    tree
        The dendrogram, changed in place; its links must be counted (`count_links`).
    links
        Links as rows.
    words
        (words,) uint64, ``WORDS_A_STEP`` for each step.
    tilt
        The weight of the private likelihood; 0 leaves private links out.
    """
    users = len(links.indptr) - 1
    stack, found = np.empty(users + 1, dtype=np.int32), np.zeros((1, 3), dtype=np.int64)
    parent, size, held, counts = tree.parent, tree.size, tree.held, tree.links
    root = users
    while root < len(parent) and parent[root] != NOBODY:
        root += 1
    taken = 0
    if users < 3:
        return taken
    unit = 2.0**-64
    for step in range(len(words) // WORDS_A_STEP):
        word = words[WORDS_A_STEP * step]
        inner = users + np.int64((word >> np.uint64(1)) % np.uint64(users - 2))
        if inner >= root:
            inner += 1
        above = parent[inner]
        beside = tree.right[above] if tree.left[above] == inner else tree.left[above]
        goes, stays = tree.left[inner], tree.right[inner]
        if word & np.uint64(1):
            goes, stays = stays, goes
        # Now the inner node joins ``goes`` and ``stays``, the one above that and ``beside``; proposed is ((beside, stays), goes).
        one, two = goes, beside
        others = size[goes] > size[stays] and size[beside] > size[stays]
        if others:
            one = stays
        elif size[goes] > size[beside]:
            one, two = beside, goes
        _between(tree, links, one, two, stack, found)
        public, known, private = found[0, PUBLIC], found[0, KNOWN], found[0, PRIVATE]
        if others:
            public = counts[above, PUBLIC] - public
            known = counts[above, KNOWN] - known
            private = counts[above, PRIVATE] - private
        # What leads from ``goes`` to ``beside`` stays with the node above; what leads to ``stays`` changes places.
        low_public, high_public = counts[above, PUBLIC] - public, counts[inner, PUBLIC] + public
        low_known, high_known = counts[above, KNOWN] - known, counts[inner, KNOWN] + known
        low_private, high_private = counts[above, PRIVATE] - private, counts[inner, PRIVATE] + private
        low, high = size[beside] * size[stays], size[goes] * (size[beside] + size[stays])
        gain = (
            _term(low_public, low)
            + _term(high_public, high)
            - _term(counts[inner, PUBLIC], size[goes] * size[stays])
            - _term(counts[above, PUBLIC], (size[goes] + size[stays]) * size[beside])
        )
        if gain < 0 and words[WORDS_A_STEP * step + 1] * unit >= np.exp(gain):
            continue
        if tilt > 0:
            low, high = held[beside] * held[stays], held[goes] * (held[beside] + held[stays])
            gain = tilt * (
                _term(low_private, low - low_known)
                + _term(high_private, high - high_known)
                - _term(counts[inner, PRIVATE], held[goes] * held[stays] - counts[inner, KNOWN])
                - _term(
                    counts[above, PRIVATE], (held[goes] + held[stays]) * held[beside] - counts[above, KNOWN]
                )
            )
            if gain < 0 and words[WORDS_A_STEP * step + 2] * unit >= np.exp(gain):
                continue
        taken += 1
        tree.left[inner], tree.right[inner] = beside, stays
        tree.left[above], tree.right[above] = inner, goes
        parent[beside], parent[goes] = inner, above
        size[inner], held[inner] = size[beside] + size[stays], held[beside] + held[stays]
        counts[inner, PUBLIC], counts[above, PUBLIC] = low_public, high_public
        counts[inner, KNOWN], counts[above, KNOWN] = low_known, high_known
        counts[inner, PRIVATE], counts[above, PRIVATE] = low_private, high_private
    return taken


@numba.njit(cache=True, nogil=True)
def regions_of(tree: Any, private: Any, split_pairs: float, inner_pairs: float) -> Any:
    """Return the regions of a dendrogram, from the root down.

    Only numbers of users decide what is counted together, and no link.

    Parameters
    ----------
    tree
        The dendrogram.
    private
        (users,) bool: who may have private links.
    split_pairs, inner_pairs
        All pairs of a subtree are counted together if its first split has at most ``split_pairs`` pairs and
        it has at most ``inner_pairs`` within.
    """
    nodes = len(tree.parent)
    users = (nodes + 1) // 2
    root = users if users > 1 else 0
    while tree.parent[root] != NOBODY:
        root += 1
    line, count = np.empty(tree.held[root], dtype=np.int32), 0
    first, middle = np.empty(nodes, dtype=np.int64), np.empty(nodes, dtype=np.int64)
    last, pairs, linked = (
        np.empty(nodes, dtype=np.int64),
        np.empty(nodes, dtype=np.int64),
        np.empty(nodes, dtype=np.int64),
    )
    # Nodes to look at, where their users begin in the line, and the region of a subtree that is taken as one.
    stack, place = np.empty(users + 1, dtype=np.int32), np.empty(users + 1, dtype=np.int64)
    inside = np.empty(users + 1, dtype=np.int64)
    stack[0], place[0], inside[0] = root, 0, NOBODY
    top = 1
    while top:
        top -= 1
        node, start, region = stack[top], place[top], inside[top]
        if node < users:
            if private[node]:
                line[start] = node
            continue
        one, two = tree.left[node], tree.right[node]
        left, right = tree.held[one], tree.held[two]
        both = left + right
        if region == NOBODY and both > 1:
            whole = left * right <= split_pairs and both * (both - 1) <= inner_pairs
            if whole:
                region = count
                first[count], middle[count], last[count] = start, start + both, start + both
                pairs[count], linked[count] = both * (both - 1) // 2, 0
                count += 1
            elif left and right:
                first[count], middle[count], last[count] = start, start + left, start + both
                pairs[count] = left * right - tree.links[node, KNOWN]
                linked[count] = tree.links[node, PRIVATE]
                count += 1
        if region != NOBODY:
            pairs[region] -= tree.links[node, KNOWN]
            linked[region] += tree.links[node, PRIVATE]
        stack[top], place[top], inside[top] = one, start, region
        stack[top + 1], place[top + 1], inside[top + 1] = two, start + left, region
        top += 2
    return Regions(line, first[:count], middle[:count], last[:count], pairs[:count], linked[:count])


@numba.njit(cache=True, nogil=True)
def _longer(pairs: Any) -> Any:
    """Return the same pairs, with room for as many more."""
    more = np.empty((2 * len(pairs), 2), dtype=np.int32)
    for pair in range(len(pairs)):
        more[pair, 0], more[pair, 1] = pairs[pair, 0], pairs[pair, 1]
    return more


@numba.njit(cache=True, nogil=True)
def draw_pairs(regions: Any, chances: Any, known: Any, chance: Any) -> Any:
    """Draw the pairs of each region with its probability; return them with the larger number first.

    Pairs that are not drawn are skipped, so the work grows with the result.

    Parameters
    ----------
    regions
        The regions that pairs are drawn from.
    chances
        (regions,) float64: the probability of a pair of each region.
    known
        Links as rows; their pairs are left out.
    chance
        A numpy generator.
    """
    drawn, count = np.empty((64, 2), dtype=np.int32), 0
    for region in range(len(chances)):
        share = chances[region]
        if share <= 0:
            continue
        first, middle, last = regions.first[region], regions.middle[region], regions.last[region]
        whole = middle == last
        width = last - middle
        total = (last - first) * (last - first - 1) // 2 if whole else (middle - first) * width
        place = np.int64(-1)
        # The row that pairs within are in begins at the pair with this number.
        row, begins = 1, 0
        while True:
            if share >= 1:
                place += 1
            else:
                skipped = np.floor(np.log1p(-chance.random()) / np.log1p(-share))
                if skipped >= total:
                    break
                place += 1 + np.int64(skipped)
            if place >= total:
                break
            if whole:
                while place >= begins + row:
                    begins += row
                    row += 1
                one, two = regions.line[first + row], regions.line[first + place - begins]
            else:
                one, two = regions.line[first + place // width], regions.line[middle + place % width]
            larger, smaller = max(one, two), min(one, two)
            at, end = known.indptr[larger], known.indptr[larger + 1]
            while at < end:
                half = (at + end) // 2
                if known.indices[half] < smaller:
                    at = half + 1
                else:
                    end = half
            if at < known.indptr[larger + 1] and known.indices[at] == smaller:
                continue
            if count == len(drawn):
                drawn = _longer(drawn)
            drawn[count, 0], drawn[count, 1] = larger, smaller
            count += 1
    return drawn[:count]


@numba.njit(cache=True, nogil=True)
def links_of(users: int, pairs: Any, kinds: Any) -> Any:
    """Return links as sorted rows, from pairs of different users without duplicates.

    Parameters
    ----------
    users
        The number of users.
    pairs
        (links, 2) numbers of users.
    kinds
        (links,) int8: the kind of each link.
    """
    indptr = np.zeros(users + 1, dtype=np.int64)
    for pair in range(len(pairs)):
        indptr[pairs[pair, 0] + 1] += 1
        indptr[pairs[pair, 1] + 1] += 1
    for user in range(users):
        indptr[user + 1] += indptr[user]
    loose, kinds_of = np.empty(2 * len(pairs), dtype=np.int32), np.empty(2 * len(pairs), dtype=np.int8)
    free = indptr[:-1].copy()
    for pair in range(len(pairs)):
        for end in range(2):
            user = pairs[pair, end]
            loose[free[user]], kinds_of[free[user]] = pairs[pair, 1 - end], kinds[pair]
            free[user] += 1
    # One user after the other enters the rows of those whom it is linked to, which are sorted by that.
    indices, of = np.empty(2 * len(pairs), dtype=np.int32), np.empty(2 * len(pairs), dtype=np.int8)
    free = indptr[:-1].copy()
    for user in range(users):
        for place in range(indptr[user], indptr[user + 1]):
            other = loose[place]
            indices[free[other]], of[free[other]] = user, kinds_of[place]
            free[other] += 1
    return Links(indptr, indices, of)


@numba.njit(cache=True, nogil=True)
def regions_of_many(
    users: int, private: Any, pairs: Any, kinds: Any, held: Any, words: Any, tilt: float, sizes: Any
) -> Any:
    """Return the regions of a dendrogram for each of several small graphs.

    They are padded with empty regions to equal length. Returns the lines of all graphs, and the other fields
    of `Regions` as an array (5 x graphs x regions).

    Parameters
    ----------
    users
        The number of users of each graph.
    private
        (users,) bool: who may have private links.
    pairs
        (pairs, 2) numbers of users.
    kinds
        (pairs,) int8: the kind of link of each pair.
    held
        (graphs, pairs) bool: the pairs that are linked in each graph.
    words
        (graphs, words) uint64: one word per user, then those of all steps.
    tilt
        The weight of private links, as in `walk`.
    sizes
        The two limits of `regions_of`.
    """
    graphs, most = len(held), max(users - 1, 1)
    found = np.zeros((5, graphs, most), dtype=np.int64)
    members = 0
    for user in range(users):
        members += private[user]
    lines = np.zeros((graphs, members), dtype=np.int32)
    linked, of = np.empty((len(pairs), 2), dtype=np.int64), np.empty(len(pairs), dtype=np.int8)
    for graph in range(graphs):
        there = 0
        for pair in range(len(pairs)):
            if held[graph, pair]:
                linked[there, 0], linked[there, 1], of[there] = pairs[pair, 0], pairs[pair, 1], kinds[pair]
                there += 1
        links = links_of(users, linked[:there], of[:there])
        tree = random_tree(users, private, words[graph])
        count_links(tree, links)
        walk(tree, links, words[graph, users:], tilt)
        regions = regions_of(tree, private, sizes[0], sizes[1])
        for place in range(members):
            lines[graph, place] = regions.line[place]
        for region in range(len(regions.pairs)):
            found[0, graph, region], found[1, graph, region] = regions.first[region], regions.middle[region]
            found[2, graph, region], found[3, graph, region] = regions.last[region], regions.pairs[region]
            found[4, graph, region] = regions.counts[region]
    return lines, found


@numba.njit(cache=True, nogil=True)
def draw_pairs_of_many(lines: Any, found: Any, chances: Any, known: Any, chance: Any) -> Any:
    """Draw pairs, as `draw_pairs` does, for each graph of `regions_of_many`.

    Return their number per graph, and all pairs.

    Parameters
    ----------
    lines, found
        The two results of `regions_of_many`.
    chances
        (graphs, regions) float64: the probability of a pair of each region.
    known
        Links as rows; their pairs are left out.
    chance
        A numpy generator.
    """
    graphs = len(lines)
    numbers, drawn = np.zeros(graphs, dtype=np.int64), np.empty((64, 2), dtype=np.int32)
    count = 0
    for graph in range(graphs):
        regions = Regions(
            lines[graph], found[0, graph], found[1, graph], found[2, graph], found[3, graph], found[4, graph]
        )
        new = draw_pairs(regions, chances[graph], known, chance)
        while count + len(new) > len(drawn):
            drawn = _longer(drawn)
        for pair in range(len(new)):
            drawn[count, 0], drawn[count, 1] = new[pair, 0], new[pair, 1]
            count += 1
        numbers[graph] = len(new)
    return numbers, drawn[:count]
