"""Link inference: whether two users are linked, from what they report or from a graph that a curator publishes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphveil import denoise
from graphveil.attacks.game import (
    REPORTS,
    Deal,
    Floats,
    MechanismAttack,
    Natural,
    Numbers,
    Reporting,
    Stakes,
    accepted_by,
    balanced,
    draw_reports,
    likelier,
    naturals,
)
from graphveil.channels.counting import CountingChannel
from graphveil.channels.exact import TOTAL
from graphveil.channels.sampling import RandomBits, SeededBits
from graphveil.errors import InputError
from graphveil.graphs.graph import Graph, pair_codes, symmetric_csr
from graphveil.graphs.links import PRIVATE_EDGES, divide_edges
from graphveil.mechanisms import (
    DegreeLinkMechanism,
    LinkMechanism,
    Mechanism,
    NeighbourLists,
    Reports,
    SampledLinkMechanism,
    mechanism,
)
from graphveil.mechanisms.base import Subject
from graphveil.mechanisms.edgerr import EdgeRR
from graphveil.mechanisms.lapgraph import LapGraph, PublishedGraph

# Pairs of one graph of a curator, and graphs that are published in a run: a walk over dendrograms takes seconds.
TOGETHER, PUBLICATIONS, WALKS = 8, 20, 5
# No probability counts as smaller.
RAREST = 1e-300
# The stream from which a curator's graph with real links is drawn.
NATURAL = 23


class LinkAttack(MechanismAttack):
    """Users are paired off at random, each pair is linked or not by a fair coin, and that is guessed from all that is published.

    Everybody is in one such pair at most. All other links stay as they are, and the attacker knows them. Of `link-rr`, `blink` and `dprr`
    Bayes is exact: the answers about the pair, and the noisy degrees of both its ends. A curator publishes several graphs, each with
    a few such pairs (`link_ratios`): one noisy number there is about all links of the graph or of a part of it.
    """

    name: ClassVar[str] = "link"
    summary: ClassVar[str] = "whether two users are linked, from reported lists or from a published graph"
    subjects: ClassVar[tuple[Subject, ...]] = ("links",)
    mechanism: ClassVar[str] = "link-rr"
    unit: ClassVar[str] = "one link, at its budget over everything that both its ends send"
    game: ClassVar[str] = (
        "users are paired off at random, and each pair (of a curator's graph: each of a few) is linked or not by a fair coin; the attacker sees "
        "everything that is published and knows all links that are not planted; in the control reports are blind"
    )

    def build(self, name: str, epsilon: float, graph: Graph, seed: int, options: dict[str, Any]) -> Mechanism:
        """Build a mechanism for links, with some of them public where that is asked for.

        Parameters
        ----------
        name, epsilon, graph, seed, options
            As in `MechanismAttack.build`.
        """
        if graph.node_count < 4 or not graph.edge_count:
            raise InputError(f"{graph.name} has no links to infer: take a graph that has some")
        own = {key: value for key, value in options.items() if key != PRIVATE_EDGES}
        known: dict[str, Any] = {"dims": graph.node_count}
        if options.get(PRIVATE_EDGES) is not None:
            if not accepted_by(name, {"public": ()}):
                raise InputError(f"{name} takes no {PRIVATE_EDGES}: leave it out, or take edgerr")
            edges = divide_edges(graph, options[PRIVATE_EDGES], seed)
            known |= {"public": edges.public.ravel(), "private_users": edges.private_users}
        built = mechanism(name, epsilon=epsilon, **known, **own)
        denoise.refuse_too_many(built, None, dense=True)
        return built

    def deal(self, target: Reporting, seed: int, dice: np.random.Generator) -> Deal:
        """Plant links between pairs of users.

        Parameters
        ----------
        target, seed, dice
            As in `Attack.deal`.
        """
        mechanism, pair = target.mechanism, target.pair
        assert isinstance(mechanism, LinkMechanism)
        # Everybody reports once, and is in one pair. A curator publishes several graphs, each with a few pairs: one number is about
        # all of a graph's links, and many coins would drown in it.
        graphs, together, stream = 1, mechanism.size, REPORTS
        if isinstance(mechanism, PublishedGraph):
            graphs, together = WALKS if isinstance(mechanism, EdgeRR) else PUBLICATIONS, TOGETHER
            stream = NATURAL
        dealt = [Planted.of(target, paired_off(mechanism, dice)[:together], dice) for _ in range(graphs)]

        def guess(control: bool) -> NDArray[np.bool_]:
            random_bits = SeededBits(seed, REPORTS)
            return likelier(
                np.concatenate([link_ratios(mechanism, pair[control], each, random_bits) for each in dealt]),
                dice,
            )

        def natural() -> dict[str, Natural]:
            real = dealt[0]
            if isinstance(mechanism, PublishedGraph):
                real = Planted.of(target, paired_off(mechanism, dice), dice)
            published = [
                PublishedLinks(mechanism, draw_reports(each, real.lists, seed, stream)) for each in pair
            ]
            return _natural(mechanism, real, published, dice)

        bits = np.concatenate([each.bits for each in dealt])
        return Deal(Stakes(2, mechanism.claim.epsilon), bits, guess, natural)


def _natural(
    mechanism: LinkMechanism,
    planted: Planted,
    published: Sequence[PublishedLinks],
    dice: np.random.Generator,
) -> dict[str, Natural]:
    """Real links, and as many pairs without one."""
    linked, unlinked = _real_pairs(mechanism, planted, dice)
    truth = np.repeat([True, False], [len(linked), len(unlinked)])
    real = np.concatenate([linked, unlinked])
    found, control = (balanced(seen.names(real), truth) for seen in published)
    return naturals({"what is said of the pair": (found, control)})


def _real_pairs(
    mechanism: LinkMechanism, planted: Planted, dice: np.random.Generator
) -> tuple[Numbers, Numbers]:
    """As many links that are really there as were planted, and as many pairs that are not linked."""
    size, wanted = mechanism.size, len(planted.pairs)
    linked = dice.permutation(private_pairs(mechanism, planted.around))[:wanted]
    drawn = np.sort(dice.integers(0, size, (8 * wanted, 2)), axis=1)
    apart = private_pairs(mechanism, np.unique(drawn[drawn[:, 0] < drawn[:, 1]], axis=0))
    free = without(without(apart, planted.around, size), planted.pairs, size)
    return linked, dice.permutation(free)[:wanted]


def pair_ratios(
    mechanism: LinkMechanism, published: PublishedLinks, pairs: Numbers, around: Numbers
) -> Floats:
    """Return log P[reports | linked]/P[reports | not linked] of each pair, where all other links are known.

    Parameters
    ----------
    published
        The links that were named.
    pairs
        The attacked pairs, smaller number first: (pairs, 2) int64.
    around
        All other links: (links, 2) int64.
    """
    smaller, larger = pairs.T
    if isinstance(mechanism, SampledLinkMechanism):
        return _sampled_ratios(mechanism, published, pairs, around)
    each = np.log((TOTAL - mechanism.channel.other) / mechanism.channel.other)
    ratios = np.where(published.says(larger, smaller), each, -each)
    if mechanism.ends == "both":
        ratios += np.where(published.says(smaller, larger), each, -each)
    if isinstance(mechanism, DegreeLinkMechanism):
        assert published.degrees is not None
        degrees = np.bincount(around.ravel(), minlength=mechanism.size)
        for end in (smaller, larger):
            ratios += _number_ratios(mechanism.counted, degrees[end], published.degrees[end])
    return np.asarray(ratios)


def _sampled_ratios(
    mechanism: SampledLinkMechanism, published: PublishedLinks, pairs: Numbers, around: Numbers
) -> Floats:
    """The larger number answers for the pair and counts it; how likely a pair is named follows from the noisy number."""
    assert published.degrees is not None
    smaller, larger = pairs.T
    noisy = published.degrees[larger]
    links = np.bincount(around[:, 1], minlength=mechanism.size)[larger]
    counts = [mechanism.named_counts(*each) for each in zip(larger.tolist(), noisy.tolist(), strict=True)]
    by_mistake, right = (
        np.maximum(np.array(each, dtype=np.float64), 1e-30) for each in zip(*counts, strict=True)
    )
    yes, no = np.log(right / by_mistake), np.log((TOTAL - right) / (TOTAL - by_mistake))
    answered = np.where(published.says(larger, smaller), yes, no)
    return np.asarray(answered + _number_ratios(mechanism.counted, links, noisy))


def _number_ratios(channel: CountingChannel, numbers: Numbers, noisy: Numbers) -> Floats:
    """log P[noisy | one more]/P[noisy | the number] of some numbers."""
    last = channel.input_count - 1
    weights, tails = channel.weights.astype(np.float64), np.array(channel.tails, dtype=np.float64)

    def counts(of: Numbers) -> Floats:
        held = np.minimum(of, last)
        ends = np.where(noisy == 0, tails[held], tails[last - held])
        return np.where((noisy == 0) | (noisy == last), ends, weights[np.abs(noisy - held)])

    return np.asarray(np.log(counts(numbers + 1)) - np.log(counts(numbers)))


@dataclass(frozen=True)
class Planted:
    """Pairs of users (smaller number first) that are linked where a coin says so, among all other links, ``around``."""

    pairs: Numbers
    bits: NDArray[np.bool_]
    around: Numbers
    lists: NeighbourLists

    @classmethod
    def of(cls, target: Reporting, pairs: Numbers, dice: np.random.Generator) -> Planted:
        """Plant coins in the place of some pairs of a graph.

        Parameters
        ----------
        target
            The users who report.
        pairs
            The pairs, smaller number first: (pairs, 2) int64.
        dice
            The generator of coins.
        """
        bits, size = dice.random(len(pairs)) < 0.5, target.graph.node_count
        around = without(target.graph.pairs(), pairs, size)
        indptr, neighbours = symmetric_csr(np.concatenate([around, pairs[bits]]), size)
        return cls(pairs, bits, around, NeighbourLists(np.arange(size), indptr, neighbours))


class PublishedLinks:
    """The links that everybody named, read as the attacked mechanism sends them."""

    def __init__(self, mechanism: LinkMechanism, reports: Reports) -> None:
        self.size = mechanism.size
        pointers, named = mechanism.neighbours(reports)
        owners = np.repeat(np.arange(self.size), np.diff(pointers))
        self._codes = owners * self.size + named.astype(np.int64)
        self.degrees = mechanism.degrees(reports)

    @property
    def count(self) -> int:
        """The number of named links."""
        return len(self._codes)

    def says(self, owners: Numbers, others: Numbers) -> NDArray[np.bool_]:
        """Return whether each of some users named another."""
        return np.isin(owners * self.size + others, self._codes)

    def names(self, pairs: Numbers) -> NDArray[np.bool_]:
        """Return whether either end of each pair (smaller number first) named the other."""
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
    """Return those of some pairs that are not among others.

    Parameters
    ----------
    pairs, others
        (pairs, 2) int64 each.
    size
        The number of users.
    """
    return pairs[~np.isin(pair_codes(pairs, size), pair_codes(others, size))]


def link_ratios(
    mechanism: LinkMechanism, sends: Mechanism, planted: Planted, random_bits: RandomBits
) -> Floats:
    """Return log P[what is seen | linked]/P[what is seen | not linked] of each planted pair.

    Of `edgerr` and `privhrg` more is seen than is published: the dendrogram's regions and their noisy counts,
    from which the graph is drawn. Their ε is about just that, and the pairs that are drawn in the end tell no
    more. How likely the dendrogram is, is left out. Of any other curator's graph the pair's own bit is seen.

    Parameters
    ----------
    mechanism
        The attacked mechanism.
    sends
        The mechanism or its control.
    planted
        The planted pairs, and the links around them.
    random_bits
        The source of random words.
    """
    if isinstance(mechanism, EdgeRR):
        assert isinstance(sends, EdgeRR)
        return _sketch_ratios(mechanism, sends, planted, random_bits)
    published = PublishedLinks(mechanism, sends.randomize(planted.lists, random_bits))
    if not isinstance(mechanism, PublishedGraph):
        return pair_ratios(mechanism, published, planted.pairs, planted.around)
    said = published.says(planted.pairs[:, 1], planted.pairs[:, 0])
    if isinstance(mechanism, LapGraph):
        return _lapgraph_ratios(mechanism, published.count, said, planted)
    return np.where(said, 1.0, -1.0)


def _lapgraph_ratios(
    mechanism: LapGraph, published: int, said: NDArray[np.bool_], planted: Planted
) -> Floats:
    """The pair's bit, and how many pairs are published in all.

    With so many noisy cells of at least 1 as are expected, those are published first, at random where they are too many.
    """
    size, wrong, known = mechanism.size, float(mechanism.wrong), len(planted.around)
    cells, links = size * (size - 1) / 2, known + len(planted.pairs) / 2
    yes = links * (1 - wrong) + (cells - links) * wrong
    beyond = max(0.0, (published - yes) / max(cells - yes, 1.0))

    def named(above: float) -> float:
        return above * min(1.0, published / yes) + (1 - above) * beyond

    linked, apart = named(1 - wrong), named(wrong)
    ratios = [_log_ratio(linked, apart), _log_ratio(1 - linked, 1 - apart)]
    number = number_ratio(float(mechanism.ratio), published - known, len(planted.pairs) - 1)
    return np.where(said, ratios[0], ratios[1]) + number


def _sketch_ratios(mechanism: EdgeRR, sends: EdgeRR, planted: Planted, random_bits: RandomBits) -> Floats:
    """The noisy count of the one region that a pair is in, beside the links there that are known and the pairs there that are not."""
    regions, noisy = sends.sketch(planted.lists, random_bits)
    place = np.full(mechanism.size, -1)
    place[regions.line] = np.arange(len(regions.line))
    known = place[private_pairs(mechanism, planted.around)]
    asked = place[planted.pairs]
    ratios = []
    for pair in asked:
        region = int(_inside(pair[None, :], regions.first, regions.middle, regions.last).argmax())
        bounds = (regions.first[region], regions.middle[region], regions.last[region])
        links, unknown = (int(_inside(pairs, *bounds).sum()) for pairs in (known, asked))
        ratios.append(number_ratio(float(mechanism.ratio), int(noisy[region]) - links, unknown - 1))
    return np.array(ratios)


def _inside(places: Numbers, first: Any, middle: Any, last: Any) -> NDArray[np.bool_]:
    """Return which pairs of places on the line are in a region.

    They are within it where it is whole, else one is on either side of its middle.
    """
    low, high = places.min(axis=1), places.max(axis=1)
    whole = middle == last
    split = whole | ((low < middle) & (high >= middle))
    return np.asarray((low >= first) & (high < last) & split)


def number_ratio(ratio: float, more: int, unknown: int) -> float:
    """Return log P[noisy number | the pair is linked]/P[noisy number | it is not].

    Parameters
    ----------
    ratio
        The ratio of the noise, which is two-sided geometric.
    more
        The noisy number minus known links.
    unknown
        The number of other pairs that are linked or not by fair coins.

    >>> round(number_ratio(math.exp(-1), 1, 0), 6), round(number_ratio(math.exp(-1), 0, 0), 6)
    (1.0, -1.0)
    """
    linked = np.arange(unknown + 1)
    coins = np.array([math.comb(unknown, each) for each in linked], dtype=np.float64)
    steps = np.abs(more - linked[:, None] - np.array([1, 0]))
    # The nearest number counts for 1: far ones would be too small for a float.
    chances = coins @ np.exp(math.log(ratio) * (steps - steps.min()))
    return float(np.log(chances[0]) - np.log(chances[1]))


def _log_ratio(one: float, other: float) -> float:
    return math.log(max(one, RAREST) / max(other, RAREST))
