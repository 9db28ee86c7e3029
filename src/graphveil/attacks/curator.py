"""What a curator's published graph tells of a pair, where some other pairs are unknown too."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.attacks.game import Numbers
from graphveil.attacks.planted_links import Planted, PublishedLinks, private_pairs
from graphveil.channels.sampling import Words
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.edgerr import EdgeRR
from graphveil.mechanisms.lapgraph import LapGraph, PublishedGraph

# Graphs that are published in a run: a walk over dendrograms takes seconds.
PUBLICATIONS, WALKS = 20, 5
# No probability counts as smaller.
RAREST = 1e-300

Floats = NDArray[np.float64]


def publications(mechanism: PublishedGraph) -> int:
    """How many graphs a run publishes."""
    return WALKS if isinstance(mechanism, EdgeRR) else PUBLICATIONS


def curator_ratios(mechanism: PublishedGraph, sends: Mechanism, planted: Planted, words: Words) -> Floats:
    """log P[what is seen | linked]/P[what is seen | not linked] of each planted pair; ``sends`` is the mechanism or its control.

    Of `edgerr` and `privhrg` more is seen than is published: the dendrogram's regions and their noisy counts, from which the graph is drawn.
    Their ε is about just that, and the pairs that are drawn in the end tell no more. How likely the dendrogram is is left out.
    Of any other curator's graph the pair's own bit is seen.
    """
    if isinstance(mechanism, EdgeRR):
        assert isinstance(sends, EdgeRR)
        return _sketch_ratios(mechanism, sends, planted, words)
    published = PublishedLinks(mechanism, sends.randomize(planted.lists, words))
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


def _sketch_ratios(mechanism: EdgeRR, sends: EdgeRR, planted: Planted, words: Words) -> Floats:
    """The noisy count of the one region that a pair is in, beside the links there that are known and the pairs there that are not."""
    regions, noisy = sends.sketch(planted.lists, words)
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
    """Which pairs of places on the line are in a region: within it where it is whole, else one on either side of its middle."""
    low, high = places.min(axis=1), places.max(axis=1)
    whole = middle == last
    split = whole | ((low < middle) & (high >= middle))
    return np.asarray((low >= first) & (high < last) & split)


def number_ratio(ratio: float, more: int, unknown: int) -> float:
    """log P[noisy number | the pair is linked]/P[noisy number | it is not], where ``more`` is noisy number minus known links.

    Noise is two-sided geometric with this ratio, and so many other pairs are linked or not by fair coins.

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
