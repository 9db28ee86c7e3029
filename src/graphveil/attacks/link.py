"""Link inference: whether two users are linked, from what they report or from a graph that a curator publishes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphveil import denoise
from graphveil.attacks.game import (
    MechanismAttack,
    Numbers,
    Played,
    Stakes,
    Tally,
    accepted_by,
    balanced,
    dice_of,
    likelier,
    naturals,
    words_of,
)
from graphveil.channels.counting import CountingChannel
from graphveil.channels.exact import TOTAL
from graphveil.errors import InputError
from graphveil.graphs.graph import Graph, pair_codes, symmetric_csr
from graphveil.graphs.private_edges import divide_edges
from graphveil.graphs.users import Users
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
from graphveil.mechanisms.published import PublishedGraph

# The option that says which links are private, where the others are public.
PRIVATE_EDGES = "private_edges"

Floats = NDArray[np.float64]


class LinkAttack(MechanismAttack):
    """Users are paired off at random, each pair is linked or not by a fair coin, and that is guessed from all that is published.

    Everybody is in one such pair at most. All other links stay as they are, and the attacker knows them. Of `link-rr`, `blink` and `dprr`
    Bayes is exact: the answers about the pair, and the noisy degrees of both its ends. Of a graph that a curator publishes the attacker
    guesses what it says of the pair itself, which is the likelier case; somebody who made more of the rest of it might do better.
    """

    name: ClassVar[str] = "link"
    summary: ClassVar[str] = "whether two users are linked, from reported lists or from a published graph"
    subjects: ClassVar[tuple[Subject, ...]] = ("links",)
    mechanism: ClassVar[str] = "link-rr"
    unit: ClassVar[str] = "one link, at its budget over everything that both its ends send"
    game: ClassVar[str] = (
        "users are paired off at random, and each pair is linked or not by a fair coin; the attacker sees everything that is published and "
        "knows all other links; in the control reports are blind"
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

    def stakes(self, mechanism: Mechanism) -> Stakes:
        return Stakes(2, mechanism.claim.epsilon)

    def play(self, mechanism: Mechanism, graph: Graph, users: Users, seed: int) -> Played:
        assert isinstance(mechanism, LinkMechanism)
        dice = dice_of(seed)
        targets = paired_off(mechanism, dice)
        bits = dice.random(len(targets)) < 0.5
        around = _without(graph.pairs(), targets, graph.node_count)
        indptr, neighbours = symmetric_csr(np.concatenate([around, targets[bits]]), graph.node_count)
        lists = NeighbourLists(np.arange(graph.node_count), indptr, neighbours)
        linked, unlinked = _real_pairs(mechanism, around, targets, dice)
        real, truth = (
            np.concatenate([linked, unlinked]),
            np.repeat([True, False], [len(linked), len(unlinked)]),
        )
        tallies, natural = [], []
        for each in (mechanism, mechanism.blind()):
            published = PublishedLinks(mechanism, each.randomize(lists, words_of(seed)))
            tallies.append(Tally.of(likelier(pair_ratios(mechanism, published, targets, around), dice), bits))
            natural.append(balanced(published.names(real), truth))
        return Played(
            tallies[0], tallies[1], naturals({"what is said of the pair": (natural[0], natural[1])})
        )


class PublishedLinks:
    """What everybody named, read as the mechanism that is attacked sends it."""

    def __init__(self, mechanism: LinkMechanism, reports: Reports) -> None:
        self.size = mechanism.size
        pointers, named = mechanism.neighbours(reports)
        owners = np.repeat(np.arange(self.size), np.diff(pointers))
        self._codes = owners * self.size + named.astype(np.int64)
        self.degrees = mechanism.degrees(reports)

    def says(self, owners: Numbers, others: Numbers) -> NDArray[np.bool_]:
        """Whether each of some users named another."""
        return np.isin(owners * self.size + others, self._codes)

    def names(self, pairs: Numbers) -> NDArray[np.bool_]:
        """Whether either end of each pair (smaller number first) named the other."""
        return self.says(pairs[:, 1], pairs[:, 0]) | self.says(pairs[:, 0], pairs[:, 1])


def paired_off(mechanism: LinkMechanism, dice: np.random.Generator) -> Numbers:
    """Users in pairs at random, smaller number first, each in one at most; pairs whose links are public are left out."""
    users = np.arange(mechanism.size)
    if isinstance(mechanism, EdgeRR):
        users = np.flatnonzero(mechanism.private)
    shuffled = dice.permutation(users)
    pairs = np.sort(shuffled[: len(shuffled) // 2 * 2].reshape(-1, 2), axis=1)
    return _private(mechanism, pairs)


def _private(mechanism: LinkMechanism, pairs: Numbers) -> Numbers:
    """Those of some pairs whose links are private."""
    if not isinstance(mechanism, EdgeRR):
        return pairs
    both = mechanism.private[pairs].all(axis=1)
    return _without(pairs[both], np.sort(mechanism.public, axis=1), mechanism.size)


def _without(pairs: Numbers, others: Numbers, size: int) -> Numbers:
    return pairs[~np.isin(pair_codes(pairs, size), pair_codes(others, size))]


def _real_pairs(
    mechanism: LinkMechanism, around: Numbers, targets: Numbers, dice: np.random.Generator
) -> tuple[Numbers, Numbers]:
    """As many links that are really there as were planted, and as many pairs that are not linked."""
    size, wanted = mechanism.size, len(targets)
    linked = dice.permutation(_private(mechanism, around))[:wanted]
    drawn = np.sort(dice.integers(0, size, (8 * wanted, 2)), axis=1)
    apart = _private(mechanism, np.unique(drawn[drawn[:, 0] < drawn[:, 1]], axis=0))
    free = _without(_without(apart, around, size), targets, size)
    return linked, dice.permutation(free)[:wanted]


def pair_ratios(
    mechanism: LinkMechanism, published: PublishedLinks, pairs: Numbers, around: Numbers
) -> Floats:
    """log P[published | linked]/P[published | not linked] of each pair, where all other links are known.

    Of a curator's graph only which is likelier: 1 where the pair is in it, else -1.
    """
    smaller, larger = pairs.T
    if isinstance(mechanism, PublishedGraph):
        return np.where(published.says(larger, smaller), 1.0, -1.0)
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
