"""Membership inference: whether a user's own label was among those that a model learned from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphveil.attacks.game import Numbers, balanced
from graphveil.attacks.model import Floats, Lesson, ModelAttack
from graphveil.graphs.graph import Graph

Bits = NDArray[np.bool_]


class MembershipAttack(ModelAttack):
    """Half of the training users throw a coin: they train with their own label, or with one drawn at random.

    The attacker knows everybody's own label and sees what the model says of everybody. Who trained with the own label has a lower loss on
    it than in the attacker's own model, on which the coin had no say. The threshold is the best one for half of those users,
    whose coins are told, and the coins of the others are guessed. The ε of the bound is that of a label: own and drawn label are two
    inputs of one report, and a model is made of reports. Where labels are public nothing is promised.

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

    def values(self, graph: Graph) -> int:
        return 2

    def plant(self, lesson: Lesson, dice: np.random.Generator) -> tuple[NDArray[Any], Numbers]:
        coins = dice.random(len(lesson.attacked)) < 0.5
        drawn = dice.integers(0, lesson.graph.class_count, len(coins))
        return coins, np.where(coins, lesson.own[lesson.attacked], drawn)

    def counted(self, secrets: NDArray[Any]) -> NDArray[Any]:
        return secrets[len(secrets) // 2 :]

    def decide(
        self, lesson: Lesson, changes: Floats, secrets: NDArray[Any], dice: np.random.Generator
    ) -> NDArray[Any]:
        half, own = len(secrets) // 2, changes[np.arange(len(changes)), lesson.own[lesson.attacked]]
        return np.asarray(own[half:] > best_threshold(own[:half], secrets[:half]))

    def natural(
        self, lesson: Lesson, dice: np.random.Generator
    ) -> tuple[str, Callable[[Floats], float | None]]:
        strangers = dice.permutation(np.flatnonzero(lesson.graph.test))[: len(lesson.known)]
        everybody = np.concatenate([lesson.known, strangers])
        inside = np.repeat([True, False], [len(lesson.known), len(strangers)])
        first, second = np.array_split(dice.permutation(len(everybody)), 2)

        def told_apart(scores: Floats) -> float | None:
            """By the threshold for half of them all."""
            own = scores[everybody, lesson.own[everybody]]
            return balanced(own[second] > best_threshold(own[first], inside[first]), inside[second])

        return "training or test user", told_apart


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
