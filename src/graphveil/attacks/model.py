"""Attacks on what a method learned: labels are planted before it learns, and its scores or its embedding are seen.

Label inference guesses the label that a user trained with, membership inference whether it was the user's own.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from graphveil.attacks.game import (
    Attack,
    Deal,
    Floats,
    Natural,
    Numbers,
    Stakes,
    balanced,
    check_one_class,
    likeliest,
)
from graphveil.errors import InputError
from graphveil.graphs.graph import UNKNOWN, Graph
from graphveil.graphs.splits import GivenSplit
from graphveil.graphs.users import Users
from graphveil.methods.tasks import Outcome

# What of a model is seen: its scores of all classes for all users, or its embedding of them.
Seen = Literal["scores", "embedding"]
SEEN: tuple[Seen, ...] = ("scores", "embedding")
# Users whose secrets are guessed at least: fewer say nothing.
FEWEST = 8
# What is flipped of a run's seed where labels are reported, and where the attacker's own model learns from some: the noise of labels is that
# of nothing else, so that nobody who knows all other noise knows it.
LABELS, APART = 1 << 32, 1 << 33


class Learner(Protocol):
    """A trainer of models on a graph and its users."""

    @property
    def label_epsilon(self) -> float | None:
        """The budget of a label; None where labels are public."""

    @property
    def has_control(self) -> bool:
        """Whether features are reported, so that a blind control exists."""

    def split(self, seed: int) -> tuple[Graph, Users]:
        """The data with the split of a run."""

    def learn(self, graph: Graph, users: Users, seed: int, *, label_seed: int, blind: bool) -> Outcome:
        """Return the outcome of a method on a graph whose split is given, from users who answer.

        Parameters
        ----------
        seed
            The seed of everything but the noise of labels.
        label_seed
            The seed of the noise of labels.
        blind
            Whether reports about features are blind.
        """


@dataclass(frozen=True)
class Learned:
    """A learner that is trained on planted labels, and the part of its outcome that is seen."""

    learner: Learner
    seen: Seen = "scores"


@dataclass(frozen=True)
class Lesson:
    """One run's data: half of the training users have planted labels (``attacked``), the labels of the others are known."""

    target: Learned
    seed: int
    graph: Graph
    users: Users
    attacked: Numbers
    known: Numbers

    @classmethod
    def of(cls, target: Learned, seed: int, dice: np.random.Generator) -> Lesson:
        """Return a run's split; refuse it where it has too few training users.

        Parameters
        ----------
        target
            The learner, and what is seen of it.
        seed
            The seed of the run.
        dice
            The generator that chooses the attacked users.
        """
        graph, users = target.learner.split(seed)
        check_one_class(graph)
        training = dice.permutation(np.flatnonzero(graph.train))
        if len(training) < 4 * FEWEST:
            raise InputError(
                f"an attack on a model needs at least {4 * FEWEST} training users, {graph.name} has {len(training)}: take another split, "
                "on town for example --set data.labelled=0.3"
            )
        attacked, known = np.split(training, [len(training) // 2])
        return cls(target, seed, graph, users, attacked, known)

    @property
    def own(self) -> Numbers:
        """Everybody's own label."""
        return self.users.raw.labels

    def with_labels(self, planted: Numbers) -> Numbers:
        """Everybody's label, those of the attacked users replaced."""
        labels = self.own.copy()
        labels[self.attacked] = planted
        return labels

    def scores(self, planted: Numbers, *, blind: bool = False) -> Floats:
        """The logarithm of how likely everybody has each class, by a model of these labels of the attacked users."""
        return self._learned(self.with_labels(planted), self.graph.train, blind=blind)

    def reference(self) -> Floats:
        """The same by the attacker's own model, which is trained without the attacked users.

        Reports of features and what training draws may be known, and are the same: no secret is in them.
        """
        others = self.graph.train.copy()
        others[self.attacked] = False
        return self._learned(self.own, others, flipped=APART)

    def _learned(
        self,
        labels: Numbers,
        train: NDArray[np.bool_],
        *,
        blind: bool = False,
        flipped: int = LABELS,
    ) -> Floats:
        raw, graph = self.users.raw, self.graph
        users = Users(raw.features, labels, neighbours=raw.neighbours, levels=raw.levels)
        known = np.where(train | graph.validation, labels, UNKNOWN)
        recipe = GivenSplit(train, graph.validation, graph.test)
        given = replace(graph, train=train, labels=known, recipe=recipe)
        outcome = self.target.learner.learn(
            given, users, self.seed, label_seed=self.seed ^ flipped, blind=blind
        )
        return class_scores(outcome, self.target.seen, self.own, self.known)


class ModelAttack(Attack[Learned]):
    """An attack on a model. The attacker trains one of the same kind without the attacked users, and looks at the difference.

    What a model says of a user comes of the user's features and neighbours for the most part, and they are in both models: what
    is left is what the planted label changed. The control is a model that learned from other secrets.
    """

    @abstractmethod
    def plant(self, lesson: Lesson, dice: np.random.Generator) -> tuple[NDArray[Any], Numbers]:
        """Secrets of the attacked users, and the labels with which they train."""

    @abstractmethod
    def decide(
        self, lesson: Lesson, changes: Floats, secrets: NDArray[Any], dice: np.random.Generator
    ) -> NDArray[Any]:
        """Return guesses of those secrets that are counted.

        Parameters
        ----------
        lesson
            The data of the run.
        changes
            How the scores of the attacked users' classes changed: (attacked, classes) float64.
        secrets
            The secrets of the attacked users.
        dice
            The generator that decides ties.
        """

    def counted(self, secrets: NDArray[Any]) -> NDArray[Any]:
        """The secrets that are guessed: all, or those that the attacker is not told."""
        return secrets

    @abstractmethod
    def values(self, graph: Graph) -> int:
        """Return the number of possible secrets."""

    @abstractmethod
    def natural(
        self, lesson: Lesson, dice: np.random.Generator
    ) -> tuple[str, Callable[[Floats], float | None]]:
        """A name for the natural game, and its balanced accuracy by a model's scores."""

    def deal(self, target: Learned, seed: int, dice: np.random.Generator) -> Deal:
        """Plant labels before the model learns.

        Parameters
        ----------
        target, seed, dice
            As in `Attack.deal`.
        """
        lesson = Lesson.of(target, seed, dice)
        (secrets, labels), (_, others) = (self.plant(lesson, dice) for _ in range(2))
        reference = cache(lesson.reference)

        @cache
        def scores(control: bool) -> Floats:
            return lesson.scores(others if control else labels)

        def guess(control: bool) -> NDArray[Any]:
            changes = (scores(control) - reference())[lesson.attacked]
            # What all attacked users together changed is nobody's own.
            return self.decide(lesson, changes - changes.mean(axis=0), secrets, dice)

        def natural() -> Mapping[str, Natural]:
            name, measure = self.natural(lesson, dice)
            found, control = measure(scores(False)), None
            if target.learner.has_control:
                control = measure(lesson.scores(labels, blind=True))
            return {} if found is None else {name: Natural(found, control)}

        epsilon = target.learner.label_epsilon
        stakes = Stakes(self.values(lesson.graph), math.inf if epsilon is None else epsilon)
        return Deal(stakes, self.counted(secrets), guess, natural)


def class_scores(outcome: Outcome, seen: Seen, labels: Numbers, known: Numbers) -> Floats:
    """Return the log-probability of each class for every user, by a model: (users, classes) float64.

    From an embedding the attacker makes such a model: the nearer the centre of a class among users whose
    labels are known, the likelier.

    Parameters
    ----------
    outcome
        The outcome of the attacked model.
    seen
        The part of the outcome that the attacker sees: "scores" or "embedding".
    labels
        The class of each user; class centres are those of the ``known`` users alone.
    known
        The users whose labels the attacker knows.
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
    return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))


def _nearness(rows: Floats, labels: Numbers, known: Numbers) -> Floats:
    """Minus the squared distance of rows from each class's centre, in mean squared distances from their own one."""
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


class LearnedLabelAttack(ModelAttack):
    """Half of the training users draw a class, all equally likely, and train with it.

    The attacker knows all other labels and sees what the model says of everybody. The class is guessed whose score has grown most
    beside the attacker's own model. The ε of the bound is that of a label; where labels are public nothing is promised.

    In the natural game the real classes of test users are guessed, which is what models are for: features and neighbours tell them, and
    no ε of labels bounds that. In its control features are blind.
    """

    name: ClassVar[str] = "label"
    summary: ClassVar[str] = "the label that a user trained with, from a model's scores or its embedding"
    unit: ClassVar[str] = "the label of one user"
    game: ClassVar[str] = (
        "half of the training users draw a class, all equally likely, and train with it; the attacker knows all other labels and sees what "
        "the model says of everybody; in the control the model learned from classes drawn anew"
    )

    def values(self, graph: Graph) -> int:
        return graph.class_count

    def plant(self, lesson: Lesson, dice: np.random.Generator) -> tuple[NDArray[Any], Numbers]:
        classes = dice.integers(0, lesson.graph.class_count, len(lesson.attacked))
        return classes, classes

    def decide(
        self, lesson: Lesson, changes: Floats, secrets: NDArray[Any], dice: np.random.Generator
    ) -> NDArray[Any]:
        """Guess the class whose score grew most.

        Parameters
        ----------
        lesson, changes, secrets, dice
            As in `ModelAttack.decide`.
        """
        return likeliest(changes, dice)

    def natural(
        self, lesson: Lesson, dice: np.random.Generator
    ) -> tuple[str, Callable[[Floats], float | None]]:
        strangers = np.flatnonzero(lesson.graph.test & (lesson.own >= 0))
        return "test user", lambda scores: balanced(likeliest(scores[strangers], dice), lesson.own[strangers])


class MembershipAttack(ModelAttack):
    """Half of the training users throw a coin: they train with their own label, or with one drawn at random.

    The attacker knows everybody's own label and sees what the model says of everybody. Users who trained with their own label have a lower loss on
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
        """Guess by the best threshold for the users whose coins are told.

        Parameters
        ----------
        lesson, changes, secrets, dice
            As in `ModelAttack.decide`.
        """
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


def best_threshold(scores: Floats, bits: NDArray[np.bool_]) -> float:
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
