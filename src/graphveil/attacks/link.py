"""Link inference: whether two users are linked, from what they report or from a graph that a curator publishes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphveil import denoise
from graphveil.attacks.curator import curator_ratios, publications
from graphveil.attacks.game import (
    Deal,
    MechanismAttack,
    Natural,
    Numbers,
    Reporting,
    Stakes,
    accepted_by,
    balanced,
    likelier,
    naturals,
    words_of,
)
from graphveil.attacks.planted_links import Planted, PublishedLinks, paired_off, private_pairs, without
from graphveil.channels.counting import CountingChannel
from graphveil.channels.exact import TOTAL
from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.graphs.links import divide_edges
from graphveil.mechanisms import (
    DegreeLinkMechanism,
    LinkMechanism,
    Mechanism,
    SampledLinkMechanism,
    mechanism,
)
from graphveil.mechanisms.base import Subject
from graphveil.mechanisms.lapgraph import PublishedGraph

# The option that says which links are private, where the others are public.
PRIVATE_EDGES = "private_edges"
# Pairs of one graph of a curator.
TOGETHER = 8
# The stream from which a curator's graph with real links is drawn.
NATURAL = 23

Floats = NDArray[np.float64]


class LinkAttack(MechanismAttack):
    """Users are paired off at random, each pair is linked or not by a fair coin, and that is guessed from all that is published.

    Everybody is in one such pair at most. All other links stay as they are, and the attacker knows them. Of `link-rr`, `blink` and `dprr`
    Bayes is exact: the answers about the pair, and the noisy degrees of both its ends. A curator publishes several graphs, each with
    a few such pairs (`curator_ratios`): one noisy number there is about all links of the graph or of a part of it.
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
        if graph.node_count < 4 or not graph.edge_count:
            raise InputError(f"{graph.name} has no links to infer: take a graph that has some")
        own = {key: value for key, value in options.items() if key != PRIVATE_EDGES}
        known: dict[str, Any] = {"dims": graph.node_count}
        if options.get(PRIVATE_EDGES) is not None:
            if not accepted_by(name, {"public": ()}):
                raise InputError(
                    f"{name} takes no {PRIVATE_EDGES}, all links are private: leave it out, or take edgerr"
                )
            edges = divide_edges(graph, options[PRIVATE_EDGES], seed)
            known |= {"public": edges.public.ravel(), "private_users": edges.private_users}
        built = mechanism(name, epsilon=epsilon, **known, **own)
        denoise.refuse_too_many(built, None, dense=True)
        return built

    def deal(self, target: Reporting, seed: int, dice: np.random.Generator) -> Deal:
        assert isinstance(target.mechanism, LinkMechanism)
        curated = isinstance(target.mechanism, PublishedGraph)
        return _deal_curated(target, seed, dice) if curated else _deal_local(target, seed, dice)


def _deal_local(target: Reporting, seed: int, dice: np.random.Generator) -> Deal:
    """Everybody reports once, and is in one pair."""
    mechanism, pair = target.mechanism, target.pair
    assert isinstance(mechanism, LinkMechanism)
    planted = Planted.of(target, paired_off(mechanism, dice), dice)

    @cache
    def published(control: bool) -> PublishedLinks:
        return PublishedLinks(mechanism, pair[control].randomize(planted.lists, words_of(seed)))

    def guess(control: bool) -> NDArray[np.bool_]:
        ratios = pair_ratios(mechanism, published(control), planted.pairs, planted.around)
        return likelier(ratios, dice)

    def natural() -> dict[str, Natural]:
        return _natural(mechanism, planted, published, dice)

    return Deal(Stakes(2, mechanism.claim.epsilon), planted.bits, guess, natural)


def _deal_curated(target: Reporting, seed: int, dice: np.random.Generator) -> Deal:
    """Several graphs are published, each with a few pairs: one number is about all of a graph's links, and many coins would drown in it."""
    mechanism, pair = target.mechanism, target.pair
    assert isinstance(mechanism, PublishedGraph)
    dealt = []
    for _ in range(publications(mechanism)):
        dealt.append(Planted.of(target, paired_off(mechanism, dice)[:TOGETHER], dice))

    def guess(control: bool) -> NDArray[np.bool_]:
        words = words_of(seed)
        ratios = [curator_ratios(mechanism, pair[control], each, words) for each in dealt]
        return likelier(np.concatenate(ratios), dice)

    def natural() -> dict[str, Natural]:
        real = Planted.of(target, paired_off(mechanism, dice), dice)

        def published(control: bool) -> PublishedLinks:
            return PublishedLinks(mechanism, pair[control].randomize(real.lists, words_of(seed, NATURAL)))

        return _natural(mechanism, real, published, dice)

    bits = np.concatenate([each.bits for each in dealt])
    return Deal(Stakes(2, mechanism.claim.epsilon), bits, guess, natural)


def _natural(
    mechanism: LinkMechanism,
    planted: Planted,
    published: Callable[[bool], PublishedLinks],
    dice: np.random.Generator,
) -> dict[str, Natural]:
    """Real links, and as many pairs without one."""
    linked, unlinked = _real_pairs(mechanism, planted, dice)
    truth = np.repeat([True, False], [len(linked), len(unlinked)])
    real = np.concatenate([linked, unlinked])
    found, control = (balanced(published(blind).names(real), truth) for blind in (False, True))
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
    """log P[reports | linked]/P[reports | not linked] of each pair, where all other links are known."""
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
