"""Membership inference: whether a user's own label was among those that a model learned from."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from graphveil.attacks.game import Attack, Natural, Numbers, Played, Stakes, Tally, balanced, dice_of
from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.graphs.splits import GivenSplit
from graphveil.graphs.users import Users
from graphveil.methods.outcome import Outcome

# What of a model is seen: its scores of all classes for all users, or its embedding of them.
Seen = Literal["scores", "embedding"]
SEEN: tuple[Seen, ...] = ("scores", "embedding")
# Users whose coins are guessed at least: fewer say nothing.
FEWEST = 8

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]


class Learner(Protocol):
    """Whoever trains models on a graph and its users."""

    @property
    def label_epsilon(self) -> float | None:
        """The budget of a label; None where labels are public."""

    @property
    def has_control(self) -> bool:
        """Whether features are reported, so that they can be blind."""

    def split(self, seed: int) -> tuple[Graph, Users]:
        """The data with the split of a run."""

    def learn(self, graph: Graph, users: Users, seed: int, *, blind: bool) -> Outcome:
        """What a method learns from a graph whose split is given, from users who answer; ``blind`` about features, or not."""


class MembershipAttack(Attack):
    """Half of the training users throw a coin: they train with their own label, or with one drawn at random.

    The attacker knows everybody's own label and sees what the model says of everybody. Who trained with the own label has a lower loss on
    it. The threshold is the best one for half of those users, whose coins are told, and the coins of the others are guessed.
    The ε of the bound is that of a label: own and drawn label are two inputs of one report, and a model is made of reports. Where
    labels are public nothing is promised.

    In the natural game other training users, who trained with their own label, are told from test users.
    """

    name: ClassVar[str] = "membership"
    summary: ClassVar[str] = (
        "whether a user's own label was learned from, from a model's scores or its embedding"
    )
    unit: ClassVar[str] = "the label of one user"
    game: ClassVar[str] = (
        "half of the training users train with their own label or with one drawn at random, by a fair coin; the attacker knows the own "
        "label, sees what the model says of everybody, and is told the coins of half of them; in the control the model learned from "
        "other coins"
    )

    def stakes(self, learner: Learner) -> Stakes:
        """What a guess about planted coins can win."""
        return Stakes(2, math.inf if learner.label_epsilon is None else learner.label_epsilon)

    def play(self, learner: Learner, seed: int, seen: Seen = "scores") -> Played:
        """One run."""
        graph, users = learner.split(seed)
        _check(graph)
        dice = dice_of(seed)
        training = dice.permutation(np.flatnonzero(graph.train))
        if len(training) < 4 * FEWEST:
            raise InputError(
                f"membership inference needs at least {4 * FEWEST} training users, {graph.name} has {len(training)}: take another split, "
                "on town for example --set data.labelled=0.3"
            )
        attacked, members = np.split(training, [len(training) // 2])
        coins, others = (dice.random(len(attacked)) < 0.5 for _ in range(2))
        labels, again = (_planted(graph, users, attacked, each, dice) for each in (coins, others))
        strangers = dice.permutation(np.flatnonzero(graph.test))[: len(members)]
        own = users.raw.labels
        outcome = _learned(learner, graph, users, labels, seed)
        losses = own_label_scores(outcome, seen, own, members)
        control = own_label_scores(_learned(learner, graph, users, again, seed), seen, own, members)
        real, blind = _told_apart(losses, members, strangers, dice), None
        if learner.has_control:
            unseen = _learned(learner, graph, users, labels, seed, blind=True)
            blind = _told_apart(own_label_scores(unseen, seen, own, members), members, strangers, dice)
        natural = {} if real is None else {"training or test user": Natural(real, blind)}
        return Played(_guessed(losses[attacked], coins), _guessed(control[attacked], coins), natural)


def _check(graph: Graph) -> None:
    if graph.multilabel or graph.class_count < 2:
        raise InputError(
            f"membership inference asks for one class a user, which users of {graph.name} have not: take another graph, or choose one "
            "label with data.label=0"
        )


def _planted(
    graph: Graph, users: Users, attacked: Numbers, coins: Bits, dice: np.random.Generator
) -> Numbers:
    """Everybody's label as it is trained with."""
    labels = users.raw.labels.copy()
    drawn = dice.integers(0, graph.class_count, len(attacked))
    labels[attacked] = np.where(coins, labels[attacked], drawn)
    return labels


def _learned(
    learner: Learner, graph: Graph, users: Users, labels: Numbers, seed: int, *, blind: bool = False
) -> Outcome:
    """What is learned where users hold these labels, with the same split."""
    raw = users.raw
    planted = Users(raw.features, labels, neighbours=raw.neighbours, levels=raw.levels)
    known = np.where(graph.train | graph.validation, labels, graph.labels)
    recipe = GivenSplit(graph.train, graph.validation, graph.test)
    return learner.learn(replace(graph, labels=known, recipe=recipe), planted, seed, blind=blind)


def own_label_scores(outcome: Outcome, seen: Seen, labels: Numbers, known: Numbers) -> Floats:
    """How likely everybody's own label is by a model, as a logarithm: minus the loss.

    Of an embedding the attacker makes such a model: the nearer the centre of a class among users whose labels are known, the likelier.
    """
    rows: Any = outcome.scores if seen == "scores" else outcome.embedding
    if rows is None:
        raise InputError(
            f"this method has no {seen} of users to attack: take another method, or --seen {'scores' if seen == 'embedding' else 'embedding'}"
        )
    scores = np.asarray(rows, dtype=np.float64)
    if seen == "embedding":
        scores = _nearness(scores, labels, known)
    scores = scores - scores.max(axis=1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return np.asarray(logs[np.arange(len(logs)), np.maximum(labels, 0)])


def _nearness(rows: Floats, labels: Numbers, known: Numbers) -> Floats:
    """Minus the squared distance of every row from the centre of each class, in mean squared distances from the own one."""
    everywhere = rows[known].mean(axis=0)
    centres = np.stack(
        [
            rows[known[labels[known] == each]].mean(axis=0) if (labels[known] == each).any() else everywhere
            for each in range(int(labels.max()) + 1)
        ]
    )
    squares = ((rows[:, None, :] - centres) ** 2).sum(axis=2)
    usual = squares[known, labels[known]].mean()
    return np.asarray(-squares / max(float(usual), 1e-12))


def best_threshold(scores: Floats, bits: Bits) -> float:
    """The threshold above which guessing 1, and 0 elsewhere, is right most often.

    >>> best_threshold(np.array([0.0, 1.0, 2.0, 3.0]), np.array([False, False, True, True]))
    1.5
    """
    order = np.argsort(-scores, kind="stable")
    falling = scores[order]
    gained = np.concatenate([[0], np.cumsum(np.where(bits[order], 1, -1))])
    # Between equal scores there is no threshold.
    allowed = np.concatenate([[True], falling[1:] < falling[:-1], [True]])
    best = int(np.where(allowed, gained, gained.min() - 1).argmax())
    ends = np.concatenate([[falling[0] + 1], falling, [falling[-1] - 1]])
    return float((ends[best] + ends[best + 1]) / 2)


def _guessed(scores: Floats, coins: Bits) -> Tally:
    """What is guessed of the second half, by the threshold of the first."""
    half = len(coins) // 2
    return Tally.of(scores[half:] > best_threshold(scores[:half], coins[:half]), coins[half:])


def _told_apart(
    scores: Floats, members: Numbers, strangers: Numbers, dice: np.random.Generator
) -> float | None:
    """The balanced accuracy by which members are told from strangers, by the threshold for half of them all."""
    everybody = np.concatenate([members, strangers])
    inside = np.repeat([True, False], [len(members), len(strangers)])
    order = dice.permutation(len(everybody))
    first, second = np.split(order, [len(order) // 2])
    threshold = best_threshold(scores[everybody[first]], inside[first])
    return balanced(scores[everybody[second]] > threshold, inside[second])
